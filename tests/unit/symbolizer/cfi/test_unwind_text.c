/* Tests of unwind_walk.h with made-up code that has no tables: what its instructions say of words on the stack. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "symbolizer/cfi/unwind_walk.h"

enum { RBP = 6, RSP = 7, RIP = 16 };

/* Code of a file: instructions without meaning, but for these. */
#define TEXT       0x10000
#define TEXT_BYTES 0x1000
#define START      (TEXT + 0x10)
#define CALLED     (TEXT + 0x100) /* behind a call */
#define CALLED_TOO (TEXT + 0x200) /* behind a call by register */
#define FUNCTION   (TEXT + 0x300)
#define RESTORER   (TEXT + 0x400)
#define BROKEN_IN  (TEXT + 0x500) /* where a signal came */
/* Code that was compiled at run time: nobody has its bytes. */
#define JIT     0x50000
#define STACK   0x7000
#define N_STACK 48

static uint8_t text[TEXT_BYTES];
static struct unwind_cache cache;
static uint64_t stack[N_STACK], pcs[8];
static bool is_caller[8];
static unsigned int n_reads;

static int find(struct unwind_code *code, uint64_t address, const struct cfi_rules **out, void **owner)
{
	(void)code;
	*out = NULL;
	*owner = NULL;
	return address - TEXT < TEXT_BYTES || address - JIT < TEXT_BYTES ? -ENOENT : -ESRCH;
}

static bool read_code(void *context, uint64_t address, void *buffer, size_t len)
{
	(void)context;
	n_reads++;
	if (address - TEXT >= TEXT_BYTES || len > TEXT + TEXT_BYTES - address)
		return false;
	memcpy(buffer, text + (address - TEXT), len);
	return true;
}

static int make_text(void **state)
{
	(void)state;
	memset(text, 0x90, sizeof(text));
	memcpy(text + CALLED - TEXT - 5, "\xe8\x00\x01\x00\x00", 5);
	memcpy(text + CALLED_TOO - TEXT - 2, "\xff\xd0", 2);
	memcpy(text + RESTORER - TEXT, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
	memset(&cache, 0, sizeof(cache));
	memset(stack, 0, sizeof(stack));
	return 0;
}

static uint64_t at(size_t word)
{
	return STACK + word * sizeof(uint64_t);
}

/* A frame's record: the frame pointer of its caller (0: none), and where it returns to. */
static void put_record(size_t word, size_t caller, uint64_t return_address)
{
	stack[word] = caller ? at(caller) : 0;
	stack[word + 1] = return_address;
}

/* From START, with a frame pointer to word 2. The number of frames. */
static size_t walk(enum sym_unwind_end *end)
{
	const struct sym_stack copy = {
		.copy = stack, .copy_len = sizeof(stack), .copy_start = STACK, .is_caller = is_caller
	};
	struct unwind_code code = {
		.arch = &cfi_arch_x86_64, .version = 1, .find = find, .read_code = read_code, .cache = &cache
	};
	struct unwind_frame frame = { .is_exact = true, .known = ((uint64_t)1 << 17) - 1 };

	frame.regs[RIP] = START;
	frame.regs[RSP] = STACK;
	frame.regs[RBP] = at(2);
	return unwind_walk(&code, &copy, &frame, pcs, 8, end);
}

static void test_unwind_text__a_chain_of_calls(void **state)
{
	enum sym_unwind_end end;

	(void)state;
	put_record(2, 6, CALLED);
	put_record(6, 0, CALLED_TOO);
	for (int round = 0; round < 2; round++) {
		n_reads = 0;
		assert_int_equal(walk(&end), 3);
		assert_int_equal(end, SYM_UNWIND_COMPLETE);
		assert_true(pcs[1] == CALLED && pcs[2] == CALLED_TOO);
	}
	/* The second time what stands before them is known: this is about what is on top of the stack. */
	assert_true(n_reads <= 1);
}

/* The register was used for something else, and led to a word that is the address of a function. */
static void test_unwind_text__a_function_is_no_return_address(void **state)
{
	enum sym_unwind_end end;

	(void)state;
	put_record(2, 6, FUNCTION);
	put_record(6, 10, FUNCTION);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(walk(&end), 1);
		assert_int_equal(end, SYM_UNWIND_NO_CFI);
	}
}

/* A runtime has put in a call that nobody made; and a first function was not called. */
static void test_unwind_text__one_odd_link(void **state)
{
	enum sym_unwind_end end;

	(void)state;
	put_record(2, 6, FUNCTION);
	put_record(6, 10, CALLED);
	put_record(10, 0, FUNCTION + 1);
	assert_int_equal(walk(&end), 4);
	assert_int_equal(end, SYM_UNWIND_COMPLETE);
	assert_true(pcs[1] == FUNCTION && pcs[2] == CALLED && pcs[3] == FUNCTION + 1);
}

static void test_unwind_text__what_cannot_be_read_is_taken(void **state)
{
	enum sym_unwind_end end;

	(void)state;
	put_record(2, 6, JIT + 0x123);
	put_record(6, 0, JIT + 0x456);
	assert_int_equal(walk(&end), 3);
	assert_int_equal(end, SYM_UNWIND_COMPLETE);
	assert_true(pcs[1] == JIT + 0x123 && pcs[2] == JIT + 0x456);
}

/* A handler returns to code without rules; behind that are the registers of what it came upon. */
static void test_unwind_text__signal_frame(void **state)
{
	static const uint64_t restorers[] = { RESTORER, RESTORER + 0x20 };
	enum sym_unwind_end end;

	(void)state;
	memcpy(text + RESTORER + 0x20 - TEXT, "\xb8\x0f\x00\x00\x00\x0f\x05", 7);
	for (size_t i = 0; i < 2; i++) {
		put_record(2, 30, restorers[i]);
		stack[4] =
		        7; /* uc_flags; uc_link, then the stack; then r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
		stack[4 + 5 + 10] = at(40);
		stack[4 + 5 + 15] = at(38);
		stack[4 + 5 + 16] = BROKEN_IN;
		put_record(40, 0, CALLED);
		assert_int_equal(walk(&end), 4);
		assert_int_equal(end, SYM_UNWIND_COMPLETE);
		assert_true(pcs[1] == restorers[i] && pcs[2] == BROKEN_IN && pcs[3] == CALLED);
		assert_false(is_caller[1]);
		assert_false(is_caller[2]);
		assert_true(is_caller[3]);
	}
	stack[4] = 8; /* no such flags */
	assert_int_equal(walk(&end), 2);
}

#define TEST(name) cmocka_unit_test_setup(test_unwind_text__##name, make_text)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_chain_of_calls), TEST(a_function_is_no_return_address),
		TEST(one_odd_link),     TEST(what_cannot_be_read_is_taken),
		TEST(signal_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
