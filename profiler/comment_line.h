/*
 * The lines by which stallprof's own data travels in a profile's comments.
 *
 *     stallprof.ledger tag="checkpoint write" id=00000000000000ff state=stall cause=block_io ns=123
 *
 * A record name, then key=value fields. A value is bare when it consists of [A-Za-z0-9_./:+@%,-] only,
 * else it stands in double quotes with \" \\ \n \r \t and \xHH. Every byte but NUL survives; what is not
 * printable UTF-8 is written as \xHH, so a line is always one line of valid UTF-8, as protobuf demands.
 * Readers skip keys they don't know, so fields may be added without a new format.
 */
#ifndef STALLPROF_PROFILER_COMMENT_LINE_H
#define STALLPROF_PROFILER_COMMENT_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define COMMENT_FIELDS_MAX 32
#define COMMENT_LINE_MAX   (64 * 1024)

/* --- writing: begin, any number of fields, end (also after an error: it frees) --- */

struct comment_writer {
	FILE *stream;
	char *line;
	size_t size;
};

/* 0 or -ENOMEM. record is a literal such as "stallprof.ledger". */
int comment_writer_begin(struct comment_writer *writer, const char *record);
void comment_writer_text(struct comment_writer *writer, const char *key, const char *value);
void comment_writer_u64(struct comment_writer *writer, const char *key, uint64_t value);
/* 16 hex digits, the form that span ids have. */
void comment_writer_hex64(struct comment_writer *writer, const char *key, uint64_t value);
/* The finished line, which the caller frees; NULL with errno ENOMEM or EMSGSIZE (over COMMENT_LINE_MAX). */
char *comment_writer_end(struct comment_writer *writer);

/* --- reading --- */

struct comment_fields {
	char *storage; /* the line with its values unescaped; fields point into it */
	size_t count;
	struct {
		const char *key;
		const char *value;
	} field[COMMENT_FIELDS_MAX];
};

/*
 * Takes line apart if it is of this record. 0; -ENOMSG when it is some other line; -EINVAL when it is of
 * this record but malformed; -ENOMEM. Only after 0 is there something to free.
 */
int comment_fields_parse(struct comment_fields *fields, const char *line, const char *record);
void comment_fields_free(struct comment_fields *fields);

/* The value of key, NULL when absent. Lives as long as fields. */
const char *comment_fields_text(const struct comment_fields *fields, const char *key);
/* Decimal, or 1 to 16 hex digits. 0, -ENOENT when absent, -EINVAL when not such a number. */
int comment_fields_u64(const struct comment_fields *fields, const char *key, uint64_t *value);
int comment_fields_hex64(const struct comment_fields *fields, const char *key, uint64_t *value);

#endif
