/* An open-addressing hash table from addresses to numbers of 32 bits. */

#include "symbolizer/base/address_map.h"

#include <errno.h>
#include <stdlib.h>

#define FREE UINT32_MAX

struct address_bucket {
	uint64_t address;
	uint32_t value; /* FREE: nothing here */
};

static size_t bucket_of(const struct address_map *m, uint64_t address)
{
	uint64_t h = address * 0x9e3779b97f4a7c15u;
	size_t i = (h ^ h >> 32) & (m->n_buckets - 1);

	while (m->buckets[i].value != FREE && m->buckets[i].address != address)
		i = (i + 1) & (m->n_buckets - 1);
	return i;
}

bool address_map_get(const struct address_map *m, uint64_t address, uint32_t *value)
{
	size_t i;

	if (!m->n_buckets)
		return false;
	i = bucket_of(m, address);
	*value = m->buckets[i].value;
	return *value != FREE;
}

static int grow(struct address_map *m)
{
	struct address_map bigger = { .n_buckets = m->n_buckets ? m->n_buckets * 2 : 256,
		                      .n_used = m->n_used };
	size_t i;

	bigger.buckets = malloc(bigger.n_buckets * sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return -ENOMEM;
	for (i = 0; i < bigger.n_buckets; i++)
		bigger.buckets[i].value = FREE;
	for (i = 0; i < m->n_buckets; i++)
		if (m->buckets[i].value != FREE)
			bigger.buckets[bucket_of(&bigger, m->buckets[i].address)] = m->buckets[i];
	free(m->buckets);
	*m = bigger;
	return 0;
}

int address_map_put(struct address_map *m, uint64_t address, uint32_t value, size_t max)
{
	size_t i;
	int err;

	if (m->n_used * 4 >= m->n_buckets * 3) {
		err = grow(m);
		if (err)
			return err;
	}
	i = bucket_of(m, address);
	if (m->buckets[i].value == FREE) {
		if (m->n_used >= max)
			return -ENOSPC;
		m->n_used++;
	}
	m->buckets[i] = (struct address_bucket){ .address = address, .value = value };
	return 0;
}

void address_map_clear(struct address_map *m)
{
	free(m->buckets);
	*m = (struct address_map){ 0 };
}

size_t address_map_memory(const struct address_map *m)
{
	return m->n_buckets * sizeof(*m->buckets);
}
