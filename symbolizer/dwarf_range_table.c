#include "symbolizer/dwarf_range_table.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_RANGES (1 << 24)

struct reading {
	struct dwarf_range_table *table;
	struct elf_file *file;
	uint32_t unit;
};

static int add_range(uint64_t low, uint64_t high, void *context)
{
	struct reading *r = context;
	struct dwarf_range_table *t = r->table;
	struct dwarf_unit_range *bigger;
	size_t more;

	if (!low || !elf_file_executable(r->file, low))
		return 0;
	if (t->n == t->max) {
		more = t->max ? t->max * 2 : 256;
		bigger = more > MAX_RANGES ? NULL : realloc(t->ranges, more * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		t->ranges = bigger;
		t->max = more;
	}
	t->ranges[t->n++] = (struct dwarf_unit_range){ low, high, r->unit };
	return 0;
}

static int compare_lows(const void *a, const void *b)
{
	const struct dwarf_unit_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

uint64_t dwarf_range_table_read(struct dwarf_range_table *t, const struct dwarf_info *d, struct elf_file *f)
{
	struct reading r = { .table = t, .file = f };
	const struct dwarf_unit *u;
	uint64_t errors = 0;

	for (; r.unit < d->n_units; r.unit++) {
		u = &d->units[r.unit];
		if (dwarf_each_range(d, u, &u->root_low_pc, &u->root_high_pc, &u->root_ranges, add_range, &r))
			errors++;
	}
	if (t->n)
		qsort(t->ranges, t->n, sizeof(*t->ranges), compare_lows);
	return errors;
}

void dwarf_range_table_free(struct dwarf_range_table *t)
{
	free(t->ranges);
	*t = (struct dwarf_range_table){ 0 };
}

size_t dwarf_range_table_below(const struct dwarf_range_table *t, uint64_t address)
{
	size_t low = 0, high = t->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->ranges[mid].low <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
