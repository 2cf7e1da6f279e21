/* Writes the ledger's sums by class as pprof comments, and reads them back. */

#include "profiler/format/class_comments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/note_line.h"

#define RECORD    "stallprof.class"
#define CAUSE_MAX 64 /* bytes of a name that becomes a key */
/* Beside tag, wall_s, base, at, and one key for each other state. */
#define CAUSES_MAX (NOTE_FIELDS_MAX - 4 - LEDGER_STATES)

/* --- writing: the ledger with classes for tags, and nothing else that tells rows apart, comes sorted ------ */

static int add_to_classes(void *classes, const struct ledger_row *row)
{
	struct ledger_row sum = { .tag = row->class,
		                  .base = row->base,
		                  .state = row->state,
		                  .cause = row->state == LEDGER_STALL ? row->cause : NULL,
		                  .ns = row->ns };

	return ledger_add(classes, &sum);
}

/* Keys are lower case letters, digits and underscores. */
static bool is_key(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return length && !name[length] && length < CAUSE_MAX;
}

static void write_state(struct note_writer *writer, const char *name, int64_t ns)
{
	char key[CAUSE_MAX + 4];

	snprintf(key, sizeof(key), "%s_s", name);
	note_writer_seconds(writer, key, ns);
}

/* The rows of one class, `n` of them. */
static void write_states(struct note_writer *writer, struct ledger *classes, size_t first, size_t n)
{
	int64_t others = 0;
	size_t causes = 0;

	for (size_t i = first; i < first + n; i++) {
		const struct ledger_row *row = ledger_at(classes, i);

		if (row->state != LEDGER_STALL)
			write_state(writer, ledger_state_name(row->state), row->ns);
		else if (is_key(row->cause) && causes++ < CAUSES_MAX)
			write_state(writer, row->cause, row->ns);
		else
			others += row->ns;
	}
	if (others)
		write_state(writer, ledger_state_name(LEDGER_STALL), others);
}

static int add_comment(struct profile *profile, struct ledger *classes, size_t first, size_t n)
{
	const char *class = ledger_at(classes, first)->tag;
	int64_t at_ns = profile_time_ns(profile);
	struct note_writer writer;
	char *line;
	int err;

	if (note_writer_begin(&writer, RECORD))
		return -ENOMEM;
	note_writer_text(&writer, "tag", class);
	note_writer_seconds(&writer, "wall_s", ledger_wall_ns(classes, class));
	write_states(&writer, classes, first, n);
	if (ledger_at(classes, first)->base)
		note_writer_u64(&writer, "base", 1);
	note_writer_u64(&writer, "at", at_ns > 0 ? (uint64_t)at_ns : 0);
	line = note_writer_end(&writer);
	err = line ? profile_add_comment(profile, line) : -errno;
	free(line);
	return err;
}

static int add_comments(struct profile *profile, struct ledger *classes)
{
	size_t count = ledger_count(classes), first = 0, end;
	int err = 0;

	if (count && !ledger_at(classes, 0))
		return -ENOMEM;
	for (; first < count && !err; first = end) {
		for (end = first + 1; end < count; end++)
			if (strcmp(ledger_at(classes, end)->tag, ledger_at(classes, first)->tag) != 0)
				break;
		err = add_comment(profile, classes, first, end - first);
	}
	return err;
}

int class_comments_add(struct profile *profile)
{
	struct ledger *classes = ledger_new(0);
	int err = classes ? ledger_each_note(profile, add_to_classes, classes, NULL) : -ENOMEM;

	if (!err)
		err = add_comments(profile, classes);
	ledger_free(classes);
	return err;
}

/* --- reading ---------------------------------------------------------------------------------------------- */

/* Takes the `_s` off a key. False: it is no state's. */
static bool state_of(const char *key, char name[CAUSE_MAX], struct ledger_row *row)
{
	size_t length = strlen(key);

	if (length < 3 || length - 2 >= CAUSE_MAX || strcmp(key + length - 2, "_s") != 0)
		return false;
	memcpy(name, key, length - 2);
	name[length - 2] = '\0';
	row->state = LEDGER_STALL;
	row->cause = name;
	for (unsigned int state = 0; state < LEDGER_STATES; state++) {
		if (!strcmp(name, ledger_state_name(state))) {
			row->state = state;
			row->cause = NULL;
		}
	}
	return strcmp(name, "wall") != 0;
}

static int add_states(struct ledger *ledger, const struct note_fields *fields)
{
	struct ledger_row row = { .tag = (char *)note_fields_text(fields, "tag") };
	char name[CAUSE_MAX];
	int err = 0;

	if (!row.tag)
		return -EINVAL;
	row.class = row.tag;
	row.base = note_fields_text(fields, "base") != NULL;
	for (size_t i = 0; i < fields->count && !err; i++) {
		if (!state_of(fields->field[i].key, name, &row))
			continue;
		err = note_fields_seconds(fields, fields->field[i].key, &row.ns);
		if (!err)
			err = ledger_add(ledger, &row);
	}
	return err;
}

int class_comments_read(struct ledger *ledger, const struct profile *profile, size_t *found,
                        size_t *malformed)
{
	*found = 0;
	for (size_t i = 0; i < profile_n_comments(profile); i++) {
		struct note_fields fields;
		int err = note_fields_parse(&fields, profile_comment(profile, i), RECORD);

		if (!err) {
			err = add_states(ledger, &fields);
			note_fields_free(&fields);
			*found += !err;
		}
		if (err == -EINVAL && malformed)
			(*malformed)++;
		if (err && err != -EINVAL && err != -ENOMSG)
			return err;
	}
	return 0;
}
