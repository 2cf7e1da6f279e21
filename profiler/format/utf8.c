/* Measures one UTF-8 sequence and refuses malformed ones. */

#include "profiler/format/utf8.h"

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
