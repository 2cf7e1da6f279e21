/*
 * The public slot of OTEP 4947. Alone in its file: libstalltag.a leaves it out unless the program asks for
 * it.
 *
 * In libstalltag.so, built with STALLTAG_SHARED and libstalltag.map, the symbol has a hidden version, so that
 * no other library's slot becomes ours.
 */
#include "stalltag/publication.h"

#ifdef STALLTAG_SHARED
__asm__(".symver otel_thread_ctx_v1, otel_thread_ctx_v1@STALLTAG_PRIVATE, remove");
#endif
__attribute__((visibility("default"))) __thread stalltag_slot otel_thread_ctx_v1;

stalltag_slot *stalltag_public_slot(void)
{
	return &otel_thread_ctx_v1;
}
