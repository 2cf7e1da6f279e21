/* The blocks of one object, in memory and on disk, and when they are saved. */

#include "symbolizer/index/object_index.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/index/index_save.h"

/* Not saved yet. Over it they are forgotten, to be made again when asked for; adding one moves those above it. */
#define MAX_NEW_BLOCKS ((size_t)1 << 16)

#define SAVE_NS    60000000000ll
#define SAVE_SHARE 100

struct object_index {
	struct symbolizer_stats *stats;
	struct index_dir *dir;           /* NULL: nothing is on disk */
	const struct sym_beside *beside; /* NULL: none writes but us */
	struct index_save_job *saving;   /* NULL: none */
	struct index_key key;
	struct index_file *file;    /* NULL: there is none */
	struct index_block **fresh; /* by low; not on disk */
	size_t n_fresh, max_fresh;
	struct index_block *current; /* the last one read from disk, which lives until the next */
	size_t memory;
	int64_t next_save_ns; /* CLOCK_MONOTONIC */
};

struct object_index *object_index_new(struct symbolizer_stats *stats)
{
	struct object_index *x = calloc(1, sizeof(*x));

	if (x)
		x->stats = stats;
	return x;
}

static void forget_fresh(struct object_index *x)
{
	size_t i;

	for (i = 0; i < x->n_fresh; i++)
		free(x->fresh[i]);
	free(x->fresh);
	x->fresh = NULL;
	x->n_fresh = x->max_fresh = x->memory = 0;
}

void object_index_free(struct object_index *x)
{
	if (!x)
		return;
	forget_fresh(x);
	index_save_release(x->saving);
	index_file_close(x->file);
	free(x->current);
	free(x);
}

static void load(struct object_index *x)
{
	int err;

	index_file_close(x->file);
	x->file = NULL;
	err = index_file_open(x->dir, &x->key, &x->file);
	if (err == -EBADMSG)
		x->stats->index_blocks_refused++;
	else if (err && err != -ENOENT)
		x->stats->index_errors++;
}

void object_index_attach(struct object_index *x, struct index_dir *dir, const struct index_key *key)
{
	x->dir = dir;
	x->key = *key;
	load(x);
	x->stats->index_files_loaded += x->file != NULL;
}

void object_index_save_beside(struct object_index *x, const struct sym_beside *beside)
{
	x->beside = beside;
}

/* How many of the new ones begin at or below the address. */
static size_t count_below(const struct object_index *x, uint64_t address)
{
	return search_past(i, 0, x->n_fresh, x->fresh[i]->low <= address);
}

/* A block that is broken is taken out of the directory, so that it is made again. */
static void drop_entry(struct index_file *f, const struct index_entry *entry)
{
	size_t i = (size_t)(entry - f->entries);

	f->n_entries--;
	memmove(f->entries + i, f->entries + i + 1, (f->n_entries - i) * sizeof(*f->entries));
}

/* NULL: there is none. */
static const struct index_block *read_block(struct object_index *x, uint64_t address)
{
	const struct index_entry *entry;
	int err;

	if (x->current && address >= x->current->low && address < x->current->high)
		return x->current;
	entry = x->file ? index_file_find(x->file, address) : NULL;
	if (!entry)
		return NULL;
	free(x->current);
	x->current = NULL;
	err = index_file_read(x->file, entry, &x->current);
	if (!err) {
		x->stats->index_blocks_used++;
		return x->current;
	}
	if (err == -EBADMSG)
		x->stats->index_blocks_refused++;
	else
		x->stats->index_errors++;
	drop_entry(x->file, entry);
	return NULL;
}

bool object_index_find(struct object_index *x, uint64_t address, struct index_frame *frames, size_t max,
                       size_t *n, enum index_source *source)
{
	size_t below = count_below(x, address);
	const struct index_block *b = below ? x->fresh[below - 1] : NULL;

	if (!b || address >= b->high)
		b = read_block(x, address);
	if (!b)
		return false;
	*n = index_block_find(b, address, frames, max);
	*source = (enum index_source)b->source;
	return true;
}

void object_index_room(const struct object_index *x, uint64_t address, uint64_t *low, uint64_t *high)
{
	const struct index_file *f = x->file;
	size_t from, i = count_below(x, address);

	*low = i ? x->fresh[i - 1]->high : 0;
	*high = i < x->n_fresh ? x->fresh[i]->low : UINT64_MAX;
	from = search_past(at, 0, f ? f->n_entries : 0, f->entries[at].low <= address);
	if (from && f->entries[from - 1].high > *low)
		*low = f->entries[from - 1].high;
	if (f && from < f->n_entries && f->entries[from].low < *high)
		*high = f->entries[from].low;
}

int object_index_add(struct object_index *x, struct index_block *block)
{
	size_t at;

	if (x->n_fresh == MAX_NEW_BLOCKS) {
		forget_fresh(x);
		x->stats->index_errors++;
	}
	at = count_below(x, block->low);
	if (growing_array_reserve((void **)&x->fresh, x->n_fresh + 1, &x->max_fresh,
	                          sizeof(struct index_block *), SIZE_MAX)) {
		free(block);
		return -ENOMEM;
	}
	memmove(x->fresh + at + 1, x->fresh + at, (x->n_fresh - at) * sizeof(struct index_block *));
	x->fresh[at] = block;
	x->n_fresh++;
	x->memory += index_block_size(block);
	return 0;
}

/* Under the lock. */
static int merge(struct object_index *x)
{
	const struct index_blocks blocks = { .block = x->fresh, .n = x->n_fresh, .bytes = x->memory };
	struct index_save_result result = { 0 };
	int err = index_save(x->dir, &x->key, &blocks, &result);

	x->stats->index_blocks_refused += result.refused;
	x->stats->index_files_evicted += result.evicted;
	if (err)
		return err;
	x->stats->index_blocks_saved += x->n_fresh;
	forget_fresh(x);
	load(x);
	return 0;
}

static void note_end(struct object_index *x, int err, int64_t took_ns)
{
	if (err)
		x->stats->index_errors++;
	if (err == -EDQUOT)
		x->dir = NULL; /* what is new alone is too much, and will not become less */
	x->next_save_ns =
	        (int64_t)monotonic_ns() + (took_ns * SAVE_SHARE > SAVE_NS ? took_ns * SAVE_SHARE : SAVE_NS);
}

static bool save_now(struct object_index *x, enum index_save when)
{
	int64_t began = (int64_t)monotonic_ns();
	int err = index_dir_lock(x->dir, when == INDEX_SAVE_LAST);

	if (!err) {
		err = merge(x);
		index_dir_unlock(x->dir);
	} else if (err == -EWOULDBLOCK && when == INDEX_SAVE_IN_TURN) {
		return false;
	}
	note_end(x, err, (int64_t)monotonic_ns() - began);
	return !err;
}

/* Those are on disk now. */
static void forget_saved(struct object_index *x, const struct index_blocks *saved)
{
	size_t from, to = 0, i = 0;

	for (from = 0; from < x->n_fresh; from++) {
		struct index_block *b = x->fresh[from];

		while (i < saved->n && saved->block[i]->low < b->low)
			i++;
		if (i < saved->n && saved->block[i]->low == b->low && saved->block[i]->high == b->high) {
			x->memory -= index_block_size(b);
			free(b);
		} else {
			x->fresh[to++] = b;
		}
	}
	x->n_fresh = to;
}

/* What has been saved beside. */
static void collect(struct object_index *x)
{
	struct index_save_result *result = x->saving ? index_save_done(x->saving) : NULL;

	if (!result)
		return;
	x->stats->index_blocks_refused += result->refused;
	x->stats->index_files_evicted += result->evicted;
	if (!result->err && result->file) {
		x->stats->index_blocks_saved += index_save_blocks(x->saving)->n;
		forget_saved(x, index_save_blocks(x->saving));
		index_file_close(x->file);
		x->file = result->file;
		result->file = NULL;
	}
	if (result->err != -EWOULDBLOCK)
		note_end(x, result->err, result->took_ns);
	index_save_release(x->saving);
	x->saving = NULL;
}

static void save_beside(struct object_index *x, enum index_save when)
{
	const struct index_blocks blocks = { .block = x->fresh, .n = x->n_fresh, .bytes = x->memory };

	if (x->saving && when == INDEX_SAVE_IN_TURN)
		return;
	index_save_release(x->saving);
	x->saving = index_save_begin(x->beside, x->dir, &x->key, &blocks);
	if (!x->saving)
		x->stats->index_errors++;
}

bool object_index_save(struct object_index *x, enum index_save when)
{
	collect(x);
	if (!x->dir || !x->n_fresh ||
	    (when == INDEX_SAVE_IN_TURN && (int64_t)monotonic_ns() < x->next_save_ns))
		return false;
	if (!x->beside)
		return save_now(x, when);
	save_beside(x, when);
	return false;
}

size_t object_index_memory(const struct object_index *x)
{
	return sizeof(*x) + x->memory + x->max_fresh * sizeof(struct index_block *) +
	       (x->file ? x->file->n_entries * sizeof(*x->file->entries) : 0) +
	       (x->current ? index_block_size(x->current) : 0);
}
