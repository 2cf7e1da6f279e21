/* Joins texts. */

#include "profiler/format/joined_texts.h"

#include <stdlib.h>
#include <string.h>

char *joined_texts(const char *const *texts, size_t n, size_t *length)
{
	char *joined, *at;

	*length = 0;
	for (size_t i = 0; i < n; i++)
		*length += strlen(texts[i]) + 1;
	joined = at = malloc(*length);
	for (size_t i = 0; joined && i < n; i++) {
		size_t size = strlen(texts[i]) + 1;

		memcpy(at, texts[i], size);
		at += size;
	}
	return joined;
}
