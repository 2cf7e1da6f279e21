/*
 * The public slot of OTEP 4947. Alone in its file: libstalltag.a leaves it out unless the program asks.
 *
 * In libstalltag.so the symbol carries a version that is hidden and is not the library's first: the dynamic
 * loader gives such a symbol to nobody who asks by the bare name, so no other library's slot becomes ours.
 */
#include "stalltag/publication.h"

#ifdef STALLTAG_HIDDEN_VERSION
__attribute__((visibility("default"), symver("otel_thread_ctx_v1@STALLTAG_PRIVATE")))
#else
__attribute__((visibility("default")))
#endif
__thread stalltag_slot otel_thread_ctx_v1;

stalltag_slot *stalltag_public_slot(void)
{
	return &otel_thread_ctx_v1;
}
