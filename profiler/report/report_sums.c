/* Keeps sums in a hash table by their texts. */

#include "profiler/report/report_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/format/joined_texts.h"
#include "profiler/format/saturating.h"

struct report_sum_entry {
	struct report_sum sum; /* first, as its address is the entry's */
	char *key;             /* the texts, one behind the other, each with its NUL */
	size_t length;
	UT_hash_handle hh;
};

/* Takes over `key`, also when it fails. */
static struct report_sum_entry *entry_new(struct report_sums *sums, char *key, size_t length, size_t n)
{
	struct report_sum_entry *entry = calloc(1, sizeof(*entry));

	if (!entry) {
		free(key);
		return NULL;
	}
	entry->key = key;
	entry->length = length;
	for (size_t i = 0; i < n; i++) {
		entry->sum.part[i] = key;
		key += strlen(key) + 1;
	}
	HASH_ADD_KEYPTR(hh, sums->entries, entry->key, entry->length, entry);
	if (entry->hh.tbl)
		return entry;
	free(entry->key);
	free(entry);
	return NULL;
}

int report_sums_add(struct report_sums *sums, const char *const *parts, size_t n, int64_t ns)
{
	struct report_sum_entry *entry;
	size_t length;
	char *key = joined_texts(parts, n, &length);

	if (!key)
		return -ENOMEM;
	HASH_FIND(hh, sums->entries, key, length, entry);
	if (entry)
		free(key);
	else
		entry = entry_new(sums, key, length, n);
	if (!entry)
		return -ENOMEM;
	entry->sum.ns = saturating_add(entry->sum.ns, ns);
	return 0;
}

static int longest_first(const struct report_sum_entry *a, const struct report_sum_entry *b)
{
	size_t length = a->length < b->length ? a->length : b->length;

	if (a->sum.ns != b->sum.ns)
		return a->sum.ns < b->sum.ns ? 1 : -1;
	return memcmp(a->key, b->key, length);
}

void report_sums_sort(struct report_sums *sums)
{
	HASH_SORT(sums->entries, longest_first);
}

const struct report_sum *report_sums_first(const struct report_sums *sums)
{
	return sums->entries ? &sums->entries->sum : NULL;
}

const struct report_sum *report_sums_next(const struct report_sum *sum)
{
	const struct report_sum_entry *next = ((const struct report_sum_entry *)sum)->hh.next;

	return next ? &next->sum : NULL;
}

void report_sums_free(struct report_sums *sums)
{
	struct report_sum_entry *entry = sums->entries, *next;

	HASH_CLEAR(hh, sums->entries);
	for (; entry; entry = next) {
		next = entry->hh.next;
		free(entry->key);
		free(entry);
	}
}
