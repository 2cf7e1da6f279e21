/* Interned strings: a hash table that keeps each string once, within a bound on memory. */

#include "symbolizer/base/intern.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"

struct entry {
	const char *string;
	uint32_t hash, len;
};

struct intern {
	struct arena strings;
	struct entry *buckets; /* open addressing; string NULL: free */
	size_t n_buckets;      /* a power of two */
	size_t n_used;
	size_t max_bytes;
	uint64_t n_refused;
};

struct intern *intern_new(size_t max_bytes)
{
	struct intern *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->n_buckets = 64;
	t->max_bytes = max_bytes;
	t->buckets = calloc(t->n_buckets, sizeof(*t->buckets));
	if (!t->buckets) {
		free(t);
		errno = ENOMEM;
		return NULL;
	}
	return t;
}

void intern_free(struct intern *t)
{
	if (!t)
		return;
	arena_free(&t->strings);
	free(t->buckets);
	free(t);
}

size_t intern_memory(const struct intern *t)
{
	return t->strings.bytes + t->n_buckets * sizeof(*t->buckets);
}

uint64_t intern_refused(const struct intern *t)
{
	return t->n_refused;
}

/* FNV-1a over eight bytes at a time, then the rest. */
static uint32_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u ^ len, word;

	for (; len >= 8; s += 8, len -= 8) {
		memcpy(&word, s, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (; len; s++, len--)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	h ^= h >> 32;
	return (uint32_t)(h * 0x9e3779b1u);
}

static struct entry *find_bucket(const struct intern *t, const char *s, size_t len, uint32_t hash)
{
	size_t i = hash & (t->n_buckets - 1);

	for (; t->buckets[i].string; i = (i + 1) & (t->n_buckets - 1))
		if (t->buckets[i].hash == hash && t->buckets[i].len == len &&
		    memcmp(t->buckets[i].string, s, len) == 0)
			break;
	return &t->buckets[i];
}

static int grow(struct intern *t)
{
	struct entry *old = t->buckets;
	size_t i, j, n = t->n_buckets * 2;
	struct entry *buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (i = 0; i < t->n_buckets; i++) {
		if (!old[i].string)
			continue;
		for (j = old[i].hash & (n - 1); buckets[j].string; j = (j + 1) & (n - 1))
			;
		buckets[j] = old[i];
	}
	free(old);
	t->buckets = buckets;
	t->n_buckets = n;
	return 0;
}

static const char *refuse(struct intern *t)
{
	t->n_refused++;
	return INTERN_FULL;
}

/* How much of a string of that length is kept. */
static size_t kept_length(const char *s, size_t len)
{
	size_t cut = INTERN_MAX_LENGTH;

	if (len <= cut)
		return len;
	/* Not within a character, of which up to three bytes follow the first. */
	while (INTERN_MAX_LENGTH - cut < 3 && ((unsigned char)s[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

const char *intern_bytes(struct intern *t, const char *s, size_t len)
{
	struct entry *bucket;
	uint32_t hash;
	char *copy;

	len = kept_length(s, len);
	hash = hash_bytes(s, len);
	bucket = find_bucket(t, s, len, hash);
	if (bucket->string)
		return bucket->string;
	if (intern_memory(t) + len >= t->max_bytes)
		return refuse(t);
	if (t->n_used * 4 >= t->n_buckets * 3) {
		if (grow(t))
			return refuse(t);
		bucket = find_bucket(t, s, len, hash);
	}
	copy = arena_alloc(&t->strings, len + 1);
	if (!copy)
		return refuse(t);
	memcpy(copy, s, len);
	copy[len] = 0;
	*bucket = (struct entry){ .string = copy, .hash = hash, .len = (uint32_t)len };
	t->n_used++;
	return copy;
}

const char *intern_string(struct intern *t, const char *s)
{
	return intern_bytes(t, s, strlen(s));
}
