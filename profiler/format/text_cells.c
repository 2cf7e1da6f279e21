/* Prints text in columns: escapes and cuts it, and formats durations. */

#include "profiler/format/text_cells.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pprof/utf8.h"

size_t text_terminal_columns(FILE *out)
{
	struct winsize size;
	int fd = fileno(out);

	if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

size_t text_line_columns(FILE *out)
{
	size_t columns = text_terminal_columns(out);

	return columns ? columns : 140;
}

/* What the first character of text is written as: its bytes, or an escape. */
struct cell {
	const char *bytes;
	size_t length; /* of bytes, and how many columns an escape takes */
	size_t columns;
	size_t taken; /* from text */
	char escape[5];
};

/*
 * Two names that look alike would be two rows, or a name would stand in another order than it is in: U+061C, U+200B, U+200E,
 * U+200F, U+2028 to U+202E, U+2060 to U+2069 and U+FEFF. U+FFFE and U+FFFF are no characters, and XML has no way to write them. The joiners
 * (U+200C, U+200D) are left, as words and emoji need them.
 */
static bool misleads(const unsigned char *byte, size_t length)
{
	if (length == 2)
		return byte[0] == 0xd8 && byte[1] == 0x9c;
	if (length != 3)
		return false;
	if (byte[0] == 0xef)
		return (byte[1] == 0xbb && byte[2] == 0xbf) || (byte[1] == 0xbf && byte[2] >= 0xbe);
	if (byte[0] != 0xe2)
		return false;
	if (byte[1] == 0x80)
		return byte[2] == 0x8b || byte[2] == 0x8e || byte[2] == 0x8f ||
		       (byte[2] >= 0xa8 && byte[2] <= 0xae);
	return byte[1] == 0x81 && byte[2] >= 0xa0 && byte[2] <= 0xa9;
}

static void next_cell(struct cell *cell, const char *text, size_t left)
{
	const unsigned char *byte = (const unsigned char *)text;
	size_t length = utf8_sequence(text, left);
	bool control =
	        byte[0] < 0x20 || byte[0] == 0x7f || (length == 2 && byte[0] == 0xc2 && byte[1] < 0xa0);

	if (length && !control && !misleads(byte, length)) {
		*cell = (struct cell){ .bytes = text, .length = length, .columns = 1, .taken = length };
		return;
	}
	*cell = (struct cell){ .length = 4, .columns = 4, .taken = 1 };
	snprintf(cell->escape, sizeof(cell->escape), "\\x%02x", byte[0]);
	cell->bytes = cell->escape;
}

size_t text_columns(const char *text)
{
	size_t left = strlen(text), columns = 0;
	struct cell cell;

	for (; left; text += cell.taken, left -= cell.taken) {
		next_cell(&cell, text, left);
		columns += cell.columns;
	}
	return columns;
}

/* Whether these eight bytes are ASCII that needs no escape. */
static bool are_plain(const char *eight)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t word;

	memcpy(&word, eight, sizeof(word));
	/* The top bit of a byte is set: in the byte itself, below 0x20, or in 0x7f and one more. */
	return !((word | (word - 0x20 * ones) | (word + ones)) & 0x80 * ones);
}

/* How much of the text, which is `len` long, is such ASCII. */
static size_t plain_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n + 8 <= len && are_plain(text + n))
		n += 8;
	while (text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	return n;
}

void text_print_clean(FILE *out, const char *text, size_t columns)
{
	bool cut = columns && text_columns(text) > columns;
	size_t left = strlen(text), room = cut ? columns - 1 : SIZE_MAX;
	size_t plain = cut ? 0 : plain_length(text, left); /* nearly always all of it */
	struct cell cell;

	fwrite_unlocked(text, 1, plain, out);
	text += plain;
	left -= plain;
	for (; left; text += cell.taken, left -= cell.taken) {
		next_cell(&cell, text, left);
		if (cell.columns > room)
			break;
		room -= cell.columns;
		fwrite(cell.bytes, 1, cell.length, out);
	}
	if (cut)
		fputs("…", out);
}

char *text_clean(const char *text)
{
	char *made = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&made, &size);

	if (!stream)
		return NULL;
	text_print_clean(stream, text, 0);
	if (!fclose(stream))
		return made;
	free(made);
	return NULL;
}

void text_print_clean_lines(FILE *out, const char *text)
{
	char line[1024];

	for (;;) {
		size_t length = strcspn(text, "\n"), part = length < sizeof(line) ? length : sizeof(line) - 1;

		/* No character is cut in two. */
		for (size_t i = 0; i < 3 && part < length && ((unsigned char)text[part] & 0xc0) == 0x80; i++)
			part--;
		memcpy(line, text, part);
		line[part] = '\0';
		text_print_clean(out, line, 0);
		text += part;
		if (!*text || !strcmp(text, "\n"))
			return;
		if (part == length) {
			fputs("\n  ", out);
			text++;
		}
	}
}

const char *text_duration(char buffer[TEXT_DURATION_BYTES], int64_t ns)
{
	double size = ns < 0 ? -(double)ns : (double)ns;

	if (size < 1e3)
		snprintf(buffer, TEXT_DURATION_BYTES, "%" PRId64 " ns", ns);
	else if (size < 1e6)
		snprintf(buffer, TEXT_DURATION_BYTES, "%.3f us", (double)ns / 1e3);
	else if (size < 1e9)
		snprintf(buffer, TEXT_DURATION_BYTES, "%.3f ms", (double)ns / 1e6);
	else
		snprintf(buffer, TEXT_DURATION_BYTES, "%.3f s", (double)ns / 1e9);
	return buffer;
}

const char *text_short_duration(char buffer[TEXT_DURATION_BYTES], uint64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = (double)ns / units[i].ns;

		/* Not 1000 ms, which is 1.00 s. */
		if (value < 0.9995)
			continue;
		snprintf(buffer, TEXT_DURATION_BYTES, "%.*f %s",
		         value < 9.995   ? 2
		         : value < 99.95 ? 1
		                         : 0,
		         value, units[i].unit);
		return buffer;
	}
	snprintf(buffer, TEXT_DURATION_BYTES, "%" PRIu64 " ns", ns);
	return buffer;
}

const char *text_computed_duration(char buffer[TEXT_DURATION_BYTES], double ns)
{
	uint64_t whole = 0;

	if (ns >= (double)UINT64_MAX)
		whole = UINT64_MAX;
	else if (ns > 0)
		whole = (uint64_t)ns;
	return text_short_duration(buffer, whole);
}
