/*
 * Fuzzes a hostile file's unwind tables and a hostile stack: the compact rows must say what the exact evaluator says,
 * a file that is read in parts what one in memory says, and a walk by them ends.
 *
 * Input: 8 bytes that tell how the rest is cut (struct cut), then .eh_frame, .debug_frame, .eh_frame_hdr, stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/cfi/cfi.h"
#include "symbolizer/cfi/unwind_walk.h"
#include "tests/unit/frame_image.h"

#define MAX_BYTES     ((size_t)64 << 20)
#define MAX_FUNCTIONS 40
#define MAX_ROWS      60
#define MAX_PCS       64
#define STACK         0x7fff0000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cut {
	uint8_t is_aarch64, seed;
	uint16_t eh_frame, debug_frame, hdr; /* lengths */
};

/* How often rules are asked for: more often than it takes for rows to be made. */
#define TIMES 6

static struct cfi *cfi; /* of the file in memory */
static struct cfi *read_cfi;

static bool same_rule(const struct cfi_row *row, const struct cfi_rule *exact, const struct cfi_rules *rules,
                      const struct cfi_rule *compact)
{
	if (compact->kind != exact->kind || compact->reg != exact->reg || compact->length != exact->length)
		return false;
	if (exact->kind == CFI_EXPRESSION || exact->kind == CFI_VALUE_EXPRESSION)
		return !memcmp((const uint8_t *)rules + compact->n, row->expressions + (uint32_t)exact->n,
		               exact->length);
	return compact->n == exact->n;
}

/*
 * What both tables say, by the evaluator and by rows. They were asked for other addresses before, so one may have no room
 * for more rules, or have run too much, and the other has not: -ENOSPC then.
 */
static int rules_of(uint64_t address, const struct cfi_rules **rules)
{
	const struct cfi_rules *read = NULL, *again;
	int i, err = cfi_rules_at(cfi, address, rules), read_err = cfi_rules_at(read_cfi, address, &read),
	       again_err;

	if (err == -ENOSPC || read_err == -ENOSPC)
		return -ENOSPC;
	if (read_err != err)
		abort();
	if (!err &&
	    (read->words != (*rules)->words || memcmp(read, *rules, read->words * sizeof(uint64_t)) != 0))
		abort();
	for (i = 0; i < TIMES; i++) {
		again_err = cfi_rules_at(cfi, address, &again);
		if (again_err != -ENOSPC && (again_err != err || (!err && again != *rules)))
			abort();
		again_err = cfi_rules_at(read_cfi, address, &again);
		if (again_err != -ENOSPC && (again_err != err || (!err && again != read)))
			abort();
	}
	return err;
}

static void compare(uint64_t address)
{
	const struct cfi_rules *rules;
	struct cfi_row row;
	int err = rules_of(address, &rules), i;

	if (err == -ENOSPC)
		return;
	if (cfi_find(cfi, address, &row) != err)
		abort();
	if (err)
		return;
	if (rules->n_rules != row.n_rules || rules->is_signed != row.is_signed ||
	    rules->return_register != row.return_register || !same_rule(&row, &row.cfa, rules, &rules->cfa))
		abort();
	for (i = 0; i < row.n_rules; i++)
		if (!same_rule(&row, &row.rules[i], rules, &rules->rules[i]))
			abort();
}

static void compare_function(uint64_t start)
{
	uint64_t address = start;
	struct cfi_row row;
	int n;

	for (n = 0; n < MAX_ROWS && !cfi_find(cfi, address, &row); n++) {
		if (row.start > address || row.end <= address)
			abort();
		compare(address);
		compare(row.end - 1);
		address = row.end;
	}
	compare(address);
	compare(start - 1);
}

static int find(struct unwind_code *code, uint64_t address, const struct cfi_rules **out, void **owner)
{
	(void)code;
	*owner = cfi;
	return cfi_rules_at(cfi, address, out);
}

/* The same with nothing but steps of all registers, as far as there are rules. */
static void compare_with_steps(const struct cfi_arch *arch, const struct sym_stack *stack,
                               struct unwind_frame frame, const uint64_t *pcs, size_t n)
{
	const struct cfi_rules *rules;
	size_t i = 0;
	int found;

	do {
		if (i == n || pcs[i] != frame.regs[arch->pc])
			abort();
		i++;
		found = cfi_rules_at(cfi, frame.regs[arch->pc] - !frame.is_exact, &rules);
	} while (!found && i < MAX_PCS && !unwind_step(arch, rules, stack, &frame));
	if (found != -ENOENT && found != -ENOSPC && i != n)
		abort();
}

/* By a cold cache and a warm one: the same. */
static void walk(const struct cfi_arch *arch, uint64_t pc, const uint8_t *stack, size_t len)
{
	static struct unwind_cache cache;
	struct unwind_code code = { .arch = arch, .cache = &cache, .version = 1, .find = find };
	const struct sym_stack copy = { .copy = stack, .copy_len = len, .copy_start = STACK };
	uint64_t pcs[2][MAX_PCS];
	enum sym_unwind_end end[2];
	struct unwind_frame frame = { .is_exact = true };
	size_t n[2], i;

	memset(&cache, 0, sizeof(cache));
	for (i = 0; i <= arch->pc; i++)
		frame.regs[i] = STACK + 8 * i;
	frame.regs[arch->pc] = pc;
	frame.regs[arch->sp] = STACK + 16;
	frame.known = ((uint64_t)2 << arch->pc) - 1;
	for (i = 0; i < 2; i++)
		n[i] = unwind_walk(&code, &copy, &frame, pcs[i], MAX_PCS, &end[i]);
	if (n[0] != n[1] || end[0] != end[1] || memcmp(pcs[0], pcs[1], n[0] * sizeof(uint64_t)) != 0)
		abort();
	compare_with_steps(arch, &copy, frame, pcs[0], n[0]);
}

/*
 * Asks while the linker's table has not been checked. A wrong one may say something else of a function that .eh_frame
 * has twice, so this is not compared.
 */
static void ask_before_the_check(void)
{
	static const uint64_t addresses[] = { 0, 0x10000, 0x10010, 0x11000, 0x20000, 0x400000, UINT64_MAX };
	const struct cfi_rules *rules;
	size_t i;

	for (i = 0; i < TIMES * sizeof(addresses) / sizeof(*addresses); i++)
		cfi_rules_at(read_cfi, addresses[i / TIMES], &rules);
}

static void try_all(const struct cfi_arch *arch, const uint8_t *stack, size_t len)
{
	uint64_t address = 0, start;
	int n;

	ask_before_the_check();
	cfi_next_function(read_cfi, 0, &start);
	for (n = 0; n < MAX_FUNCTIONS && cfi_next_function(cfi, address, &start); n++) {
		compare_function(start);
		walk(arch, start, stack, len);
		walk(arch, start + 5, stack, len);
		address = start + 1;
	}
}

static void take(uint16_t wanted, const uint8_t **rest, size_t *left, struct frame_section *out,
                 uint64_t address)
{
	size_t len = wanted < *left ? wanted : *left;

	*out = (struct frame_section){ .data = len ? *rest : NULL, .len = len, .address = address };
	*rest += len;
	*left -= len;
}

static struct elf_file *open_read(const void *image, size_t len)
{
	int fd = memfd_create("frames", MFD_CLOEXEC);
	struct elf_file *file;

	if (write(fd, image, len) != (ssize_t)len || elf_file_open(fd, false, MAX_BYTES, &file))
		abort();
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame_section sections[FRAME_IMAGE_SECTIONS];
	struct frame_image *image;
	struct elf_file *file, *read_file;
	struct cut cut;
	size_t len;

	if (size < sizeof(cut))
		return 0;
	memcpy(&cut, data, sizeof(cut));
	data += sizeof(cut);
	size -= sizeof(cut);
	take(cut.eh_frame, &data, &size, &sections[0], 0x20000);
	take(cut.debug_frame, &data, &size, &sections[1], 0);
	take(cut.hdr, &data, &size, &sections[2], 0x10000);
	image = frame_image_new(cut.is_aarch64 & 1 ? EM_AARCH64 : EM_X86_64, sections, &len);
	if (!image || elf_file_open_image(image, len, MAX_BYTES, &file))
		abort();
	read_file = open_read(image, len);
	if (!cfi_new(file, &cfi)) {
		if (cfi_new(read_file, &read_cfi))
			abort();
		try_all(cut.is_aarch64 & 1 ? &cfi_arch_aarch64 : &cfi_arch_x86_64, data, size);
		cfi_free(cfi);
		cfi_free(read_cfi);
	}
	elf_file_close(file);
	elf_file_close(read_file);
	free(image);
	return 0;
}
