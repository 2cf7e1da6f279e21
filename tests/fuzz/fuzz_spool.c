/*
 * Fuzzes the files of a spool. As a fuzzer guesses no checksums, the first byte of an input says what is corrected before it is
 * read: 1 the head, 2 the progress' checksum. What is read is written again, and must be the same bytes.
 */
#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profiler/output/push_window.h"
#include "profiler/output/series_labels.h"
#include "profiler/output/spool_file.h"

#define HEAD     1
#define PROGRESS 2
#define CONTENT  (SPOOL_PROGRESS_OFFSET + SPOOL_PROGRESS_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(uint8_t *at, size_t number)
{
	uint32_t little = htole32((uint32_t)number);

	memcpy(at, &little, sizeof(little));
}

static void put_right(uint8_t *bytes, size_t size, uint8_t what)
{
	uint8_t *progress = bytes + SPOOL_PROGRESS_OFFSET;

	if (size < CONTENT)
		return;
	if (what & HEAD) {
		memcpy(bytes, "stallspl", 8);
		put(bytes + 8, SPOOL_FILE_VERSION);
		put(bytes + 12, size - CONTENT);
		put(bytes + 16, crc32_z(0, bytes + CONTENT, size - CONTENT));
	}
	if (what & PROGRESS)
		put(progress + 12, crc32_z(0, progress, 12));
}

static void read_all(const struct push_window *window)
{
	volatile size_t sum = 0; /* so that all is read */
	size_t i, at;

	for (i = 0; i < window->labels->n; i++)
		sum += strlen(window->labels->label[i].name) + strlen(window->labels->label[i].value);
	for (i = 0; i < window->n; i++)
		for (at = 0; at < window->request[i].len; at++)
			sum += ((const uint8_t *)window->request[i].body)[at];
	if (!window->n || window->at > window->n)
		abort();
}

/* But for the tries of a request when all are sent, which nobody needs. */
static void write_again(const struct push_window *window, const uint8_t *bytes, size_t size)
{
	uint8_t *again;
	size_t len;

	if (spool_file_encode(window, &again, &len))
		abort();
	if (len != size || memcmp(again + CONTENT, bytes + CONTENT, size - CONTENT) != 0)
		abort();
	if (window->at < window->n && memcmp(again, bytes, CONTENT) != 0)
		abort();
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct push_window window = { 0 };
	uint8_t *bytes = size ? malloc(size) : NULL;
	const char *fault;

	if (!bytes)
		return 0;
	memcpy(bytes, data + 1, size - 1);
	put_right(bytes, size - 1, data[0]);
	if (!spool_file_decode(bytes, size - 1, &window, &fault)) {
		read_all(&window);
		write_again(&window, bytes, size - 1);
	} else if (window.n || window.labels) {
		abort();
	}
	push_window_unload(&window);
	free(bytes);
	return 0;
}
