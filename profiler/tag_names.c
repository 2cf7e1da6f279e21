#include "profiler/tag_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <uthash.h>

#include "profiler/tracer.h"

/* Windows. The copy here outlives the map's entry, because a thread may have taken the tag just before that was
 * dropped, and its rows come one window later. */
#define FORGET_AFTER 4

struct known_tag {
	uint64_t key;
	struct abi_tag tag;
	bool pinned;
	unsigned int idle; /* windows since it was asked for */
	UT_hash_handle hh;
};

struct tag_names {
	struct known_tag *by_key;
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

static struct known_tag *find_or_read(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry;

	HASH_FIND(hh, names->by_key, &key, sizeof(key), entry);
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
	return entry;
}

const struct abi_tag *tag_names_of(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry = find_or_read(names, tracer, key);

	if (!entry)
		return &unknown_tag;
	entry->idle = 0;
	return &entry->tag;
}

void tag_names_pin(struct tag_names *names, struct tracer *tracer, uint64_t key)
{
	struct known_tag *entry = find_or_read(names, tracer, key);

	if (entry)
		entry->pinned = true;
}

void tag_names_age(struct tag_names *names, struct tracer *tracer)
{
	struct known_tag *entry, *next;

	HASH_ITER (hh, names->by_key, entry, next) {
		if (entry->pinned)
			continue;
		entry->idle++;
		if (entry->idle == 2)
			tracer_drop_tag(tracer, entry->key);
		if (entry->idle <= FORGET_AFTER)
			continue;
		HASH_DEL(names->by_key, entry);
		free(entry);
	}
}
