/* Interning table: a uthash of byte records, each stored once and numbered. */

#include "pprof/pprof_intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without memory uthash would end the process; told not to, it calls this and leaves the record out. */
#define HASH_NONFATAL_OOM           1
#define uthash_nonfatal_oom(record) ((record)->left_out = true)
#include <uthash.h>

enum {
	RECORD_MAX = 1 << 30,
	/* uthash keeps at most 10 records a bucket on average, but doubles: so up to a bucket a record. */
	BUCKET_BYTES = sizeof(UT_hash_bucket),
};

struct pprof_record {
	UT_hash_handle hh;
	uint32_t number;
	bool left_out;
	uint64_t bytes[];
};

static unsigned int hash_of(const void *bytes, size_t len)
{
	unsigned int hash;

	HASH_VALUE(bytes, len, hash);
	return hash;
}

static struct pprof_record *find(const struct pprof_intern *t, const void *bytes, size_t len,
                                 unsigned int hash)
{
	struct pprof_record *r = NULL;

	HASH_FIND_BYHASHVALUE(hh, t->hash, bytes, len, hash, r);
	return r;
}

static struct pprof_record *record_new(struct pprof_intern *t, const void *bytes, size_t len)
{
	struct pprof_record **records, *r;

	records = pprof_arena_grow(t->arena, t->records, &t->capacity, t->n + 1, sizeof(*records));
	if (!records)
		return NULL;
	t->records = records;
	if (pprof_arena_charge(t->arena, BUCKET_BYTES) < 0) {
		errno = ENOSPC;
		return NULL;
	}
	r = pprof_arena_alloc(t->arena, sizeof(*r) + len);
	if (!r)
		return NULL;
	memcpy(r->bytes, bytes, len);
	r->number = (uint32_t)t->n;
	return r;
}

int64_t pprof_intern_add(struct pprof_intern *t, const void *bytes, size_t len, bool *is_new)
{
	bool unused;

	is_new = is_new ? is_new : &unused;
	*is_new = false;
	if (len > RECORD_MAX || t->n == UINT32_MAX)
		return -E2BIG;

	unsigned int hash = hash_of(bytes, len);
	struct pprof_record *r = find(t, bytes, len, hash);

	if (r)
		return r->number;
	r = record_new(t, bytes, len);
	if (!r)
		return -errno;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, t->hash, r->bytes, len, hash, r);
	if (r->left_out)
		return -ENOMEM;
	t->records[t->n++] = r;
	*is_new = true;
	return r->number;
}

int64_t pprof_intern_find(const struct pprof_intern *t, const void *bytes, size_t len)
{
	const struct pprof_record *r = len > RECORD_MAX ? NULL : find(t, bytes, len, hash_of(bytes, len));

	return r ? (int64_t)r->number : -ENOENT;
}

const void *pprof_intern_get(const struct pprof_intern *t, size_t i)
{
	return t->records[i]->bytes;
}

size_t pprof_intern_number(const void *bytes)
{
	const struct pprof_record *r =
	        (const void *)((const char *)bytes - offsetof(struct pprof_record, bytes));

	return r->number;
}

void pprof_intern_free(struct pprof_intern *t)
{
	HASH_CLEAR(hh, t->hash);
	free(t->records);
	t->records = NULL;
	t->n = t->capacity = 0;
}
