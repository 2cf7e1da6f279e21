/* Writes and parses lines of the form: record key=value key="quoted value". */

#include "profiler/format/note_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/utf8.h"

static bool is_bare(unsigned char byte)
{
	if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9'))
		return true;
	return byte && strchr("_./:+@%,-", byte);
}

static bool all_bare(const char *value)
{
	if (!*value)
		return false;
	for (; *value; value++)
		if (!is_bare((unsigned char)*value))
			return false;
	return true;
}

/* --- writing --- */

/* Room for `more` bytes and a NUL; false: no memory, now or before. */
static bool has_room(struct note_writer *writer, size_t more)
{
	size_t room = writer->room ? writer->room : 256;
	char *grown;

	if (writer->failed || more >= SIZE_MAX / 2 - writer->size)
		return false;
	while (room <= writer->size + more)
		room *= 2;
	if (room == writer->room)
		return true;
	grown = realloc(writer->line, room);
	if (!grown) {
		writer->failed = true;
		return false;
	}
	writer->line = grown;
	writer->room = room;
	return true;
}

static void append(struct note_writer *writer, const char *bytes, size_t length)
{
	if (!has_room(writer, length))
		return;
	memcpy(writer->line + writer->size, bytes, length);
	writer->size += length;
}

static void append_text(struct note_writer *writer, const char *text)
{
	append(writer, text, strlen(text));
}

static void append_key(struct note_writer *writer, const char *key)
{
	append(writer, " ", 1);
	append_text(writer, key);
	append(writer, "=", 1);
}

/* With zeros in front, up to `width` digits. */
static void append_number(struct note_writer *writer, uint64_t value, unsigned int base, int width)
{
	char digits[24];
	size_t at = sizeof(digits);

	for (; value || width > 0; width--) {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	}
	append(writer, digits + at, sizeof(digits) - at);
}

static void append_escaped(struct note_writer *writer, unsigned char byte)
{
	static const char plain[] = "\"\\\n\r\t", names[] = "\"\\nrt";
	const char *found = byte ? strchr(plain, byte) : NULL;

	append(writer, "\\", 1);
	if (found) {
		append(writer, &names[found - plain], 1);
		return;
	}
	append(writer, "x", 1);
	append_number(writer, byte, 16, 2);
}

static bool needs_escape(unsigned char byte)
{
	return byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\';
}

static void append_quoted(struct note_writer *writer, const char *value)
{
	size_t left = strlen(value);

	append(writer, "\"", 1);
	while (left) {
		size_t length = utf8_sequence(value, left);

		if (!length || needs_escape((unsigned char)*value)) {
			append_escaped(writer, (unsigned char)*value);
			length = 1;
		} else {
			append(writer, value, length);
		}
		value += length;
		left -= length;
	}
	append(writer, "\"", 1);
}

int note_writer_begin(struct note_writer *writer, const char *record)
{
	*writer = (struct note_writer){ .line = NULL };
	append_text(writer, record);
	return writer->failed ? -ENOMEM : 0;
}

void note_writer_text(struct note_writer *writer, const char *key, const char *value)
{
	append_key(writer, key);
	if (all_bare(value))
		append_text(writer, value);
	else
		append_quoted(writer, value);
}

void note_writer_i64(struct note_writer *writer, const char *key, int64_t value)
{
	append_key(writer, key);
	if (value < 0)
		append(writer, "-", 1);
	append_number(writer, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, 1);
}

void note_writer_u64(struct note_writer *writer, const char *key, uint64_t value)
{
	append_key(writer, key);
	append_number(writer, value, 10, 1);
}

void note_writer_seconds(struct note_writer *writer, const char *key, int64_t ns)
{
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	append_key(writer, key);
	if (ns < 0)
		append(writer, "-", 1);
	append_number(writer, magnitude / 1000000000, 10, 1);
	append(writer, ".", 1);
	append_number(writer, magnitude % 1000000000, 10, 9);
}

void note_writer_hex64(struct note_writer *writer, const char *key, uint64_t value)
{
	append_key(writer, key);
	append_number(writer, value, 16, 16);
}

void note_writer_format(struct note_writer *writer, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0 || !has_room(writer, (size_t)length))
		return;
	va_start(args, format);
	vsnprintf(writer->line + writer->size, (size_t)length + 1, format, args);
	va_end(args);
	writer->size += (size_t)length;
}

char *note_writer_end(struct note_writer *writer)
{
	bool has_end = has_room(writer, 0);

	if (has_end && writer->size <= NOTE_LINE_MAX) {
		writer->line[writer->size] = '\0';
		return writer->line;
	}
	free(writer->line);
	errno = has_end ? EMSGSIZE : ENOMEM;
	return NULL;
}

/* --- reading: a cursor over the storage, which unescapes in place (a value only ever shrinks) --- */

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* The byte meant by the escape at *cursor (past the backslash), which it steps over; -EINVAL. */
static int read_escape(char **cursor)
{
	char kind = *(*cursor)++;
	int high, low;

	switch (kind) {
	case '"':
	case '\\':
		return kind;
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'x':
		high = hex_digit(**cursor);
		low = high < 0 ? -1 : hex_digit((*cursor)[1]);
		if (low < 0 || !(high | low))
			return -EINVAL;
		*cursor += 2;
		return high << 4 | low;
	}
	return -EINVAL;
}

static int read_quoted(char **cursor, const char **value)
{
	char *in = *cursor + 1, *out = in;

	*value = out;
	while (*in != '"') {
		int byte = (unsigned char)*in;

		if (!byte)
			return -EINVAL;
		in++;
		if (byte == '\\') {
			if (!*in)
				return -EINVAL;
			byte = read_escape(&in);
			if (byte < 0)
				return byte;
		}
		*out++ = (char)byte;
	}
	in++;
	if (*in && *in != ' ')
		return -EINVAL;
	*cursor = *in ? in + 1 : in;
	*out = '\0';
	return 0;
}

static int read_bare(char **cursor, const char **value)
{
	char *in = *cursor;

	*value = in;
	while (is_bare((unsigned char)*in))
		in++;
	if (in == *cursor || (*in && *in != ' '))
		return -EINVAL;
	*cursor = *in ? in + 1 : in;
	*in = '\0';
	return 0;
}

static int read_key(char **cursor, const char **key)
{
	char *in = *cursor;

	*key = in;
	while ((*in >= 'a' && *in <= 'z') || *in == '_' || (*in >= '0' && *in <= '9'))
		in++;
	if (in == *cursor || *in != '=')
		return -EINVAL;
	*in = '\0';
	*cursor = in + 1;
	return 0;
}

static int read_fields(struct note_fields *fields, char *cursor)
{
	int err = 0;

	while (*cursor && !err) {
		const char **value;

		if (fields->count == NOTE_FIELDS_MAX)
			return -EINVAL;
		value = &fields->field[fields->count].value;
		err = read_key(&cursor, &fields->field[fields->count].key);
		if (!err)
			err = *cursor == '"' ? read_quoted(&cursor, value) : read_bare(&cursor, value);
		fields->count += !err;
	}
	return err;
}

int note_fields_parse(struct note_fields *fields, const char *line, const char *record)
{
	size_t name = strlen(record);
	int err;

	if (strncmp(line, record, name) || (line[name] && line[name] != ' '))
		return -ENOMSG;
	line += name + (line[name] == ' ');
	if (strnlen(line, NOTE_LINE_MAX + 1) > NOTE_LINE_MAX)
		return -EINVAL;
	fields->count = 0;
	fields->storage = strdup(line);
	if (!fields->storage)
		return -ENOMEM;
	err = read_fields(fields, fields->storage);
	if (err)
		note_fields_free(fields);
	return err;
}

void note_fields_free(struct note_fields *fields)
{
	free(fields->storage);
	fields->storage = NULL;
	fields->count = 0;
}

const char *note_fields_text(const struct note_fields *fields, const char *key)
{
	for (size_t i = 0; i < fields->count; i++)
		if (!strcmp(fields->field[i].key, key))
			return fields->field[i].value;
	return NULL;
}

int note_fields_choice(const struct note_fields *fields, const char *key, const char *const *names, size_t n)
{
	const char *value = note_fields_text(fields, key);

	for (size_t i = 0; value && i < n; i++) {
		if (!strcmp(value, names[i]))
			return (int)i;
	}
	return -EINVAL;
}

static int read_number(const char *text, unsigned base, uint64_t *value)
{
	uint64_t sum = 0;

	if (!text)
		return -ENOENT;
	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		int digit = hex_digit(*text);

		if (digit < 0 || (unsigned)digit >= base || __builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)digit, &sum))
			return -EINVAL;
	}
	*value = sum;
	return 0;
}

static int read_signed(const char *text, int64_t *value)
{
	bool negative = text && *text == '-';
	uint64_t magnitude;
	int err = read_number(negative ? text + 1 : text, 10, &magnitude);

	if (err)
		return err;
	if (magnitude > INT64_MAX)
		return -EINVAL;
	*value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return 0;
}

int note_fields_i64(const struct note_fields *fields, const char *key, int64_t *value)
{
	return read_signed(note_fields_text(fields, key), value);
}

int note_fields_u64(const struct note_fields *fields, const char *key, uint64_t *value)
{
	return read_number(note_fields_text(fields, key), 10, value);
}

int note_fields_seconds(const struct note_fields *fields, const char *key, int64_t *ns)
{
	const char *text = note_fields_text(fields, key), *point = text ? strchr(text, '.') : NULL;
	char digits[32];

	if (!text)
		return -ENOENT;
	/* Without its point it is a number of nanoseconds. */
	if (!point || point == text || strlen(point) != 10 || strlen(text) >= sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s%s", (int)(point - text), text, point + 1);
	return read_signed(digits, ns);
}

int note_fields_hex64(const struct note_fields *fields, const char *key, uint64_t *value)
{
	return read_number(note_fields_text(fields, key), 16, value);
}
