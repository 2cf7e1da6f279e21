/* Fuzzes the value of an xattr that may hold a sha256: what is taken for one is 64 digits in lower case, and holds that sum itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/session/file_sum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char sum[FILE_SUM_TEXT], again[FILE_SUM_TEXT];
	char *value = malloc(size ? size : 1); /* without a NUL behind it */
	bool holds;

	if (!value)
		return 0;
	memcpy(value, data, size);
	holds = file_sum_parse(value, size, sum);
	free(value);
	if (strnlen(sum, sizeof(sum)) != (holds ? FILE_SUM_TEXT - 1 : 0))
		abort();
	if (holds && (strspn(sum, "0123456789abcdef") != FILE_SUM_TEXT - 1 ||
	              !file_sum_parse(sum, strlen(sum), again) || strcmp(sum, again) != 0))
		abort();
	return 0;
}
