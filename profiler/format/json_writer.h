/*
 * JSON to a stream, written in the order of the calls and indented by two spaces, or compact.
 *
 *     json_begin(&json, out);
 *     json_object_begin(&json);
 *     json_key(&json, "ring_drops");
 *     json_i64(&json, 0);
 *     json_object_end(&json);
 *     err = json_end(&json);
 *
 * Inside an object each value follows a json_key; commas and indentation are the writer's business. The
 * caller keeps begin and end balanced (a nesting of JSON_DEPTH_MAX at most; json_end reports what isn't).
 * Strings may hold any byte: control characters are escaped, and each byte that is not UTF-8 becomes
 * U+FFFD. Integers are written in full; readers that keep doubles lose digits above 2^53, so ids go as text.
 */
#ifndef STALLPROF_PROFILER_JSON_WRITER_H
#define STALLPROF_PROFILER_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16

struct json_writer {
	FILE *out;
	unsigned depth;
	bool filled[JSON_DEPTH_MAX + 1]; /* this level has a member already */
	bool after_key;
	bool misused;
	bool compact;
};

void json_begin(struct json_writer *json, FILE *out);
/* The same, all in one line, for programs alone. */
void json_begin_compact(struct json_writer *json, FILE *out);
/* Ends the document with a newline and flushes. 0; -EINVAL for unbalanced calls; -EIO when a write failed. */
int json_end(struct json_writer *json);

void json_object_begin(struct json_writer *json);
void json_object_end(struct json_writer *json);
void json_array_begin(struct json_writer *json);
void json_array_end(struct json_writer *json);

void json_key(struct json_writer *json, const char *key);
/* NULL is written as null. */
void json_string(struct json_writer *json, const char *text);
void json_i64(struct json_writer *json, int64_t value);
/* Seconds and the like, with up to 9 decimals; a NaN or an infinity is written as null. */
void json_double(struct json_writer *json, double value);
void json_bool(struct json_writer *json, bool value);

/* Key and value in one call, for members of objects. */
void json_member_string(struct json_writer *json, const char *key, const char *text);
void json_member_i64(struct json_writer *json, const char *key, int64_t value);
void json_member_u64(struct json_writer *json, const char *key, uint64_t value);

#endif
