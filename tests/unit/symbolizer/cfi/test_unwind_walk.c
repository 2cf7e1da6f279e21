/* Tests of unwind_walk.h with made-up tables, for cases that are rare in real programs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "symbolizer/cfi/cfi.h"
#include "symbolizer/cfi/unwind_walk.h"
#include "tests/unit/frame_image.h"

enum { RBX = 3, RSP = 7, RIP = 16 };

/* Functions of 256 bytes each. */
#define PLAIN     0x10000
#define BY_RBX    0x20000
#define OUTERMOST 0x30000
#define STACK     0x7000
#define N_STACK   16

/* "zR", code by 1, data by -8, return address in column 16; CFA = rsp + 8, return address at CFA - 8. */
static const uint8_t cie[] = { 20, 0,    0,  0, 0, 0,    0, 0, 1,    'z', 'R', 0,
	                       1,  0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1,   0,   0 };

/* An FDE with absolute addresses and up to 7 bytes of instructions. */
struct fde {
	uint32_t length, cie;
	uint64_t start, size;
	uint8_t augmentation, instructions[7];
};

static struct cfi *cfi;
static uint64_t version;

static void add_fde(uint8_t *section, size_t *used, uint64_t start, const char *instructions, size_t n)
{
	struct fde fde = {
		.length = sizeof(fde) - 4, .cie = (uint32_t)*used + 4, .start = start, .size = 256
	};

	memcpy(fde.instructions, instructions, n);
	memcpy(section + *used, &fde, sizeof(fde));
	*used += sizeof(fde);
}

static struct frame_image *make_image(size_t *len)
{
	static uint8_t eh_frame[sizeof(cie) + 3 * sizeof(struct fde)];
	size_t used = sizeof(cie);
	const struct frame_section sections[FRAME_IMAGE_SECTIONS] = { { eh_frame, sizeof(eh_frame),
		                                                        0x1000 } };

	memcpy(eh_frame, cie, sizeof(cie));
	add_fde(eh_frame, &used, PLAIN, "\x83\x02\x0e\x10", 4); /* rbx at CFA - 16, CFA = rsp + 16 */
	add_fde(eh_frame, &used, BY_RBX, "\x0c\x03\x10", 3);    /* CFA = rbx + 16 */
	add_fde(eh_frame, &used, OUTERMOST, "\x07\x10", 2);     /* no return address */
	return frame_image_new(EM_X86_64, sections, len);
}

static int find(struct unwind_code *code, uint64_t address, const struct cfi_rules **out, void **owner)
{
	(void)code;
	*owner = cfi;
	return cfi_rules_at(cfi, address, out);
}

/*
 * An address of a frame by rbx that has the same slot of the cache as the plain frame before it: when the registers
 * of that one are worked out late, its rules take the slot.
 */
static uint64_t colliding_with(struct unwind_cache *cache, uint64_t address)
{
	uint64_t at;

	for (at = BY_RBX + 1; at < BY_RBX + 256; at++)
		if (unwind_cache_slot(cache, at, version) == unwind_cache_slot(cache, address, version))
			return at;
	return 0;
}

static void walk_with(uint64_t inner, uint64_t outer, struct unwind_cache *cache)
{
	/* rbx and return address of the plain frame, then the frame that rbx points to. */
	uint64_t stack[N_STACK] = { [0] = STACK + 64, [1] = outer + 1, [9] = OUTERMOST + 6 }, pcs[8];
	const struct sym_stack copy = { .copy = stack, .copy_len = sizeof(stack), .copy_start = STACK };
	struct unwind_code code = {
		.arch = &cfi_arch_x86_64, .cache = cache, .version = version, .find = find
	};
	struct unwind_frame frame = { .is_exact = true };
	enum sym_unwind_end end;
	int round;

	frame.regs[RIP] = inner;
	frame.regs[RSP] = STACK;
	frame.known = ((uint64_t)1 << 17) - 1;
	for (round = 0; round < 3; round++) {
		assert_int_equal(unwind_walk(&code, &copy, &frame, pcs, 8, &end), 3);
		assert_int_equal(end, SYM_UNWIND_COMPLETE);
		assert_true(pcs[0] == inner && pcs[1] == outer + 1 && pcs[2] == OUTERMOST + 6);
	}
}

static void test_unwind_walk__registers_worked_out_late(void **state)
{
	static struct unwind_cache cache;

	(void)state;
	memset(&cache, 0, sizeof(cache));
	walk_with(PLAIN + 4, BY_RBX + 9, &cache);
}

static void test_unwind_walk__two_addresses_for_one_slot(void **state)
{
	static struct unwind_cache cache;
	uint64_t inner, outer = 0;

	(void)state;
	memset(&cache, 0, sizeof(cache));
	for (inner = PLAIN; inner < PLAIN + 256 && !outer; inner++)
		outer = colliding_with(&cache, inner);
	assert_true(outer);
	walk_with(inner - 1, outer, &cache);
}

/*
 * A call that never returns may be the last instruction of its function: what it would return to is behind that, in
 * nothing here. The frame of a signal's handler is none of that kind: its pc is an instruction that was reached.
 */
static void test_unwind_walk__call_at_the_end_of_a_function(void **state)
{
	static struct unwind_cache cache;
	const uint64_t stack[N_STACK] = { [1] = PLAIN + 256, [3] = OUTERMOST + 6 };
	bool is_caller[8] = { true };
	uint64_t pcs[8];
	const struct sym_stack copy = {
		.copy = stack, .copy_len = sizeof(stack), .copy_start = STACK, .is_caller = is_caller
	};
	struct unwind_code code = {
		.arch = &cfi_arch_x86_64, .version = version, .find = find, .cache = &cache
	};
	struct unwind_frame frame = { .is_exact = true, .known = ((uint64_t)1 << 17) - 1 };
	enum sym_unwind_end end;

	(void)state;
	memset(&cache, 0, sizeof(cache));
	frame.regs[RIP] = PLAIN + 8;
	frame.regs[RSP] = STACK;
	for (int round = 0; round < 2; round++) { /* by tables, then by the cache */
		assert_int_equal(unwind_walk(&code, &copy, &frame, pcs, 8, &end), 3);
		assert_int_equal(end, SYM_UNWIND_COMPLETE);
		assert_int_equal(pcs[1], PLAIN + 256);
		assert_int_equal(pcs[2], OUTERMOST + 6);
		assert_false(is_caller[0]);
		assert_true(is_caller[1] && is_caller[2]);
	}
	frame.regs[RIP] = PLAIN + 256; /* where no function is: it is not a return address */
	assert_int_equal(unwind_walk(&code, &copy, &frame, pcs, 8, &end), 1);
	assert_int_equal(end, SYM_UNWIND_NO_CFI);
}

/* As many as there is room for, which is no error, but not the whole stack. */
static void test_unwind_walk__room(void **state)
{
	static struct unwind_cache cache;
	uint64_t stack[N_STACK], pcs[5] = { 0 };
	const struct sym_stack copy = { .copy = stack, .copy_len = sizeof(stack), .copy_start = STACK };
	struct unwind_code code = {
		.arch = &cfi_arch_x86_64, .version = version, .find = find, .cache = &cache
	};
	struct unwind_frame frame = { .is_exact = true, .known = ((uint64_t)1 << 17) - 1 };
	enum sym_unwind_end end;

	(void)state;
	memset(&cache, 0, sizeof(cache));
	for (int i = 0; i < N_STACK; i++)
		stack[i] = PLAIN + 8;
	frame.regs[RIP] = PLAIN + 8;
	frame.regs[RSP] = STACK;
	for (size_t room = 1; room <= 4; room++) {
		for (int round = 0; round < 2; round++) {
			assert_int_equal(unwind_walk(&code, &copy, &frame, pcs, room, &end), room);
			assert_int_equal(end, SYM_UNWIND_TRUNCATED);
			assert_int_equal(pcs[room], 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwind_walk__registers_worked_out_late),
		cmocka_unit_test(test_unwind_walk__two_addresses_for_one_slot),
		cmocka_unit_test(test_unwind_walk__call_at_the_end_of_a_function),
		cmocka_unit_test(test_unwind_walk__room),
	};
	struct frame_image *image;
	struct elf_file *file;
	size_t len;
	int failed;

	version = 1;
	image = make_image(&len);
	if (!image || elf_file_open_image(image, len, 1 << 20, &file) || cfi_new(file, &cfi))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	cfi_free(cfi);
	elf_file_close(file);
	free(image);
	return failed;
}
