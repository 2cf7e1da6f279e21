/*
 * A made-up OpenTelemetry SDK, as hard on its neighbours as the real ones may be: whatever it finds in its
 * slot is its own and goes to free(). Built as a library of its own for test_stalltag_beside.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/test_stalltag_sdk.h"

__thread uint8_t *volatile otel_thread_ctx_v1;

void sdk_attach(uint8_t span)
{
	uint8_t *record = calloc(1, 640), *before = otel_thread_ctx_v1;

	record[0] = record[23] = span;
	record[24] = 1;
	otel_thread_ctx_v1 = record;
	free(before);
}

void sdk_detach(void)
{
	uint8_t *before = otel_thread_ctx_v1;

	otel_thread_ctx_v1 = NULL;
	free(before);
}

const uint8_t *sdk_current(void)
{
	return otel_thread_ctx_v1;
}

void sdk_publish(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *at;

	if (ftruncate(fd, 4096))
		abort();
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	memcpy(at, "OTEL_CTX", 8);
	close(fd);
}
