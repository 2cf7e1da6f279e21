/* An open-addressing hash table from addresses to numbers of 32 bits. */

#include "symbolizer/base/address_map.h"

#include <errno.h>
#include <stdlib.h>

#define FREE UINT32_MAX

struct address_slot {
	uint64_t address;
	uint32_t value; /* FREE: nothing here */
};

static size_t slot_of(const struct address_map *m, uint64_t address)
{
	uint64_t h = address * 0x9e3779b97f4a7c15u;
	size_t i = (h ^ h >> 32) & (m->n_slots - 1);

	while (m->slots[i].value != FREE && m->slots[i].address != address)
		i = (i + 1) & (m->n_slots - 1);
	return i;
}

bool address_map_get(const struct address_map *m, uint64_t address, uint32_t *value)
{
	size_t i;

	if (!m->n_slots)
		return false;
	i = slot_of(m, address);
	*value = m->slots[i].value;
	return *value != FREE;
}

static int grow(struct address_map *m)
{
	struct address_map bigger = { .n_slots = m->n_slots ? m->n_slots * 2 : 256, .n_used = m->n_used };
	size_t i;

	bigger.slots = malloc(bigger.n_slots * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < bigger.n_slots; i++)
		bigger.slots[i].value = FREE;
	for (i = 0; i < m->n_slots; i++)
		if (m->slots[i].value != FREE)
			bigger.slots[slot_of(&bigger, m->slots[i].address)] = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int address_map_put(struct address_map *m, uint64_t address, uint32_t value, size_t max)
{
	size_t i;
	int err;

	if (m->n_used * 4 >= m->n_slots * 3) {
		err = grow(m);
		if (err)
			return err;
	}
	i = slot_of(m, address);
	if (m->slots[i].value == FREE) {
		if (m->n_used >= max)
			return -ENOSPC;
		m->n_used++;
	}
	m->slots[i] = (struct address_slot){ .address = address, .value = value };
	return 0;
}

void address_map_clear(struct address_map *m)
{
	free(m->slots);
	*m = (struct address_map){ 0 };
}

size_t address_map_memory(const struct address_map *m)
{
	return m->n_slots * sizeof(*m->slots);
}
