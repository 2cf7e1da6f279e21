/* Reads a str object of another process as UTF-8. */

#include "symbolizer/python/python_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UTF8_MAX    4
#define REPLACEMENT 0xfffd

/* What stands in the header before the characters. */
struct text {
	uint64_t length;
	unsigned int width; /* bytes a character */
	uint16_t header_size;
};

/* A bit field, of which the first `shift` bits are of no interest. */
static int parse_state(const struct sym_python_layout *layout, uint32_t state, unsigned int shift,
                       struct text *out)
{
	bool compact = state >> (shift + 3) & 1, ascii = state >> (shift + 4) & 1;

	out->width = state >> shift & 7;
	out->header_size = ascii ? layout->unicode_ascii_size : layout->unicode_compact_size;
	if (!compact || (out->width != 1 && out->width != 2 && out->width != 4) || (ascii && out->width != 1))
		return -EBADMSG;
	return 0;
}

static int read_header(const struct sym_python_layout *layout, sym_python_read read, void *context,
                       uint64_t address, struct text *out)
{
	uint32_t state;
	int err = read(context, address + layout->unicode_length, &out->length, sizeof(out->length));

	if (!err)
		err = read(context, address + layout->unicode_state, &state, sizeof(state));
	if (!err)
		err = parse_state(layout, state, 2, out);
	/* Free-threaded 3.14 has a byte where the others have two bits; read the other way, the width is 0. */
	if (err == -EBADMSG && layout->free_threaded)
		err = parse_state(layout, state, 8, out);
	if (err)
		return err;
	if (out->length > INT64_MAX)
		return -EBADMSG;
	if (out->length > PYTHON_TEXT_MAX)
		out->length = PYTHON_TEXT_MAX;
	return 0;
}

static uint32_t character(const uint8_t *at, unsigned int width)
{
	uint32_t value = 0;

	memcpy(&value, at, width);
	return value;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = REPLACEMENT;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* NULL: no memory. */
static char *copy_as_utf8(const uint8_t *characters, const struct text *text, char *utf8)
{
	size_t i, len = 0;

	for (i = 0; i < text->length; i++)
		len += put_utf8(utf8 + len, character(characters + i * text->width, text->width));
	return strndup(utf8, len);
}

int python_text(const struct sym_python_layout *layout, sym_python_read read, void *context, uint64_t address,
                char **out)
{
	struct text text;
	uint8_t *characters;
	int err = read_header(layout, read, context, address, &text);

	if (err)
		return err;
	/* One block: the characters as they are, then as UTF-8. */
	characters = malloc(text.length * (text.width + UTF8_MAX) + 1);
	if (!characters)
		return -ENOMEM;
	err = text.length ? read(context, address + text.header_size, characters, text.length * text.width)
	                  : 0;
	if (!err)
		*out = copy_as_utf8(characters, &text, (char *)characters + text.length * text.width);
	free(characters);
	return err ? err : *out ? 0 : -ENOMEM;
}
