/*
 * Stacks of aarch64 programs, as gdb found them (tests/unit/aarch64/record), replayed: the same tables, rules and
 * steps as for x86-64, with the numbers of another processor.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/cfi/cfi.h"
#include "symbolizer/cfi/unwind_walk.h"
#include "tests/unit/frame_image.h"

#define MAX_PCS   256
#define MAX_STACK 65536
#define MAX_BYTES ((size_t)1 << 20)
#define DATA      "tests/unit/data/aarch64/"

static struct {
	struct frame_image *image; /* of the .eh_frame alone */
	size_t image_len;
	struct elf_file *file;
	struct cfi *cfi;
	uint64_t eh_frame;
	size_t eh_frame_len, n_filled;

	struct unwind_frame frame;
	uint64_t start, trampoline;
	size_t len;
	uint8_t memory[MAX_STACK]; /* the last byte is the stack's last */
	uint8_t trampoline_code[8];
	bool is_caller[MAX_PCS];

	uint64_t expected[MAX_PCS];
	size_t n_expected;
} at;

static void begin_image(uint64_t address, size_t len)
{
	uint8_t *nothing = calloc(1, len);
	const struct frame_section sections[FRAME_IMAGE_SECTIONS] = { { nothing, len, address } };

	assert_non_null(nothing);
	at.image = frame_image_new(EM_AARCH64, sections, &at.image_len);
	assert_non_null(at.image);
	at.eh_frame = address;
	at.eh_frame_len = len;
	free(nothing);
}

/* What was left out reads as a CIE that is nobody's. */
static void fill_gap(size_t from, size_t to)
{
	uint32_t len = (uint32_t)(to - from - 4);

	if (from < to)
		memcpy(at.image->content + from, &len, sizeof(len));
}

static size_t read_hex(const char *text, uint8_t *to, size_t max)
{
	unsigned int byte;
	size_t n = 0;

	for (; n < max && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
		to[n] = (uint8_t)byte;
	return n;
}

static void read_entry(uint64_t address, const char *hex)
{
	fill_gap(at.n_filled, address - at.eh_frame);
	at.n_filled = address - at.eh_frame;
	at.n_filled += read_hex(hex, at.image->content + at.n_filled, at.eh_frame_len - at.n_filled);
}

static void open_table(void)
{
	fill_gap(at.n_filled, at.eh_frame_len);
	assert_int_equal(elf_file_open_image(at.image, at.image_len, MAX_BYTES, &at.file), 0);
	assert_int_equal(cfi_new(at.file, &at.cfi), 0);
}

static int find(struct unwind_code *code, uint64_t address, const struct cfi_rules **out, void **owner)
{
	(void)code;
	*owner = at.cfi;
	return cfi_rules_at(at.cfi, address, out);
}

static int read_code(void *context, uint64_t address, void *buffer, size_t len)
{
	(void)context;
	if (!at.trampoline || address != at.trampoline || len != sizeof(at.trampoline_code))
		return -1;
	memcpy(buffer, at.trampoline_code, len);
	return 0;
}

/* With a cold cache, and then with a warm one. */
static void replay(const char *name)
{
	static struct unwind_cache cache;
	struct unwind_code code = { .arch = &cfi_arch_aarch64, .cache = &cache, .version = 1, .find = find };
	const struct sym_stack stack = { .copy = at.memory + MAX_STACK - at.len,
		                         .copy_len = at.len,
		                         .copy_start = at.start,
		                         .is_caller = at.is_caller,
		                         .read = read_code };
	uint64_t pcs[MAX_PCS];
	enum sym_unwind_end end;
	size_t round, i, n;

	memset(&cache, 0, sizeof(cache));
	for (round = 0; round < 2; round++) {
		n = unwind_walk(&code, &stack, &at.frame, pcs, MAX_PCS, &end);
		for (i = 0; i < n && i < at.n_expected; i++)
			if (pcs[i] != at.expected[i])
				fail_msg("%s: frame %zu is %llx, not %llx", name, i,
				         (unsigned long long)pcs[i], (unsigned long long)at.expected[i]);
		if (n != at.n_expected || end != SYM_UNWIND_COMPLETE)
			fail_msg("%s: %zu frames, not %zu, end %d", name, n, at.n_expected, (int)end);
		for (i = 0; i < n; i++)
			assert_int_equal(at.is_caller[i],
			                 i && pcs[i] != at.trampoline && pcs[i - 1] != at.trampoline);
	}
	at.n_expected = 0;
}

static void read_registers(char *text)
{
	char *end;
	int i;

	for (i = 0; i < CFI_MAX_REGISTERS; i++, text = end)
		at.frame.regs[i] = strtoull(text, &end, 16);
	at.frame.known = ((uint64_t)1 << CFI_MAX_REGISTERS) - 1;
	at.frame.is_exact = true;
}

/* Memory outside the stack is the code that the signal handler returns to. */
static void read_memory(uint64_t address, const char *hex)
{
	uint64_t below_top = at.start + at.len - address;

	if (address >= at.start && address - at.start < at.len) {
		read_hex(hex, at.memory + MAX_STACK - below_top, below_top);
	} else {
		at.trampoline = address;
		assert_int_equal(read_hex(hex, at.trampoline_code, 8), 8);
	}
}

/* From moment to moment the stack's top stays where it is, and memory what it is, but for what is told anew. */
static void begin_stack(uint64_t start, size_t len)
{
	assert_true(len <= MAX_STACK && (!at.len || start + len == at.start + at.len));
	at.start = start;
	at.len = len;
}

/* A line that begins or ends no moment. */
static void read_line(char *line)
{
	unsigned long long address, len;
	int skip;

	if (strncmp(line, "regs ", 5) == 0)
		read_registers(line + 5);
	else if (sscanf(line, "eh_frame %llx %llx", &address, &len) == 2)
		begin_image(address, len);
	else if (sscanf(line, "at %llx %n", &address, &skip) == 1)
		read_entry(address, line + skip);
	else if (sscanf(line, "stack %llx %llx", &address, &len) == 2)
		begin_stack(address, len);
	else if (sscanf(line, "memory %llx %n", &address, &skip) == 1)
		read_memory(address, line + skip);
	else if (sscanf(line, "pc %llx", &address) == 1)
		at.expected[at.n_expected++] = address;
	else if (line[0] != '#')
		fail_msg("what is '%s'?", line);
}

static void replay_file(const char *path)
{
	static char line[8192];
	FILE *file = fopen(path, "r");
	char name[256] = "";

	assert_non_null(file);
	memset(&at, 0, sizeof(at));
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "moment ", 7) != 0 && strcmp(line, "end\n") != 0) {
			read_line(line);
			continue;
		}
		if (!at.cfi)
			open_table();
		else
			replay(name);
		snprintf(name, sizeof(name), "%.100s: %.100s", path, line);
	}
	assert_string_equal(line, "end\n");
	fclose(file);
	cfi_free(at.cfi);
	elf_file_close(at.file);
	free(at.image);
}

static void replay_all(const char *pattern, size_t at_least)
{
	glob_t found;
	size_t i;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= at_least);
	for (i = 0; i < found.gl_pathc; i++)
		replay_file(found.gl_pathv[i]);
	globfree(&found);
}

/* Leaf functions, prologues by the instruction, alloca, qsort's callback, a signal, a thread. */
static void test_unwind_aarch64__by_tables(void **state)
{
	(void)state;
	replay_all(DATA "plain_*.stack", 5);
}

static void test_unwind_aarch64__signed_return_addresses(void **state)
{
	(void)state;
	replay_all(DATA "pac_*.stack", 2);
}

static void test_unwind_aarch64__by_frame_pointer(void **state)
{
	(void)state;
	replay_all(DATA "fp_*.stack", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwind_aarch64__by_tables),
		cmocka_unit_test(test_unwind_aarch64__signed_return_addresses),
		cmocka_unit_test(test_unwind_aarch64__by_frame_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
