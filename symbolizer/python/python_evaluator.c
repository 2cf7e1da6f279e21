/* Finds both parts of _PyEval_EvalFrameDefault when the compiler split it in two. */

#include "symbolizer/python/python_evaluator.h"
#include "symbolizer/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CODE_BYTES ((uint64_t)4 << 20) /* the largest evaluator known has 100 KB */
#define MIN_TARGETS    4                   /* by chance, bytes that are no jump have led to one or two */

/* .eh_frame_hdr in the one form that linkers write: a sorted table of int32 pairs from its own address. */
enum {
	HEADER_VERSION = 1,
	HEADER_COUNT_ENCODING = 0x03, /* DW_EH_PE_udata4 */
	HEADER_TABLE_ENCODING = 0x3b, /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
	HEADER_BYTES = 12,
	HEADER_ENTRY_BYTES = 8
};

struct functions {
	struct elf_section header;
	size_t n;
};

/* Jumps of one function into others. */
struct jumps {
	uint64_t *targets; /* each once, after sorting */
	size_t n;
};

static int open_functions(struct elf_file *f, struct functions *out)
{
	uint32_t n;
	int err = elf_file_section(f, ".eh_frame_hdr", &out->header);

	if (err)
		return err;
	if (out->header.len < HEADER_BYTES || out->header.data[0] != HEADER_VERSION ||
	    out->header.data[2] != HEADER_COUNT_ENCODING || out->header.data[3] != HEADER_TABLE_ENCODING)
		return -ENOTSUP;
	memcpy(&n, out->header.data + 8, sizeof(n));
	out->n = (out->header.len - HEADER_BYTES) / HEADER_ENTRY_BYTES;
	if (n < out->n)
		out->n = n;
	return 0;
}

static uint64_t function_start(const struct functions *t, size_t i)
{
	int32_t offset;

	memcpy(&offset, t->header.data + HEADER_BYTES + i * HEADER_ENTRY_BYTES, sizeof(offset));
	return t->header.address + (uint64_t)(int64_t)offset;
}

/* The function that the address is in ends where the next one begins. False: before the first, in the last. */
static bool find_function(const struct functions *t, uint64_t address, struct sym_python_range *out)
{
	size_t low = search_past(i, 0, t->n, function_start(t, i) <= address);

	if (!low || low == t->n)
		return false;
	*out = (struct sym_python_range){ function_start(t, low - 1), function_start(t, low) };
	return true;
}

/* --- jumps -------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Length of the jump with a displacement of 32 bits that these six bytes may begin. 0: none. */
static size_t jump_length(const uint8_t *code)
{
	if (code[0] == 0xe9)
		return 5;
	return code[0] == 0x0f && (code[1] & 0xf0) == 0x80 ? 6 : 0;
}

/* Takes every place for the beginning of an instruction: what that finds too many leads nowhere in particular. */
static void collect_jumps(const uint8_t *code, const struct sym_python_range *self, struct jumps *out)
{
	uint64_t size = self->end - self->start, i, target;
	int32_t displacement;
	size_t length, n = 0;

	for (i = 0; i + 6 <= size; i++) {
		length = jump_length(code + i);
		if (!length)
			continue;
		memcpy(&displacement, code + i + length - 4, sizeof(displacement));
		target = self->start + i + length + (uint64_t)(int64_t)displacement;
		if (target < self->start || target >= self->end)
			out->targets[n++] = target;
	}
	qsort(out->targets, n, sizeof(*out->targets), by_address);
	for (i = 0, out->n = 0; i < n; i++)
		if (!i || out->targets[i] != out->targets[i - 1])
			out->targets[out->n++] = out->targets[i];
}

/* Targets are sorted, so those in one function stand together. */
static void most_jumped_to(const struct functions *t, const struct jumps *jumps, struct sym_python_range *out)
{
	struct sym_python_range at;
	size_t i, from, most = MIN_TARGETS - 1;

	for (i = 0; i < jumps->n;) {
		from = i++;
		if (!find_function(t, jumps->targets[from], &at))
			continue;
		while (i < jumps->n && jumps->targets[i] < at.end)
			i++;
		if (i - from > most) {
			most = i - from;
			*out = at;
		}
	}
}

static int find_other_part(struct elf_file *f, const uint8_t *code, const struct sym_python_range *self,
                           struct sym_python_range *out)
{
	struct functions functions;
	struct jumps jumps;
	int err = open_functions(f, &functions);

	if (err)
		return err;
	jumps.targets = malloc((self->end - self->start) * sizeof(*jumps.targets));
	if (!jumps.targets)
		return -ENOMEM;
	collect_jumps(code, self, &jumps);
	most_jumped_to(&functions, &jumps, out);
	free(jumps.targets);
	return 0;
}

void python_evaluator_ranges(struct elf_file *f, uint64_t start, uint64_t size,
                             struct sym_python_range out[SYM_PYTHON_EVALUATOR_RANGES])
{
	uint8_t *code;

	out[0] = (struct sym_python_range){ start, start + size };
	out[1] = (struct sym_python_range){ 0 };
	if (!size || size > MAX_CODE_BYTES || start + size < start)
		return;
	code = malloc(size);
	if (code && !elf_file_read_at(f, start, code, size))
		find_other_part(f, code, &out[0], &out[1]);
	free(code);
}
