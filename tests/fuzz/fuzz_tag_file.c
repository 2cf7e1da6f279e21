/* Fuzzes the search for probes and slots in a mapped executable. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/tags/tag_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tag_file *file)
{
	uint64_t bias;

	if (file->n_texts > TAG_FILE_TEXTS_MAX)
		abort();
	for (int i = 0; i < TAG_FILE_SLOTS; i++)
		if (file->slots[i].access != TAG_FILE_ABSENT && file->slots[i].value + 8 > file->block_bytes)
			abort();
	tag_file_bias(file, 0x555555554000, 0x1000, &bias);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct tag_file file;
	int err;

	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	err = tag_file_read(fd, &file);
	if (err && tag_file_interesting(&file))
		abort();
	check(&file);
	return 0;
}
