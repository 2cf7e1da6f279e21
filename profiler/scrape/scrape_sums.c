/* Sums ledgers and stamps of windows, so that what is shown never falls. */

#include "profiler/scrape/scrape_sums.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/scrape/scrape_text.h"

/* What sums are found by: a byte for `of`, then the four texts, each with its NUL. */
#define KEY_MAX (1 + 2 * SCRAPE_VALUE_MAX + 2 * 64)

struct entry {
	struct scrape_sum sum; /* its texts are those in the key */
	char *key;
	UT_hash_handle hh;
};

struct scrape_sums {
	struct entry *by_key;
	size_t max;
	uint64_t refused;
	struct stamp *all, *last;
};

struct scrape_sums *scrape_sums_new(size_t max)
{
	struct scrape_sums *sums = calloc(1, sizeof(*sums));

	if (!sums)
		return NULL;
	sums->max = max;
	sums->all = stamp_new();
	if (sums->all)
		return sums;
	scrape_sums_free(sums);
	return NULL;
}

void scrape_sums_free(struct scrape_sums *sums)
{
	struct entry *entry, *next;

	if (!sums)
		return;
	entry = sums->by_key;
	HASH_CLEAR(hh, sums->by_key);
	for (; entry; entry = next) {
		next = entry->hh.next;
		free(entry->key);
		free(entry);
	}
	stamp_free(sums->all);
	stamp_free(sums->last);
	free(sums);
}

/* --- the ledger ------------------------------------------------------------------------------------------- */

/* Its length. Names of states and causes are ours, and short. */
static size_t make_key(char key[KEY_MAX], const struct scrape_sum *sum)
{
	const char *const texts[] = { sum->ai_tag, sum->state, sum->stall, sum->device };
	size_t length = 0;

	key[length++] = (char)sum->of;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t size = strnlen(texts[i], KEY_MAX - length - 1);

		memcpy(key + length, texts[i], size);
		length += size;
		key[length++] = '\0';
	}
	return length;
}

static struct entry *entry_new(const char *key, size_t length, const struct scrape_sum *sum)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->key = malloc(length);
	if (!entry->key) {
		free(entry);
		return NULL;
	}
	memcpy(entry->key, key, length);
	entry->sum.of = sum->of;
	entry->sum.ai_tag = entry->key + 1;
	entry->sum.state = entry->sum.ai_tag + strlen(entry->sum.ai_tag) + 1;
	entry->sum.stall = entry->sum.state + strlen(entry->sum.state) + 1;
	entry->sum.device = entry->sum.stall + strlen(entry->sum.stall) + 1;
	return entry;
}

static struct entry *find(struct scrape_sums *sums, const char *key, size_t length)
{
	struct entry *entry;

	HASH_FIND(hh, sums->by_key, key, length, entry);
	return entry;
}

/* There are few enough of "other" that they need no bound: causes and states are ours. NULL: no memory. */
static struct entry *find_or_add(struct scrape_sums *sums, struct scrape_sum *sum)
{
	char key[KEY_MAX];
	size_t length = make_key(key, sum);
	struct entry *entry = find(sums, key, length);

	if (!entry && HASH_COUNT(sums->by_key) >= sums->max) {
		sums->refused++;
		sum->ai_tag = SCRAPE_SUMS_OTHER;
		sum->device = *sum->device ? SCRAPE_SUMS_OTHER : "";
		length = make_key(key, sum);
		entry = find(sums, key, length);
	}
	if (entry)
		return entry;
	entry = entry_new(key, length, sum);
	if (!entry)
		return NULL;
	HASH_ADD_KEYPTR(hh, sums->by_key, entry->key, length, entry);
	if (entry->hh.tbl)
		return entry;
	free(entry->key);
	free(entry);
	return NULL;
}

static int add(struct scrape_sums *sums, struct scrape_sum sum, const struct ledger_row *row)
{
	struct entry *entry = find_or_add(sums, &sum);

	if (!entry)
		return -ENOMEM;
	entry->sum.ns = saturating_add(entry->sum.ns, row->ns);
	entry->sum.count = saturating_add_u64(entry->sum.count, row->count);
	return 0;
}

/* Of a row as a note has it, in which texts may be absent. */
static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static int take_row(void *ctx, const struct ledger_row *row)
{
	const char *class = text_or_empty(row->class), *cause = text_or_empty(row->cause);
	char ai_tag[SCRAPE_VALUE_MAX], device[SCRAPE_VALUE_MAX];
	struct scrape_sum sum = { .of = SCRAPE_SUM_TAG, .ai_tag = ai_tag, .stall = "", .device = "" };
	bool is_undecided = row->state == LEDGER_BLOCKED && !strcmp(cause, "undecided");
	int err;

	scrape_text_clean(*class ? class : row->tag, ai_tag);
	sum.state = is_undecided ? "" : ledger_state_name(row->state);
	if (is_undecided)
		sum.of = SCRAPE_SUM_UNDECIDED;
	err = add(ctx, sum, row);
	if (err || row->state != LEDGER_STALL)
		return err;
	scrape_text_clean(text_or_empty(row->device), device);
	sum = (struct scrape_sum){
		.of = SCRAPE_SUM_STALL, .ai_tag = ai_tag, .state = "", .stall = cause, .device = device
	};
	return add(ctx, sum, row);
}

/* --- windows ---------------------------------------------------------------------------------------------- */

static int take_stamp(struct scrape_sums *sums, const struct profile *profile)
{
	struct stamp *stamp = stamp_new();
	struct stamp_coverage coverage;
	int err = stamp ? stamp_from_notes(stamp, profile, NULL) : -ENOMEM;

	for (size_t i = 0; !err && i < stamp_counter_count(stamp); i++) {
		struct stamp_counter counter = stamp_counter_at(stamp, i);

		err = stamp_add_counter(sums->all, counter.name, counter.value);
	}
	if (!err) {
		coverage = stamp_coverage(stamp);
		err = stamp_add_coverage(sums->all, &coverage);
	}
	if (err) {
		stamp_free(stamp);
		return err;
	}
	stamp_free(sums->last);
	sums->last = stamp;
	return 0;
}

int scrape_sums_take(struct scrape_sums *sums, const struct profile *profile)
{
	int err = take_stamp(sums, profile);
	int row_err = ledger_each_note(profile, take_row, sums, NULL);

	/* Only now: rows of one window may take back from each other. */
	for (struct entry *entry = sums->by_key; entry; entry = entry->hh.next)
		if (entry->sum.shown_ns < entry->sum.ns)
			entry->sum.shown_ns = entry->sum.ns;
	return err ? err : row_err;
}

/* --- reading ---------------------------------------------------------------------------------------------- */

static int compare(const struct entry *a, const struct entry *b)
{
	int order = (a->sum.of > b->sum.of) - (a->sum.of < b->sum.of);

	order = order ? order : strcmp(a->sum.ai_tag, b->sum.ai_tag);
	order = order ? order : strcmp(a->sum.state, b->sum.state);
	order = order ? order : strcmp(a->sum.stall, b->sum.stall);
	return order ? order : strcmp(a->sum.device, b->sum.device);
}

void scrape_sums_each(struct scrape_sums *sums, void (*take)(void *ctx, const struct scrape_sum *sum),
                      void *ctx)
{
	HASH_SORT(sums->by_key, compare);
	for (const struct entry *entry = sums->by_key; entry; entry = entry->hh.next)
		take(ctx, &entry->sum);
}

int64_t scrape_sums_ahead(const struct scrape_sums *sums, enum scrape_sum_of of)
{
	int64_t ahead = 0;

	for (const struct entry *entry = sums->by_key; entry; entry = entry->hh.next)
		if (entry->sum.of == of)
			ahead = saturating_add(ahead, entry->sum.shown_ns - entry->sum.ns);
	return ahead;
}

uint64_t scrape_sums_refused(const struct scrape_sums *sums)
{
	return sums->refused;
}

const struct stamp *scrape_sums_stamp(const struct scrape_sums *sums)
{
	return sums->all;
}

const struct stamp *scrape_sums_last(const struct scrape_sums *sums)
{
	return sums->last;
}
