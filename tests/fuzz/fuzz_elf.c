/* Fuzzes a mapped file of a hostile process: ELF tables, symbols, DWARF, call frame information. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/cfi/cfi_expression.h"
#include "symbolizer/elf/elf_relocate.h"
#include "symbolizer/object/object.h"

#define MAX_BYTES   ((size_t)64 << 20)
#define ADDRESSES   97
#define MAX_SEGMENT 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_register(void *context, unsigned int reg, uint64_t *value)
{
	(void)context;
	*value = 0x1000u * reg;
	return 0;
}

static int read_memory(void *context, uint64_t address, size_t len, uint64_t *value)
{
	(void)context;
	*value = address ^ len;
	return 0;
}

static void evaluate(const struct cfi_rules *rules)
{
	const struct cfi_environment env = { .read_register = read_register,
		                             .read_memory = read_memory,
		                             .n_registers = CFI_MAX_REGISTERS };
	const struct cfi_rule *rule;
	uint64_t value, cfa = 0x7000;
	int i;

	for (i = -1; i < rules->n_rules; i++) {
		rule = i < 0 ? &rules->cfa : &rules->rules[i];
		if (rule->kind == CFI_EXPRESSION || rule->kind == CFI_VALUE_EXPRESSION)
			cfi_expression_evaluate((const uint8_t *)rules + rule->n, rule->length, &cfa, &env,
			                        &value);
	}
}

static void ask(struct object *o, uint64_t address)
{
	struct object_answer answer;
	const struct cfi_rules *rules;
	size_t i, len = 0;

	if (object_resolve(o, address, &answer))
		for (i = 0; i < answer.n_frames; i++)
			len += strlen(answer.frames[i].function) +
			       (answer.frames[i].file ? strlen(answer.frames[i].file) : 0);
	if (!object_rules(o, address, &rules))
		evaluate(rules);
	if (len == SIZE_MAX)
		abort();
}

/* As of a file by itself: a relocatable one has no segments, and what it has to be corrected by is looked at. */
static void ask_relocatable(struct elf_file *f, struct object *o)
{
	uint64_t start, end;
	uint32_t i;

	for (i = 0; i < ADDRESSES; i++)
		if (elf_file_section_range(f, i, &start, &end))
			ask(o, start + (end - start) / 2);
	if (elf_file_section_range_named(f, ".text", &start, &end))
		ask(o, start);
}

/* As a file that is read: its sections are in memory of their own, which is freed when they are given back. */
static int open_read(const uint8_t *data, size_t size, struct elf_file **out)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (write(fd, data, size) != (ssize_t)size)
		abort();
	return elf_file_open(fd, false, MAX_BYTES, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbolizer_stats stats = { 0 };
	struct object_environment env = { .debug_dir = "/nonexistent",
		                          .max_bytes = MAX_BYTES,
		                          .stats = &stats };
	const struct elf_segment *segments;
	struct elf_file *f;
	struct object *o;
	size_t n, i, j;

	if (open_read(data, size, &f))
		return 0;
	if (elf_file_type(f) == ET_REL && elf_relocate_lay_out(f)) {
		elf_file_close(f);
		return 0;
	}
	o = object_new(&env, f, "/nonexistent", "/nonexistent/fuzzed");
	if (!o)
		abort();
	segments = elf_file_segments(f, &n);
	for (i = 0; i < n && i < MAX_SEGMENT; i++)
		for (j = 0; j < ADDRESSES; j++)
			ask(o, segments[i].vaddr + segments[i].memory_size / ADDRESSES * j + j);
	ask_relocatable(f, o);
	object_free(o);
	return 0;
}
