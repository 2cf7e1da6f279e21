/* Appends to a name, up to NAME_OUTPUT_MAX bytes. */

#include "symbolizer/names/name_output.h"

#include <stdlib.h>
#include <string.h>

bool name_output_put(struct name_output *out, const char *text, size_t len)
{
	size_t more = out->size ? out->size : 256;
	char *bigger;

	if (len > NAME_OUTPUT_MAX - out->len)
		return false;
	while (more < out->len + len + 1)
		more *= 2;
	if (more != out->size) {
		bigger = realloc(out->text, more);
		if (!bigger)
			return false;
		out->text = bigger;
		out->size = more;
	}
	memcpy(out->text + out->len, text, len);
	out->len += len;
	out->text[out->len] = 0;
	return true;
}
