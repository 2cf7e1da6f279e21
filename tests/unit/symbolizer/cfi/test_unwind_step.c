/* Tests of unwind_step.h: one frame to its caller, by made-up rules and stacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "symbolizer/cfi/unwind_step.h"

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16, X0 = 0, FP = 29, LR = 30, SP = 31, PC = 32 };

#define STACK 0x7000ULL
#define WORDS 16

static struct cfi_rule_pool pool;
static uint64_t stack[WORDS];
static struct sym_stack copy;
static struct unwind_frame frame;

static int begin(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	copy = (struct sym_stack){ .copy = stack, .copy_len = sizeof(stack), .copy_start = STACK };
	frame = (struct unwind_frame){ .known = (2ULL << PC) - 1 };
	frame.regs[RSP] = frame.regs[SP] = STACK;
	return 0;
}

static int end(void **state)
{
	(void)state;
	cfi_rule_pool_free(&pool);
	pool = (struct cfi_rule_pool){ 0 };
	return 0;
}

/* CFA = reg + n. */
static struct cfi_row row_of(uint8_t reg, int32_t n, uint8_t return_register)
{
	return (struct cfi_row){ .cfa = { .kind = CFI_OFFSET, .reg = reg, .n = n },
		                 .return_register = return_register };
}

/* Rules have to be added by register. */
static void add(struct cfi_row *row, enum cfi_kind kind, uint8_t reg, int32_t n)
{
	row->rules[row->n_rules++] = (struct cfi_rule){ .kind = (uint8_t)kind, .reg = reg, .n = n };
}

static int step(const struct cfi_arch *arch, const struct cfi_row *row)
{
	uint32_t id;

	assert_int_equal(cfi_rule_pool_add(&pool, arch, row, &id), 0);
	return unwind_step(arch, pool.by_id[id], &copy, &frame);
}

static bool is_known(unsigned int reg)
{
	return frame.known >> reg & 1;
}

/* A function that has pushed rbx: CFA = rsp + 16. */
static void test_unwind_step__plain(void **state)
{
	struct cfi_row row = row_of(RSP, 16, RIP);

	(void)state;
	add(&row, CFI_OFFSET, RBX, -16);
	add(&row, CFI_OFFSET, RIP, -8);
	stack[0] = 0xbb;
	stack[1] = 0x401234;
	frame.is_exact = true;
	assert_int_equal(step(&cfi_arch_x86_64, &row), UNWIND_STEPPED);
	assert_int_equal(frame.regs[RIP], 0x401234);
	assert_int_equal(frame.regs[RSP], STACK + 16);
	assert_int_equal(frame.regs[RBX], 0xbb);
	assert_false(frame.is_exact);
	assert_int_equal(step(&cfi_arch_x86_64, &row),
	                 UNWIND_START_OF_THREAD); /* the return address there is 0 */
}

/* The copy ends within what is needed, at its end and at its begin: the frame is as it was. */
static void test_unwind_step__what_was_not_copied(void **state)
{
	struct cfi_row row = row_of(RSP, 16, RIP);

	(void)state;
	add(&row, CFI_OFFSET, RIP, -8);
	stack[1] = 0x401234;
	copy.copy_len = 15;
	assert_int_equal(step(&cfi_arch_x86_64, &row), -EFAULT);
	assert_int_equal(frame.regs[RSP], STACK);
	copy.copy_len = 16;
	assert_int_equal(step(&cfi_arch_x86_64, &row), UNWIND_STEPPED);
	frame.regs[RSP] = STACK - 16;
	assert_int_equal(step(&cfi_arch_x86_64, &row), -EFAULT);
	assert_int_equal(frame.regs[RSP], STACK - 16);
}

/* A caller is further up the stack: rules that lead down, or leave it where it is, are broken ones, and would be followed for ever. */
static void test_unwind_step__callers_are_further_up(void **state)
{
	static const int32_t offsets[] = { 0, -8, -16 };

	(void)state;
	frame.regs[RSP] = STACK + 64;
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = 0x401234;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		struct cfi_row row = row_of(RSP, offsets[i], RIP);

		add(&row, CFI_OFFSET, RIP, -8);
		assert_int_equal(step(&cfi_arch_x86_64, &row), -EBADMSG);
		assert_int_equal(frame.regs[RSP], STACK + 64);
		assert_int_equal(frame.regs[RIP], 0);
	}
}

/* But that a signal interrupted may be on another stack; and its pc is no return address. */
static void test_unwind_step__signal(void **state)
{
	struct cfi_row row = row_of(RSP, 0, RIP);

	(void)state;
	frame.regs[RSP] = STACK + 64;
	row.is_signal = true;
	add(&row, CFI_OFFSET, RSP, -8);
	add(&row, CFI_OFFSET, RIP, -16);
	stack[6] = 0x401234;
	stack[7] = STACK + 8;
	assert_int_equal(step(&cfi_arch_x86_64, &row), UNWIND_STEPPED);
	assert_int_equal(frame.regs[RIP], 0x401234);
	assert_int_equal(frame.regs[RSP], STACK + 8);
	assert_true(frame.is_exact);
}

/* A leaf of aarch64 has its return address in the link register, and no frame: but only the innermost, or one that was interrupted. */
static void test_unwind_step__leaf(void **state)
{
	struct cfi_row row = row_of(SP, 0, LR);

	(void)state;
	frame.regs[LR] = 0x401234;
	frame.is_exact = true;
	assert_int_equal(step(&cfi_arch_aarch64, &row), UNWIND_STEPPED);
	assert_int_equal(frame.regs[PC], 0x401234);
	assert_int_equal(frame.regs[SP], STACK);
	assert_false(frame.is_exact);
	assert_int_equal(step(&cfi_arch_aarch64, &row), -EBADMSG); /* it would be its own caller */
}

static void test_unwind_step__signed_return_addresses(void **state)
{
	struct cfi_row row = row_of(SP, 16, LR);

	(void)state;
	row.is_signed = true;
	add(&row, CFI_OFFSET, LR, -8);
	stack[1] = 0xabcd000000401234;
	assert_int_equal(step(&cfi_arch_aarch64, &row), UNWIND_STEPPED);
	assert_int_equal(frame.regs[PC], 0x401234);
}

/* A register without a value cannot be what the CFA is relative to; one that is not restored is not known any more. */
static void test_unwind_step__registers_that_are_not_known(void **state)
{
	struct cfi_row row = row_of(RBP, 16, RIP);

	(void)state;
	add(&row, CFI_UNDEFINED, RBX, 0);
	add(&row, CFI_OFFSET, RIP, -8);
	stack[1] = 0x401234;
	frame.regs[RBP] = STACK;
	frame.known &= ~(1ULL << RBP);
	assert_int_equal(step(&cfi_arch_x86_64, &row), -EFAULT);
	frame.known |= 1ULL << RBP;
	assert_int_equal(step(&cfi_arch_x86_64, &row), UNWIND_STEPPED);
	assert_false(is_known(RBX));
	assert_true(is_known(RBP) && is_known(RSP) && is_known(RIP));
}

static void test_unwind_step__outermost(void **state)
{
	struct cfi_row row = row_of(RSP, 8, RIP);

	(void)state;
	add(&row, CFI_UNDEFINED, RIP, 0);
	stack[0] = 0x401234;
	assert_int_equal(step(&cfi_arch_x86_64, &row), UNWIND_START_OF_THREAD);
}

/* rbp points to the caller's rbp, next to the return address: the caller's stack begins above both. */
static void test_unwind_step__by_frame_pointer(void **state)
{
	(void)state;
	frame.regs[RBP] = STACK + 32;
	stack[4] = STACK + 96;
	stack[5] = 0x401234;
	assert_int_equal(unwind_step_by_frame_pointer(&cfi_arch_x86_64, &copy, &frame), UNWIND_STEPPED);
	assert_int_equal(frame.regs[RIP], 0x401234);
	assert_int_equal(frame.regs[RBP], STACK + 96);
	assert_int_equal(frame.regs[RSP], STACK + 48);
	assert_true(is_known(RSP) && is_known(RBP) && is_known(RIP));
	assert_false(is_known(RBX));
	assert_int_equal(unwind_step_by_frame_pointer(&cfi_arch_x86_64, &copy, &frame),
	                 UNWIND_START_OF_THREAD);
}

/* A chain of frame pointers ends with 0. */
static void test_unwind_step__end_of_frame_pointers(void **state)
{
	(void)state;
	frame.regs[RBP] = STACK + 32;
	stack[4] = 0;
	stack[5] = 0x401234;
	assert_int_equal(unwind_step_by_frame_pointer(&cfi_arch_x86_64, &copy, &frame), UNWIND_STEPPED);
	assert_int_equal(unwind_step_by_frame_pointer(&cfi_arch_x86_64, &copy, &frame),
	                 UNWIND_START_OF_THREAD);
}

static void test_unwind_step__no_frame_pointer(void **state)
{
	static const uint64_t none[] = { STACK - 8, STACK + 33, STACK + (1 << 20) + 8, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		frame.regs[RBP] = none[i];
		assert_int_equal(unwind_step_by_frame_pointer(&cfi_arch_x86_64, &copy, &frame), -ENOENT);
		assert_int_equal(frame.regs[RSP], STACK);
	}
	frame.regs[RBP] = STACK + sizeof(stack) - 8; /* a frame, but cut in its middle */
	assert_int_equal(unwind_step_by_frame_pointer(&cfi_arch_x86_64, &copy, &frame), -EFAULT);
	frame.regs[RBP] = STACK;
	frame.known &= ~(1ULL << RBP);
	assert_int_equal(unwind_step_by_frame_pointer(&cfi_arch_x86_64, &copy, &frame), -ENOENT);
}

static void test_unwind_step__by_top(void **state)
{
	(void)state;
	stack[0] = 0x401234;
	frame.is_exact = true;
	assert_int_equal(unwind_step_by_top(&cfi_arch_x86_64, &copy, &frame), UNWIND_STEPPED);
	assert_int_equal(frame.regs[RIP], 0x401234);
	assert_int_equal(frame.regs[RSP], STACK + 8);
	assert_false(frame.is_exact);
	assert_int_equal(unwind_step_by_top(&cfi_arch_aarch64, &copy, &frame), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_unwind_step__##name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(plain),
		TEST(what_was_not_copied),
		TEST(callers_are_further_up),
		TEST(signal),
		TEST(leaf),
		TEST(signed_return_addresses),
		TEST(registers_that_are_not_known),
		TEST(outermost),
		TEST(by_frame_pointer),
		TEST(end_of_frame_pointers),
		TEST(no_frame_pointer),
		TEST(by_top),
	};

	return cmocka_run_group_tests_name("unwind_step", tests, NULL, NULL);
}
