/* Bytes with a count of those who hold them. */

#include "profiler/scrape/scrape_bytes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct scrape_bytes {
	atomic_size_t holders;
	size_t length;
	void *data;
};

struct scrape_bytes *scrape_bytes_new(void *data, size_t length)
{
	struct scrape_bytes *bytes = data ? malloc(sizeof(*bytes)) : NULL;

	if (!bytes) {
		free(data);
		return NULL;
	}
	atomic_init(&bytes->holders, 1);
	bytes->length = length;
	bytes->data = data;
	return bytes;
}

struct scrape_bytes *scrape_bytes_text(const char *text)
{
	return scrape_bytes_new(strdup(text), strlen(text));
}

struct scrape_bytes *scrape_bytes_hold(struct scrape_bytes *bytes)
{
	if (bytes)
		atomic_fetch_add(&bytes->holders, 1);
	return bytes;
}

void scrape_bytes_drop(struct scrape_bytes *bytes)
{
	if (!bytes || atomic_fetch_sub(&bytes->holders, 1) > 1)
		return;
	free(bytes->data);
	free(bytes);
}

const void *scrape_bytes_data(const struct scrape_bytes *bytes)
{
	return bytes->data;
}

size_t scrape_bytes_length(const struct scrape_bytes *bytes)
{
	return bytes->length;
}
