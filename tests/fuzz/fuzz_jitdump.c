/* Fuzzes a hostile process's jit-PID.dump, read in two parts, as if it grew. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/jit/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t ask(struct jitdump *j, uint64_t address)
{
	struct jitdump_hit hit;

	if (!jitdump_find(j, address, &hit))
		return 0;
	return strlen(hit.function) + (hit.file ? strlen(hit.file) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), copy = dup(fd);
	struct jitdump *j;
	uint64_t address;
	size_t i, len = 0, half = size / 2;

	if (fd < 0 || copy < 0 || pwrite(fd, data, half, 0) != (ssize_t)half)
		abort();
	if (!jitdump_new(copy, &j)) {
		jitdump_refresh(j);
		if (pwrite(fd, data, size, 0) != (ssize_t)size)
			abort();
		jitdump_refresh(j);
		for (i = 0; i + sizeof(address) <= size; i += 4) {
			memcpy(&address, data + i, sizeof(address));
			len += ask(j, address) + ask(j, address + 1);
		}
		jitdump_free(j);
	}
	close(fd);
	if (len == SIZE_MAX)
		abort();
	return 0;
}
