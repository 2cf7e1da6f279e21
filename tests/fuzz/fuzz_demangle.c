/* Fuzzes symbol names, one a line, as in a hostile file. Names that take long are a finding, too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/names/demangle.h"

#define MAX_LINE 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[MAX_LINE + 1], *shown;
	size_t len, at, sum = 0;
	int detail;

	for (at = 0; at < size; at += len + 1) {
		const uint8_t *end = memchr(data + at, '\n', size - at);

		len = end ? (size_t)(end - (data + at)) : size - at;
		if (len > MAX_LINE)
			continue;
		memcpy(name, data + at, len);
		name[len] = 0;
		for (detail = SYM_NAMES_TEMPLATES; detail <= SYM_NAMES_SIMPLIFIED; detail++) {
			shown = demangle(name, (enum sym_names)detail);
			sum += shown ? strlen(shown) : 0;
			free(shown);
		}
	}
	if (sum == SIZE_MAX)
		abort();
	return 0;
}
