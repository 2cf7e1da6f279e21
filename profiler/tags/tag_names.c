/* Remembers the names of tags by key, and drops them from the BPF map when unused. */

#include "profiler/tags/tag_names.h"

#include <stdlib.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "profiler/tracer/tracer.h"

/* Windows. The copy here outlives the map's entry, because a thread may hold the tag when that is dropped, or have
 * taken it just before. */
#define FORGET_AFTER 4

/* Of the map's 65536 entries; above it a name is removed even if it is in use. */
#define CROWDED 16384

/* Process tags that stay though nobody asks for them: those that were met last. */
#define PINNED_MAX 8192

/* Of their names that nobody has met yet, how many a sweep of the map leaves there. */
#define UNMET_MAX 8192

struct known_tag {
	uint64_t key;
	struct abi_tag tag;
	bool for_good, counted;
	unsigned int idle;                 /* windows since it was asked for */
	uint64_t last_take;                /* before which it was met */
	bool in_map;                       /* then it is in the list `in_map` */
	struct known_tag *prev, *next_one; /* of that list */
	bool pinned;                       /* then it is in the list `pinned` */
	struct known_tag *older, *newer;   /* of that list */
	UT_hash_handle hh;
};

struct tag_names {
	struct known_tag *by_key;
	struct known_tag *in_map;
	struct known_tag *pinned; /* in the order in which they were last met */
	size_t n_in_map, n_pinned;
	uint64_t take;      /* number of the one to come */
	uint64_t tags_full; /* the counter at the last take */
};

static const struct abi_tag unknown_tag = { .name = "[unknown tag]" };

struct tag_names *tag_names_new(void)
{
	return calloc(1, sizeof(struct tag_names));
}

void tag_names_free(struct tag_names *names)
{
	struct known_tag *entry, *next;

	if (!names)
		return;
	HASH_ITER (hh, names->by_key, entry, next) {
		HASH_DEL(names->by_key, entry);
		free(entry);
	}
	free(names);
}

/* A thread that takes a tag puts it into the map if it is not there. */
static void note_in_map(struct tag_names *names, struct known_tag *entry)
{
	entry->last_take = names->take;
	if (entry->in_map)
		return;
	entry->in_map = true;
	names->n_in_map++;
	DL_APPEND2(names->in_map, entry, prev, next_one);
}

static void drop_from_map(struct tag_names *names, struct tracer *tracer, struct known_tag *entry)
{
	entry->in_map = false;
	names->n_in_map--;
	DL_DELETE2(names->in_map, entry, prev, next_one);
	tracer_drop_tag(tracer, entry->key);
}

static bool stays(const struct known_tag *entry)
{
	return entry->pinned || entry->for_good;
}

/* From now on it is forgotten as others are. */
static void unpin(struct tag_names *names, struct known_tag *entry)
{
	entry->pinned = false;
	names->n_pinned--;
	DL_DELETE2(names->pinned, entry, older, newer);
}

/* A process may come back to its tag after hours under others, but the BPF side reports the name only once. */
static void pin_process_tag(struct tag_names *names, struct known_tag *entry)
{
	if (entry->tag.source != ABI_TAG_PROCESS || entry->for_good)
		return;
	if (entry->pinned)
		unpin(names, entry);
	else if (names->n_pinned == PINNED_MAX)
		unpin(names, names->pinned);
	entry->pinned = true;
	names->n_pinned++;
	DL_APPEND2(names->pinned, entry, older, newer);
}

static struct known_tag *find(const struct tag_names *names, uint64_t key)
{
	struct known_tag *entry;

	HASH_FIND(hh, names->by_key, &key, sizeof(key), entry);
	return entry;
}

static struct known_tag *find_or_read(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry = find(names, key);

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	if (tracer_find_tag(tracer, key, &entry->tag)) {
		free(entry);
		return NULL;
	}
	entry->tag.name[ABI_TAG_NAME_LEN - 1] = '\0';
	entry->key = key;
	HASH_ADD(hh, names->by_key, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	pin_process_tag(names, entry);
	note_in_map(names, entry);
	return entry;
}

const struct abi_tag *tag_names_unknown(void)
{
	return &unknown_tag;
}

const struct abi_tag *tag_names_copy(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry = find_or_read(names, tracer, key);

	if (!entry)
		return NULL;
	entry->idle = 0;
	note_in_map(names, entry);
	pin_process_tag(names, entry);
	return &entry->tag;
}

bool tag_names_count(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry = find_or_read(names, tracer, key);
	bool first = entry && !entry->counted;

	if (first)
		entry->counted = true;
	return first;
}

void tag_names_pin(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry = find_or_read(names, tracer, key);

	if (!entry)
		return;
	if (entry->pinned)
		unpin(names, entry);
	entry->for_good = true;
}

void tag_names_held(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry = find_or_read(names, tracer, key);

	if (entry)
		pin_process_tag(names, entry);
}

void tag_names_refused(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct abi_tag tag;

	if (find(names, key))
		return;
	if (!tracer_find_tag(tracer, key, &tag) && tag.source == ABI_TAG_PROCESS)
		find_or_read(names, tracer, key);
	else
		tracer_drop_tag(tracer, key);
}

struct sweep {
	struct tag_names *names;
	struct tracer *tracer;
	unsigned int n_unmet; /* process tags */
};

/*
 * A tag that is held just now may be among them. Where its thread has a log it is put back within a second, else at the thread's next
 * change of tags: until then its time is under "[unknown tag]". A process tells its tag only once, and user space does not add
 * one again, so those stay while they are few.
 */
static void sweep_tag(void *ctx, uint64_t key)
{
	struct sweep *sweep = ctx;
	struct known_tag *entry = find(sweep->names, key);
	struct abi_tag tag;

	if (entry && !entry->in_map)
		note_in_map(sweep->names, entry); /* put back, but its row did not come */
	if (entry)
		return;
	if (!tracer_find_tag(sweep->tracer, key, &tag) && tag.source == ABI_TAG_PROCESS &&
	    sweep->n_unmet++ < UNMET_MAX)
		return;
	tracer_drop_tag(sweep->tracer, key);
}

/* A name enters the map before there is a row that has it. If the ledger is full that row never comes, and nobody else would take the
 * name out of the map again. */
static void sweep_if_full(struct tag_names *names, struct tracer *tracer)
{
	uint64_t full = tracer_counter(tracer, ABI_COUNT_tags_full);
	struct sweep sweep = { .names = names, .tracer = tracer };

	if (full != names->tags_full)
		tracer_each_tag(tracer, sweep_tag, &sweep);
	names->tags_full = full;
}

void tag_names_after_take(struct tag_names *names, struct tracer *tracer)
{
	bool crowded = names->n_in_map > CROWDED;
	struct known_tag *entry, *next;

	for (entry = names->in_map; entry; entry = next) {
		next = entry->next_one;
		if (!stays(entry) && (crowded || entry->last_take < names->take))
			drop_from_map(names, tracer, entry);
	}
	sweep_if_full(names, tracer);
	names->take++;
}

void tag_names_end_window(struct tag_names *names, struct tracer *tracer)
{
	struct known_tag *entry, *next;

	HASH_ITER (hh, names->by_key, entry, next) {
		if (stays(entry) || ++entry->idle <= FORGET_AFTER)
			continue;
		if (entry->in_map)
			drop_from_map(names, tracer, entry);
		HASH_DEL(names->by_key, entry);
		free(entry);
	}
}
