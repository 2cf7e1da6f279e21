/* Code that the kernel has made since it was started: a sorted array. */

#include "symbolizer/kernel/kernel_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"

struct kernel_code_range {
	uint64_t start, end;
	char *name;
};

/* Of the first range that ends behind `address`; code->n: none. */
static size_t first_behind(const struct kernel_code *code, uint64_t address)
{
	return search_past(i, 0, code->n, code->ranges[i].end <= address);
}

void kernel_code_remove(struct kernel_code *code, uint64_t start, uint64_t bytes)
{
	uint64_t end = start + bytes < start ? UINT64_MAX : start + bytes;
	size_t first = first_behind(code, start), past = first;

	for (; past < code->n && code->ranges[past].start < end; past++)
		free(code->ranges[past].name);
	if (past == first)
		return;
	memmove(code->ranges + first, code->ranges + past, (code->n - past) * sizeof(*code->ranges));
	code->n -= past - first;
}

int kernel_code_add(struct kernel_code *code, uint64_t start, uint64_t bytes, const char *name)
{
	struct kernel_code_range range = { .start = start, .end = start + bytes };
	void *ranges = code->ranges;
	size_t at;
	int err;

	if (range.end <= start || !*name)
		return -EINVAL;
	kernel_code_remove(code, start, bytes);
	err = growing_array_reserve(&ranges, code->n + 1, &code->room, sizeof(range), KERNEL_CODE_MAX);
	code->ranges = ranges;
	if (err)
		return err;
	range.name = strdup(name);
	if (!range.name)
		return -ENOMEM;
	at = first_behind(code, start);
	memmove(code->ranges + at + 1, code->ranges + at, (code->n - at) * sizeof(range));
	code->ranges[at] = range;
	code->n++;
	return 0;
}

const char *kernel_code_find(const struct kernel_code *code, uint64_t address)
{
	size_t i = first_behind(code, address);

	return i < code->n && address >= code->ranges[i].start ? code->ranges[i].name : NULL;
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
