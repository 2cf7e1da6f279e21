/*
 * The form of the lines in which stallprof stores its own data in a profile's notes, and its classes in the
 * comments.
 *
 *     stallprof.ledger tag="checkpoint write" id=00000000000000ff state=stall cause=block_io ns=123
 *
 * A record name, then key=value fields. A value is bare when it consists of [A-Za-z0-9_./:+@%,-] only, else it is
 * in double quotes with \" \\ \n \r \t and \xHH. Every byte but NUL survives; what is not printable UTF-8 is
 * written as \xHH, so a line is always one line of valid UTF-8. Readers skip keys they don't know, so fields may be
 * added without a new format.
 */
#ifndef STALLPROF_PROFILER_NOTE_LINE_H
#define STALLPROF_PROFILER_NOTE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOTE_FIELDS_MAX 48
#define NOTE_LINE_MAX   (64 * 1024)

/* --- writing: begin, any number of fields, end (also after an error: it frees) --- */

struct note_writer {
	char *line;
	size_t size, room;
	bool failed; /* for want of memory: note_writer_end() tells it */
};

/* 0 or -ENOMEM. record is a literal such as "stallprof.ledger". */
int note_writer_begin(struct note_writer *writer, const char *record);
void note_writer_text(struct note_writer *writer, const char *key, const char *value);
void note_writer_i64(struct note_writer *writer, const char *key, int64_t value);
void note_writer_u64(struct note_writer *writer, const char *key, uint64_t value);
/* Nanoseconds as seconds with nine decimals. */
void note_writer_seconds(struct note_writer *writer, const char *key, int64_t ns);
/* 16 hex digits, the form that span ids have. */
void note_writer_hex64(struct note_writer *writer, const char *key, uint64_t value);
/* Like printf, for a value of several numbers; the key and its blank before it, too. What it writes must be bare. */
__attribute__((format(printf, 2, 3))) void note_writer_format(struct note_writer *writer, const char *format,
                                                              ...);
/* The finished line, which the caller frees; NULL with errno ENOMEM or EMSGSIZE (over NOTE_LINE_MAX). */
char *note_writer_end(struct note_writer *writer);

/* --- reading --- */

struct note_fields {
	char *storage; /* the line with its values unescaped; fields point into it */
	size_t count;
	struct {
		const char *key;
		const char *value;
	} field[NOTE_FIELDS_MAX];
};

/*
 * Takes line apart if it is of this record. 0; -ENOMSG when it is some other line; -EINVAL when it is of
 * this record but malformed; -ENOMEM. Only after 0 is there something to free.
 */
int note_fields_parse(struct note_fields *fields, const char *line, const char *record);
void note_fields_free(struct note_fields *fields);

/* The value of key, NULL when absent. Lives as long as fields. */
const char *note_fields_text(const struct note_fields *fields, const char *key);
/* The index in names[] of the value of key; -EINVAL: absent, or none of the n names. */
int note_fields_choice(const struct note_fields *fields, const char *key, const char *const *names, size_t n);
/* Decimal, as note_writer_seconds() writes, or 1 to 16 hex digits. 0, -ENOENT when absent, -EINVAL when not such a
 * number. */
int note_fields_i64(const struct note_fields *fields, const char *key, int64_t *value);
int note_fields_u64(const struct note_fields *fields, const char *key, uint64_t *value);
int note_fields_seconds(const struct note_fields *fields, const char *key, int64_t *ns);
int note_fields_hex64(const struct note_fields *fields, const char *key, uint64_t *value);

#endif
