#include "profiler/ledger_row.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "pprof/profile.h"
#include "profiler/comment_line.h"

#define RECORD "stallprof.ledger"

struct entry {
	struct ledger_row row;
	char *key;
	UT_hash_handle hh;
};

struct ledger {
	struct entry *by_key;
	struct entry **sorted; /* NULL since the last row was added */
};

static const char *const state_names[LEDGER_STATES] = {
	[LEDGER_ONCPU] = "oncpu",     [LEDGER_RUNQUEUE] = "runqueue",     [LEDGER_STALL] = "stall",
	[LEDGER_BLOCKED] = "blocked", [LEDGER_UNOBSERVED] = "unobserved",
};

const char *ledger_state_name(enum ledger_state state)
{
	return (unsigned)state < LEDGER_STATES ? state_names[state] : "?";
}

static void entry_free(struct entry *entry)
{
	if (!entry)
		return;
	free(entry->row.tag);
	free(entry->row.comm);
	free(entry->row.cause);
	free(entry->row.device);
	free(entry->key);
	free(entry);
}

struct ledger *ledger_new(void)
{
	return calloc(1, sizeof(struct ledger));
}

void ledger_free(struct ledger *ledger)
{
	struct entry *entry, *next;

	if (!ledger)
		return;
	entry = ledger->by_key;
	HASH_CLEAR(hh, ledger->by_key);
	while (entry) {
		next = entry->hh.next;
		entry_free(entry);
		entry = next;
	}
	free(ledger->sorted);
	free(ledger);
}

/* --- rows and their text ------------------------------------------------------------------------------ */

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static void write_key(struct comment_writer *writer, const struct ledger_row *row)
{
	comment_writer_text(writer, "tag", text_or_empty(row->tag));
	comment_writer_hex64(writer, "id", row->id);
	comment_writer_u64(writer, "pid", row->pid);
	comment_writer_u64(writer, "start", row->start_ns);
	comment_writer_text(writer, "state", ledger_state_name(row->state));
	comment_writer_text(writer, "cause", text_or_empty(row->cause));
	comment_writer_text(writer, "device", text_or_empty(row->device));
}

/* The key as text: the quoting makes it unambiguous. NULL with errno. */
static char *row_key(const struct ledger_row *row)
{
	struct comment_writer writer;

	if (comment_writer_begin(&writer, "")) {
		errno = ENOMEM;
		return NULL;
	}
	write_key(&writer, row);
	return comment_writer_end(&writer);
}

static char *row_line(const struct ledger_row *row, int64_t at_ns)
{
	struct comment_writer writer;

	if (comment_writer_begin(&writer, RECORD)) {
		errno = ENOMEM;
		return NULL;
	}
	write_key(&writer, row);
	comment_writer_text(&writer, "comm", row->comm);
	comment_writer_u64(&writer, "ns", row->ns);
	comment_writer_u64(&writer, "count", row->count);
	comment_writer_u64(&writer, "at", at_ns > 0 ? (uint64_t)at_ns : 0);
	return comment_writer_end(&writer);
}

/* --- adding ------------------------------------------------------------------------------------------- */

static uint64_t saturating_sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static int entry_add(struct entry *entry, const struct ledger_row *row)
{
	if (row->comm && *row->comm && strcmp(row->comm, entry->row.comm)) {
		char *comm = strdup(row->comm);

		if (!comm)
			return -ENOMEM;
		free(entry->row.comm);
		entry->row.comm = comm;
	}
	entry->row.ns = saturating_sum(entry->row.ns, row->ns);
	entry->row.count = saturating_sum(entry->row.count, row->count);
	return 0;
}

/* Takes over key, also when it fails. */
static struct entry *entry_new(char *key, const struct ledger_row *row)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry) {
		free(key);
		return NULL;
	}
	entry->key = key;
	entry->row = *row;
	entry->row.tag = strdup(text_or_empty(row->tag));
	entry->row.comm = strdup(text_or_empty(row->comm));
	entry->row.cause = strdup(text_or_empty(row->cause));
	entry->row.device = strdup(text_or_empty(row->device));
	if (entry->row.tag && entry->row.comm && entry->row.cause && entry->row.device)
		return entry;
	entry_free(entry);
	return NULL;
}

static int insert(struct ledger *ledger, char *key, const struct ledger_row *row)
{
	struct entry *entry;

	if (HASH_COUNT(ledger->by_key) >= LEDGER_ROWS_MAX) {
		free(key);
		return -ENOSPC;
	}
	entry = entry_new(key, row);
	if (!entry)
		return -ENOMEM;
	HASH_ADD_KEYPTR(hh, ledger->by_key, entry->key, strlen(entry->key), entry);
	if (!entry->hh.tbl) {
		entry_free(entry);
		return -ENOMEM;
	}
	free(ledger->sorted);
	ledger->sorted = NULL;
	return 0;
}

int ledger_add(struct ledger *ledger, const struct ledger_row *row)
{
	struct entry *entry;
	char *key;

	if ((unsigned)row->state >= LEDGER_STATES)
		return -EINVAL;
	key = row_key(row);
	if (!key)
		return -errno;
	HASH_FIND_STR(ledger->by_key, key, entry);
	if (!entry)
		return insert(ledger, key, row);
	free(key);
	return entry_add(entry, row);
}

/* --- reading ------------------------------------------------------------------------------------------ */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_entries(const void *left, const void *right)
{
	const struct ledger_row *a = &(*(struct entry *const *)left)->row;
	const struct ledger_row *b = &(*(struct entry *const *)right)->row;
	int order = strcmp(a->tag, b->tag);

	order = order ? order : compare_u64(a->id, b->id);
	order = order ? order : compare_u64(a->pid, b->pid);
	order = order ? order : compare_u64(a->start_ns, b->start_ns);
	order = order ? order : compare_u64(a->state, b->state);
	order = order ? order : strcmp(a->cause, b->cause);
	return order ? order : strcmp(a->device, b->device);
}

static bool sort(struct ledger *ledger)
{
	size_t count = ledger_count(ledger), i = 0;
	struct entry *entry;

	ledger->sorted = calloc(count, sizeof(struct entry *));
	if (!ledger->sorted)
		return false;
	for (entry = ledger->by_key; entry; entry = entry->hh.next)
		ledger->sorted[i++] = entry;
	qsort(ledger->sorted, count, sizeof(struct entry *), compare_entries);
	return true;
}

size_t ledger_count(const struct ledger *ledger)
{
	return HASH_COUNT(ledger->by_key);
}

const struct ledger_row *ledger_at(struct ledger *ledger, size_t index)
{
	if (index >= ledger_count(ledger) || (!ledger->sorted && !sort(ledger)))
		return NULL;
	return &ledger->sorted[index]->row;
}

uint64_t ledger_wall_ns(const struct ledger *ledger, const char *tag)
{
	uint64_t sum = 0;

	for (const struct entry *entry = ledger->by_key; entry; entry = entry->hh.next)
		if (!tag || !strcmp(entry->row.tag, tag))
			sum = saturating_sum(sum, entry->row.ns);
	return sum;
}

/* --- comments ----------------------------------------------------------------------------------------- */

int ledger_to_comments(struct ledger *ledger, struct profile *profile)
{
	int64_t at_ns = profile_time_ns(profile);
	int err = 0;

	for (size_t i = 0; i < ledger_count(ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		char *line = row ? row_line(row, at_ns) : NULL;

		if (!line)
			return row ? -errno : -ENOMEM;
		err = profile_add_comment(profile, line);
		free(line);
	}
	return err;
}

static int read_state(const struct comment_fields *fields, enum ledger_state *state)
{
	const char *name = comment_fields_text(fields, "state");

	for (unsigned i = 0; name && i < LEDGER_STATES; i++) {
		if (!strcmp(name, state_names[i])) {
			*state = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The row's texts point into fields. tag, state and ns must be there; what else is absent is 0 or "". */
static int read_row(const struct comment_fields *fields, struct ledger_row *row)
{
	uint64_t pid = 0;

	*row = (struct ledger_row){ .tag = (char *)comment_fields_text(fields, "tag"),
		                    .comm = (char *)comment_fields_text(fields, "comm"),
		                    .cause = (char *)comment_fields_text(fields, "cause"),
		                    .device = (char *)comment_fields_text(fields, "device") };
	if (!row->tag || read_state(fields, &row->state) || comment_fields_u64(fields, "ns", &row->ns) ||
	    comment_fields_hex64(fields, "id", &row->id) == -EINVAL ||
	    comment_fields_u64(fields, "pid", &pid) == -EINVAL || pid > UINT32_MAX ||
	    comment_fields_u64(fields, "start", &row->start_ns) == -EINVAL ||
	    comment_fields_u64(fields, "count", &row->count) == -EINVAL)
		return -EINVAL;
	row->pid = (uint32_t)pid;
	return 0;
}

static int add_line(struct ledger *ledger, const char *line)
{
	struct comment_fields fields;
	struct ledger_row row;
	int err = comment_fields_parse(&fields, line, RECORD);

	if (err)
		return err;
	err = read_row(&fields, &row);
	if (!err)
		err = ledger_add(ledger, &row);
	comment_fields_free(&fields);
	return err;
}

int ledger_from_comments(struct ledger *ledger, const struct profile *profile, size_t *malformed)
{
	for (size_t i = 0; i < profile_n_comments(profile); i++) {
		int err = add_line(ledger, profile_comment(profile, i));

		if (err == -EINVAL && malformed)
			(*malformed)++;
		if (err && err != -EINVAL && err != -ENOMSG)
			return err;
	}
	return 0;
}
