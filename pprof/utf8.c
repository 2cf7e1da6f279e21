/* Measures one UTF-8 sequence, refuses malformed ones, and cleans text of them. */

#include "pprof/utf8.h"

#include <stdlib.h>
#include <string.h>

static int continues(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Length by the first byte, and the range its second byte must be in: that is where overlong forms,
 * surrogates and values above U+10FFFF show. */
static size_t sequence_shape(unsigned char first, unsigned char *low, unsigned char *high)
{
	*low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

size_t utf8_sequence(const char *text, size_t size)
{
	const unsigned char *byte = (const unsigned char *)text;
	unsigned char low, high;
	size_t length;

	if (!size)
		return 0;
	length = sequence_shape(byte[0], &low, &high);
	if (length <= 1)
		return length;
	if (length > size || byte[1] < low || byte[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (!continues(byte[i]))
			return 0;
	return length;
}

bool utf8_is_text(const char *text, size_t size)
{
	while (size) {
		size_t length = utf8_sequence(text, size);

		if (!length)
			return false;
		text += length;
		size -= length;
	}
	return true;
}

char *utf8_mended(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t size = strlen(text), used = 0;
	char *out = malloc(size * (sizeof(replacement) - 1) + 1);

	while (out && size) {
		size_t length = utf8_sequence(text, size), put = length ? length : sizeof(replacement) - 1;

		memcpy(out + used, length ? text : replacement, put);
		used += put;
		length = length ? length : 1;
		text += length;
		size -= length;
	}
	if (out)
		out[used] = '\0';
	return out;
}

static bool is_control(const char *text, size_t length)
{
	const unsigned char *byte = (const unsigned char *)text;

	/* U+0080 to U+009F are controls too; in UTF-8 they are c2 80 to c2 9f. */
	return length == 1 ? byte[0] < 0x20 || byte[0] == 0x7f
	                   : length == 2 && byte[0] == 0xc2 && byte[1] < 0xa0;
}

void utf8_clean(char *out, size_t room, const char *text, size_t size)
{
	size_t used = 0;

	while (size) {
		size_t length = utf8_sequence(text, size);
		bool keep = length && !is_control(text, length);

		length = length ? length : 1;
		if (used + (keep ? length : 1) >= room)
			break;
		if (keep)
			memcpy(out + used, text, length);
		else
			out[used] = '_';
		used += keep ? length : 1;
		text += length;
		size -= length;
	}
	out[used] = '\0';
}
