/* The ledger: a hash of rows, their sums, and their form as notes of a profile. */

#include "profiler/format/ledger_row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "pprof/profile.h"
#include "profiler/format/note_rows.h"
#include "profiler/format/saturating.h"
#include "symbolizer/base/compare.h"

#define RECORD "stallprof.ledger"

/* The numbers of a key. Behind them come its texts: tag, cause, device, each with its NUL. */
struct key_head {
	uint64_t id, start_ns;
	uint32_t pid;
	uint16_t state, folded;
};
_Static_assert(sizeof(struct key_head) == 24, "a key has no padding");

struct entry {
	struct ledger_row row; /* its tag, cause and device are those in the key */
	char *key;
	UT_hash_handle hh;
};

struct ledger {
	struct entry *by_key;
	char *key; /* of the row that is being added */
	size_t key_room;
	struct entry **sorted; /* NULL since the last row was added */
	size_t rows_max;
	uint64_t folded;
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
	free(entry->row.class);
	free(entry->row.comm);
	free(entry->key);
	free(entry);
}

struct ledger *ledger_new(size_t rows_max)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (ledger)
		ledger->rows_max = rows_max ? rows_max : LEDGER_ROWS_MAX;
	return ledger;
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
	free(ledger->key);
	free(ledger);
}

/* --- rows and their text ------------------------------------------------------------------------------ */

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

const char *ledger_row_process(const struct ledger_row *row, char text[LEDGER_PROCESS_BYTES])
{
	char rank[24] = "";

	if (row->rank_and_1)
		snprintf(rank, sizeof(rank), "rank %" PRIu32 " ", row->rank_and_1 - 1);
	snprintf(text, LEDGER_PROCESS_BYTES, "%s%.40s[%" PRIu32 "]", rank, row->comm, row->pid);
	return text;
}

static int add_note(const struct ledger_row *row, struct profile *profile)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, RECORD))
		return -ENOMEM;
	note_writer_text(&writer, "tag", row->tag);
	note_writer_hex64(&writer, "id", row->id);
	note_writer_u64(&writer, "pid", row->pid);
	note_writer_u64(&writer, "start", row->start_ns);
	note_writer_text(&writer, "state", ledger_state_name(row->state));
	note_writer_text(&writer, "cause", row->cause);
	note_writer_text(&writer, "device", row->device);
	note_writer_text(&writer, "class", row->class);
	if (row->base)
		note_writer_u64(&writer, "base", 1);
	note_writer_text(&writer, "comm", row->comm);
	if (row->rank_and_1)
		note_writer_u64(&writer, "rank", row->rank_and_1 - 1);
	note_writer_i64(&writer, "ns", row->ns);
	note_writer_u64(&writer, "count", row->count);
	return note_rows_add(profile, &writer);
}

/* --- keys --------------------------------------------------------------------------------------------- */

/* Makes the row's key in ledger->key. Its length, or 0: no memory. */
static size_t make_key(struct ledger *ledger, const struct ledger_row *row)
{
	const char *const texts[] = { text_or_empty(row->tag), text_or_empty(row->cause),
		                      text_or_empty(row->device) };
	const struct key_head head = { .id = row->id,
		                       .start_ns = row->start_ns,
		                       .pid = row->pid,
		                       .state = (uint16_t)row->state,
		                       .folded = row->folded };
	size_t sizes[3], length = sizeof(head), room;
	char *grown;

	for (int i = 0; i < 3; i++)
		length += sizes[i] = strlen(texts[i]) + 1;
	if (length > ledger->key_room) {
		room = 2 * length;
		grown = realloc(ledger->key, room);
		if (!grown)
			return 0;
		ledger->key = grown;
		ledger->key_room = room;
	}
	memcpy(ledger->key, &head, sizeof(head));
	length = sizeof(head);
	for (int i = 0; i < 3; length += sizes[i++])
		memcpy(ledger->key + length, texts[i], sizes[i]);
	return length;
}

static void take_texts_of_key(struct ledger_row *row, char *key)
{
	row->tag = key + sizeof(struct key_head);
	row->cause = row->tag + strlen(row->tag) + 1;
	row->device = row->cause + strlen(row->cause) + 1;
}

/* --- adding ------------------------------------------------------------------------------------------- */

/* The last value given is kept. */
static int replace_text(char **text, const char *given)
{
	char *copy;

	if (!given || !*given || !strcmp(given, *text))
		return 0;
	copy = strdup(given);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static int entry_add(struct entry *entry, const struct ledger_row *row)
{
	if (replace_text(&entry->row.comm, row->comm) || replace_text(&entry->row.class, row->class))
		return -ENOMEM;
	entry->row.base = row->base;
	entry->row.rank_and_1 = row->rank_and_1 ? row->rank_and_1 : entry->row.rank_and_1;
	entry->row.ns = saturating_add(entry->row.ns, row->ns);
	entry->row.count = saturating_add_u64(entry->row.count, row->count);
	return 0;
}

/* Its key is a copy of ledger->key. */
static struct entry *entry_new(const struct ledger *ledger, size_t key_length, const struct ledger_row *row)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->row = *row;
	entry->row.class = strdup(text_or_empty(row->class));
	entry->row.comm = strdup(text_or_empty(row->comm));
	entry->key = malloc(key_length);
	if (!entry->row.class || !entry->row.comm || !entry->key) {
		entry_free(entry);
		return NULL;
	}
	memcpy(entry->key, ledger->key, key_length);
	take_texts_of_key(&entry->row, entry->key);
	return entry;
}

static int insert(struct ledger *ledger, size_t key_length, const struct ledger_row *row)
{
	struct entry *entry = entry_new(ledger, key_length, row);

	if (!entry)
		return -ENOMEM;
	HASH_ADD_KEYPTR(hh, ledger->by_key, entry->key, key_length, entry);
	if (!entry->hh.tbl) {
		entry_free(entry);
		return -ENOMEM;
	}
	free(ledger->sorted);
	ledger->sorted = NULL;
	return 0;
}

static bool is_full(const struct ledger *ledger, bool folded)
{
	return HASH_COUNT(ledger->by_key) >= ledger->rows_max + (folded ? LEDGER_FOLDED_MAX : 0);
}

static int add(struct ledger *ledger, const struct ledger_row *row)
{
	size_t length = make_key(ledger, row);
	struct entry *entry;

	if (!length)
		return -ENOMEM;
	HASH_FIND(hh, ledger->by_key, ledger->key, length, entry);
	if (entry)
		return entry_add(entry, row);
	return is_full(ledger, row->folded) ? -ENOSPC : insert(ledger, length, row);
}

int ledger_add(struct ledger *ledger, const struct ledger_row *row)
{
	struct ledger_row folded = *row;
	int result;

	if ((unsigned)row->state >= LEDGER_STATES)
		return -EINVAL;
	result = add(ledger, row);
	if (result != -ENOSPC || row->folded)
		return result;
	ledger->folded++;
	folded.folded = true;
	folded.id = 0;
	if (row->class && *row->class)
		folded.tag = row->class;
	return add(ledger, &folded);
}

/* --- reading ------------------------------------------------------------------------------------------ */

static int compare_entries(const void *left, const void *right)
{
	const struct ledger_row *a = &(*(struct entry *const *)left)->row;
	const struct ledger_row *b = &(*(struct entry *const *)right)->row;
	int order = strcmp(a->tag, b->tag);

	order = order ? order : compare_u64(a->id, b->id);
	order = order ? order : a->folded - b->folded;
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

uint64_t ledger_folded(const struct ledger *ledger)
{
	return ledger->folded;
}

const struct ledger_row *ledger_at(struct ledger *ledger, size_t index)
{
	if (index >= ledger_count(ledger) || (!ledger->sorted && !sort(ledger)))
		return NULL;
	return &ledger->sorted[index]->row;
}

int64_t ledger_wall_ns(const struct ledger *ledger, const char *tag)
{
	int64_t sum = 0;

	for (const struct entry *entry = ledger->by_key; entry; entry = entry->hh.next)
		if (!tag || !strcmp(entry->row.tag, tag))
			sum = saturating_add(sum, entry->row.ns);
	return sum;
}

/* --- notes ----------------------------------------------------------------------------------------- */

int ledger_to_notes(struct ledger *ledger, struct profile *profile)
{
	int err = 0;

	for (size_t i = 0; i < ledger_count(ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		err = row ? add_note(row, profile) : -ENOMEM;
	}
	return err;
}

/* The row's texts point into fields. tag, state and ns must be there; what else is absent is 0 or "". */
static int read_row(const struct note_fields *fields, struct ledger_row *row)
{
	int state = note_fields_choice(fields, "state", state_names, LEDGER_STATES);
	uint64_t pid = 0, base = 0, rank = UINT32_MAX;

	*row = (struct ledger_row){ .tag = (char *)note_fields_text(fields, "tag"),
		                    .class = (char *)note_fields_text(fields, "class"),
		                    .comm = (char *)note_fields_text(fields, "comm"),
		                    .cause = (char *)note_fields_text(fields, "cause"),
		                    .device = (char *)note_fields_text(fields, "device") };
	if (!row->tag || state < 0 || note_fields_i64(fields, "ns", &row->ns) ||
	    note_fields_hex64(fields, "id", &row->id) == -EINVAL ||
	    note_fields_u64(fields, "pid", &pid) == -EINVAL || pid > UINT32_MAX ||
	    note_fields_u64(fields, "base", &base) == -EINVAL || base > 1 ||
	    note_fields_u64(fields, "rank", &rank) == -EINVAL || rank > UINT32_MAX ||
	    note_fields_u64(fields, "start", &row->start_ns) == -EINVAL ||
	    note_fields_u64(fields, "count", &row->count) == -EINVAL)
		return -EINVAL;
	row->state = state;
	row->pid = (uint32_t)pid;
	row->base = base;
	row->rank_and_1 = (uint32_t)rank + 1;
	return 0;
}

struct taker {
	int (*take)(void *ctx, const struct ledger_row *row);
	void *ctx;
};

static int take_row(void *ctx, const struct note_fields *fields)
{
	const struct taker *taker = ctx;
	struct ledger_row row;
	int err = read_row(fields, &row);

	return err ? err : taker->take(taker->ctx, &row);
}

int ledger_each_note(const struct profile *profile, int (*take)(void *ctx, const struct ledger_row *row),
                     void *ctx, size_t *malformed)
{
	struct taker taker = { .take = take, .ctx = ctx };

	return note_rows_read(profile, RECORD, take_row, &taker, malformed);
}

static int add_to(void *ledger, const struct ledger_row *row)
{
	return ledger_add(ledger, row);
}

int ledger_from_notes(struct ledger *ledger, const struct profile *profile, size_t *malformed)
{
	return ledger_each_note(profile, add_to, ledger, malformed);
}
