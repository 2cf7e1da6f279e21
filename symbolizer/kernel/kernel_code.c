/* Code that the kernel has made since it was started: a sorted array. */

#include "symbolizer/kernel/kernel_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"

#define PAGE 4096

struct kernel_code_range {
	uint64_t start, end;
	char *name;
	bool is_rounded;
};

/* Of the first range that begins at `address` or behind it; code->n: none. */
static size_t first_from(const struct kernel_code *code, uint64_t address)
{
	return search_past(i, 0, code->n, code->ranges[i].start < address);
}

void kernel_code_remove(struct kernel_code *code, uint64_t start)
{
	size_t at = first_from(code, start);

	if (at == code->n || code->ranges[at].start != start)
		return;
	free(code->ranges[at].name);
	code->n--;
	memmove(code->ranges + at, code->ranges + at + 1, (code->n - at) * sizeof(*code->ranges));
}

static int make_room(struct kernel_code *code)
{
	void *ranges = code->ranges;
	int err = growing_array_reserve(&ranges, code->n + 1, &code->room, sizeof(*code->ranges),
	                                KERNEL_CODE_MAX);

	code->ranges = ranges;
	return err;
}

int kernel_code_add(struct kernel_code *code, uint64_t start, uint64_t bytes, const char *name)
{
	struct kernel_code_range range = { .start = start,
		                           .end = start + bytes,
		                           .is_rounded = bytes == PAGE };
	size_t at;
	int err;

	if (range.end <= start || !*name)
		return -EINVAL;
	kernel_code_remove(code, start);
	err = make_room(code);
	if (err)
		return err;
	range.name = strdup(name);
	if (!range.name)
		return -ENOMEM;
	at = first_from(code, start);
	if (at && code->ranges[at - 1].end > start)
		code->ranges[at - 1].end = start;
	if (at < code->n && code->ranges[at].start < range.end)
		range.end = code->ranges[at].start;
	memmove(code->ranges + at + 1, code->ranges + at, (code->n - at) * sizeof(range));
	code->ranges[at] = range;
	code->n++;
	return 0;
}

bool kernel_code_find(const struct kernel_code *code, uint64_t address, struct kernel_code_hit *hit)
{
	size_t behind = search_past(i, 0, code->n, code->ranges[i].start <= address);
	const struct kernel_code_range *range = behind ? &code->ranges[behind - 1] : NULL;

	if (!range || address >= range->end)
		return false;
	*hit = (struct kernel_code_hit){ range->name, range->start, range->is_rounded };
	return true;
}

void kernel_code_free(struct kernel_code *code)
{
	for (size_t i = 0; i < code->n; i++)
		free(code->ranges[i].name);
	free(code->ranges);
	*code = (struct kernel_code){ 0 };
}

size_t kernel_code_memory(const struct kernel_code *code)
{
	size_t bytes = code->room * sizeof(*code->ranges);

	for (size_t i = 0; i < code->n; i++)
		bytes += strlen(code->ranges[i].name) + 1;
	return bytes;
}
