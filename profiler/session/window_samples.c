/* The samples of a row: one for each stack, detail, end of a chain and slice. */

#include "profiler/session/window_samples.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/session/detail_labels.h"
#include "profiler/session/window_room.h"

static void sample_free(struct sample *sample)
{
	free(sample->detail);
	free(sample->ids);
	free(sample);
}

static uint64_t hash_words(uint64_t hash, const void *words, size_t n)
{
	uint64_t word;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&word, (const char *)words + i * sizeof(word), sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash;
}

static bool same_told(const struct sample *sample, const struct told *told)
{
	if (sample->slice != told->slice || sample->n != told->n ||
	    memcmp(sample->ids, told->ids, told->n * sizeof(*told->ids)) ||
	    memcmp(&sample->inherited, &told->inherited, sizeof(told->inherited)) ||
	    !sample->detail != !told->detail)
		return false;
	return !told->detail || !memcmp(sample->detail, told->detail, sizeof(*told->detail));
}

static void *copy_of(const void *bytes, size_t size)
{
	void *copy = malloc(size);

	return copy ? memcpy(copy, bytes, size) : NULL;
}

/* NULL without memory. */
static struct sample *sample_new(const struct told *told)
{
	struct sample *sample = calloc(1, sizeof(*sample));

	if (!sample)
		return NULL;
	sample->slice = told->slice;
	sample->inherited = told->inherited;
	sample->n = told->n;
	sample->ids = copy_of(told->ids, told->n * sizeof(*told->ids));
	if (told->detail)
		sample->detail = copy_of(told->detail, sizeof(*told->detail));
	if (sample->ids && (sample->detail || !told->detail))
		return sample;
	sample_free(sample);
	return NULL;
}

static uint64_t hash_told(const struct told *told)
{
	uint64_t slice = told->slice, hash = hash_words(0xcbf29ce484222325ULL, told->ids, told->n);

	if (told->detail)
		hash = hash_words(hash, told->detail, sizeof(*told->detail) / sizeof(hash));
	if (told->inherited.state)
		hash = hash_words(hash, &told->inherited, sizeof(told->inherited) / sizeof(hash));
	return told->slice ? hash_words(hash, &slice, 1) : hash;
}

/* The row's sample, or NULL with the hash that one would have. */
static struct sample *find(const struct row *row, const struct told *told, uint64_t *hash)
{
	struct sample *sample;

	*hash = hash_told(told);
	HASH_FIND(hh, row->samples, hash, sizeof(*hash), sample);
	while (sample && !same_told(sample, told)) {
		++*hash; /* another has this hash: take the next that is free */
		HASH_FIND(hh, row->samples, hash, sizeof(*hash), sample);
	}
	return sample;
}

/* Takes the sample over; false: without memory, it is freed. */
static bool insert(struct row *row, struct sample *sample, uint64_t hash)
{
	sample->hash = hash;
	HASH_ADD(hh, row->samples, hash, sizeof(sample->hash), sample);
	if (sample->hh.tbl)
		return true;
	sample_free(sample);
	return false;
}

/* How many labels it has that few have. */
static size_t labels_of(const struct told *told)
{
	return (told->detail ? DETAIL_LABELS_MAX : 0) + (told->inherited.state ? INHERITED_LABELS_MAX : 0);
}

struct sample *row_sample(struct row *row, const struct told *told, struct window_room *room)
{
	uint64_t hash;
	struct sample *sample = find(row, told, &hash);

	if (sample)
		return sample;
	errno = ENOSPC;
	if (window_room_add_sample(room, &row->key, !row->samples, told->n, labels_of(told)))
		return NULL;
	sample = sample_new(told);
	if (sample && insert(row, sample, hash))
		return sample;
	errno = ENOMEM;
	return NULL;
}

void row_free_samples(struct row *row)
{
	struct sample *sample, *next;

	HASH_ITER (hh, row->samples, sample, next) {
		HASH_DEL(row->samples, sample);
		sample_free(sample);
	}
}

/* Puts a sample that is in no row there, or adds it to an equal one. */
static int add_back(struct row *row, struct sample *sample, struct window_room *room)
{
	struct told told = { sample->ids, sample->n, sample->detail, sample->slice, sample->inherited };
	uint64_t hash, weight = sample->weight, times = sample->times;
	struct sample *same = find(row, &told, &hash);

	if (same) {
		same->weight += weight;
		same->times += times;
		same->taken_back += sample->taken_back;
		window_room_drop_sample(room, told.n, labels_of(&told));
		sample_free(sample);
		return 0;
	}
	if (insert(row, sample, hash))
		return 0;
	row->weight -= weight;
	row->times -= times;
	return -ENOMEM;
}

int row_widen_slices(struct row *row, struct window_room *room)
{
	struct sample *samples = row->samples, *sample, *next;
	int err = 0;

	row->samples = NULL;
	row->slice /= 2;
	HASH_ITER (hh, samples, sample, next) {
		HASH_DEL(samples, sample);
		sample->slice /= 2;
		if (add_back(row, sample, room))
			err = -ENOMEM;
	}
	return err;
}
