/*
 * The two thread-local pointers, as a program or a library may define them.
 * -DPAD=N: N more bytes of thread-local storage; -DALIGN=N: aligned so; -DHIDDEN: not exported; -DPROBES: with
 * stalltag's notes; -DONLY_OTEL: without stalltag's pointer.
 */
#include <stdint.h>

#ifdef PROBES
#include "stalltag/usdt.h"
uint16_t test_semaphore USDT_SEMAPHORE = 0;
#endif

#ifdef HIDDEN
#define SLOT __attribute__((visibility("hidden"))) __thread void *volatile
#else
#define SLOT __attribute__((visibility("default"))) __thread void *volatile
#endif
#ifndef PAD
#define PAD 8
#endif
#ifndef ALIGN
#define ALIGN 8
#endif

static __thread volatile char before[PAD] __attribute__((aligned(ALIGN))) = { 1 };
#ifndef ONLY_OTEL
SLOT stalltag_thread_ctx_v1;
#endif
SLOT otel_thread_ctx_v1;
__thread volatile char after[3];

__attribute__((visibility("default"))) void set_slots(void *stalltag, void *otel)
{
	before[PAD - 1] = 1;
	after[1] = 1;
#ifndef ONLY_OTEL
	stalltag_thread_ctx_v1 = stalltag;
#endif
	otel_thread_ctx_v1 = otel;
#ifdef PROBES
	if (test_semaphore) {
		USDT_1("stalltag", "change", "test_semaphore", stalltag);
		USDT_2("stalltag", "process", "test_semaphore", stalltag, otel);
	}
#endif
}
