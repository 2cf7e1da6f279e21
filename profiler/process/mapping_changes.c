/* Holds mappings back until the symbols of a process are asked for at a time after them. */

#include "profiler/process/mapping_changes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/symbolizer.h"

static bool is_covered_later(const struct mapping_changes *changes, size_t i)
{
	const struct exec_mapping *mapping = &changes->change[i].mapping;

	for (size_t k = i + 1; k < changes->n; k++)
		if (changes->change[k].mapping.start < mapping->end &&
		    mapping->start < changes->change[k].mapping.end)
			return true;
	return false;
}

static void tell(struct sym_process *sym, const struct exec_mapping *mapping, bool covered)
{
	if (covered)
		symbolizer_process_map(sym, mapping->start, mapping->end, mapping->pgoff, mapping->dev_major,
		                       mapping->dev_minor, mapping->inode, mapping->path);
	else
		symbolizer_process_mapped(sym, mapping->start, mapping->end, mapping->pgoff,
		                          mapping->dev_major, mapping->dev_minor, mapping->inode,
		                          mapping->path);
}

static void drop_first(struct mapping_changes *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((char *)changes->change[i].mapping.path);
	changes->n -= n;
	memmove(changes->change, changes->change + n, changes->n * sizeof(changes->change[0]));
}

void mapping_changes_apply(struct mapping_changes *changes, struct sym_process *sym, uint64_t until_ns)
{
	size_t n = 0;

	for (; n < changes->n && changes->change[n].at_ns <= until_ns; n++)
		tell(sym, &changes->change[n].mapping, is_covered_later(changes, n));
	drop_first(changes, n);
}

void mapping_changes_add(struct mapping_changes *changes, struct sym_process *sym,
                         const struct exec_mapping *mapping, uint64_t at_ns)
{
	char *path = strdup(mapping->path);

	if (changes->n == MAPPING_CHANGES_MAX || !path)
		mapping_changes_apply(changes, sym, UINT64_MAX);
	if (!path) {
		tell(sym, mapping, false);
		return;
	}
	changes->change[changes->n] = (struct mapping_change){ .at_ns = at_ns, .mapping = *mapping };
	changes->change[changes->n++].mapping.path = path;
}

void mapping_changes_drop(struct mapping_changes *changes)
{
	drop_first(changes, changes->n);
}
