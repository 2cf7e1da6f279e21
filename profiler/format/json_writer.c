/* Writes JSON to a stream, indented or compact. */

#include "profiler/format/json_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pprof/utf8.h"

void json_begin(struct json_writer *json, FILE *out)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
}

void json_begin_compact(struct json_writer *json, FILE *out)
{
	json_begin(json, out);
	json->compact = true;
}

static void new_line(struct json_writer *json)
{
	if (!json->compact)
		fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
}

/* What stands before a value: nothing after its key, else the comma of the one before it. */
static void before_value(struct json_writer *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->filled[json->depth])
		fputc(',', json->out);
	if (json->depth)
		new_line(json);
	json->filled[json->depth] = true;
}

static void open_level(struct json_writer *json, char bracket)
{
	before_value(json);
	fputc(bracket, json->out);
	if (json->depth == JSON_DEPTH_MAX) {
		json->misused = true;
		return;
	}
	json->filled[++json->depth] = false;
}

static void close_level(struct json_writer *json, char bracket)
{
	if (!json->depth || json->after_key) {
		json->misused = true;
		return;
	}
	json->depth--;
	if (json->filled[json->depth + 1])
		new_line(json);
	fputc(bracket, json->out);
}

void json_object_begin(struct json_writer *json)
{
	open_level(json, '{');
}

void json_object_end(struct json_writer *json)
{
	close_level(json, '}');
}

void json_array_begin(struct json_writer *json)
{
	open_level(json, '[');
}

void json_array_end(struct json_writer *json)
{
	close_level(json, ']');
}

static void write_ascii(FILE *out, char byte)
{
	const char *from = "\"\\\b\f\n\r\t", *to = "\"\\bfnrt";
	const char *found = byte ? strchr(from, byte) : NULL;

	if (found)
		fprintf(out, "\\%c", to[found - from]);
	else if ((unsigned char)byte < 0x20 || byte == 0x7f)
		fprintf(out, "\\u%04x", (unsigned)byte);
	else
		fputc(byte, out);
}

static void write_text(FILE *out, const char *text)
{
	size_t left = strlen(text);

	fputc('"', out);
	while (left) {
		size_t length = utf8_sequence(text, left);

		if (!length)
			fputs("\\ufffd", out);
		else if (length == 1)
			write_ascii(out, *text);
		else if (length == 2 && text[0] == '\xc2' && (unsigned char)text[1] < 0xa0)
			fprintf(out, "\\u%04x", (unsigned char)text[1]); /* a terminal's control character */
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
		left -= length ? length : 1;
	}
	fputc('"', out);
}

void json_key(struct json_writer *json, const char *key)
{
	if (json->after_key)
		json->misused = true;
	before_value(json);
	write_text(json->out, key);
	fputs(json->compact ? ":" : ": ", json->out);
	json->after_key = true;
}

void json_string(struct json_writer *json, const char *text)
{
	before_value(json);
	if (text)
		write_text(json->out, text);
	else
		fputs("null", json->out);
}

void json_i64(struct json_writer *json, int64_t value)
{
	before_value(json);
	fprintf(json->out, "%" PRId64, value);
}

void json_double(struct json_writer *json, double value)
{
	before_value(json);
	if (isfinite(value))
		fprintf(json->out, "%.9f", value);
	else
		fputs("null", json->out);
}

void json_bool(struct json_writer *json, bool value)
{
	before_value(json);
	fputs(value ? "true" : "false", json->out);
}

void json_member_string(struct json_writer *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

void json_member_i64(struct json_writer *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_i64(json, value);
}

void json_member_u64(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	before_value(json);
	fprintf(json->out, "%" PRIu64, value);
}

int json_end(struct json_writer *json)
{
	fputc('\n', json->out);
	if (fflush(json->out) || ferror(json->out))
		return -EIO;
	return json->misused || json->depth || json->after_key ? -EINVAL : 0;
}
