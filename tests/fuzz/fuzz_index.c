/*
 * Fuzzes index files of the symbol cache. As a fuzzer guesses no checksums, the first byte of an input says what is
 * corrected before it is read: 1 the header, 2 the directory's checksum, 4 the blocks'. 8: the input is a block.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/index/index_file.h"

#define HEADER    1
#define DIRECTORY 2
#define BLOCKS    4
#define ONE_BLOCK 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct index_key key = { .build_id = "00112233445566778899aabbccddeeff00112233", .size = 4711 };

/* All frames of all that is in the block. */
static void read_block(const struct index_block *b)
{
	struct index_frame frames[INDEX_MAX_FRAMES];
	uint64_t step = (b->high - b->low) / 64 + 1, at;
	volatile size_t sum = 0; /* so that the texts are read */
	size_t n, i;

	for (at = b->low; at < b->high && at >= b->low; at += step) {
		n = index_block_find(b, at, frames, INDEX_MAX_FRAMES);
		for (i = 0; i < n; i++)
			sum += (frames[i].name ? strlen(frames[i].name) : 0) +
			       (frames[i].file ? strlen(frames[i].file) : 0);
	}
}

static void put_right(uint8_t *bytes, size_t size, uint8_t what)
{
	struct index_file_header *h = (struct index_file_header *)bytes;
	struct index_entry *e;
	uint64_t n, i;

	if (size < sizeof(*h))
		return;
	if (what & HEADER) {
		memcpy(h->magic, INDEX_FILE_MAGIC, sizeof(h->magic));
		h->version = INDEX_FILE_VERSION;
		h->byte_order = INDEX_FILE_BYTE_ORDER;
		memset(&h->key, 0, sizeof(h->key));
		memcpy(h->key.build_id, key.build_id, sizeof(key.build_id));
		h->key.size = key.size;
		h->directory &= ~(uint64_t)7;
	}
	n = h->n_entries; /* the directory may lie over the header */
	if (h->directory < size && !(h->directory & 7) && n <= (size - h->directory) / sizeof(*e)) {
		e = (struct index_entry *)(bytes + h->directory);
		for (i = 0; what & BLOCKS && i < n; i++)
			if (e[i].offset < size && e[i].len <= size - e[i].offset)
				e[i].checksum = index_checksum(bytes + e[i].offset, e[i].len);
		if (what & DIRECTORY)
			h->directory_checksum = index_checksum(e, n * sizeof(*e));
	}
	if (what & HEADER)
		h->checksum = index_checksum(h, offsetof(struct index_file_header, checksum));
}

static void read_file(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("index", MFD_CLOEXEC), to = memfd_create("merged", MFD_CLOEXEC);
	struct index_block *b;
	struct index_file *f;
	uint64_t refused = 0;
	size_t i;

	if (fd < 0 || to < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	if (!index_file_open_fd(fd, &key, &f)) {
		for (i = 0; i < f->n_entries; i++) {
			if (index_file_find(f, f->entries[i].low) != &f->entries[i])
				abort();
			if (!index_file_read(f, &f->entries[i], &b)) {
				read_block(b);
				free(b);
			}
		}
		index_file_write(to, &key, f, NULL, 0, &refused);
		index_file_close(f);
	}
	close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = size ? malloc(size) : NULL;

	if (!bytes)
		return 0;
	/* Where malloc puts it, as the library would. */
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & ONE_BLOCK) {
		if (index_block_is_valid(bytes, size - 1))
			read_block((struct index_block *)bytes);
	} else {
		put_right(bytes, size - 1, data[0]);
		read_file(bytes, size - 1);
	}
	free(bytes);
	return 0;
}
