/* Tests of symbolizer_unwind(): captured, cut and hostile stacks of this program. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "symbolizer/symbolizer.h"

#define MAX_PCS 256

/* A stack as it was: filled by capture(), which copies its own. */
static struct {
	struct sym_stack stack;
	char copy[65536];
	bool is_caller[MAX_PCS];
	uint64_t pcs[MAX_PCS];
	size_t n;
	enum sym_unwind_end end;
} taken;

static struct symbolizer *s;
static struct sym_process *self;

/* `top` is an address in the outermost frame that is to be copied. */
__attribute__((noinline)) static void capture(const void *top)
{
	ucontext_t context;
	const greg_t *r = context.uc_mcontext.gregs;
	struct sym_stack *stack = &taken.stack;
	struct iovec from, to = { .iov_base = taken.copy };

	memset(&taken, 0, sizeof(taken));
	getcontext(&context);
	stack->regs = (struct sym_regs){ .ip = (uint64_t)r[REG_RIP],
		                         .sp = (uint64_t)r[REG_RSP],
		                         .bp = (uint64_t)r[REG_RBP],
		                         .bx = (uint64_t)r[REG_RBX],
		                         .r12 = (uint64_t)r[REG_R12],
		                         .r13 = (uint64_t)r[REG_R13],
		                         .r14 = (uint64_t)r[REG_R14],
		                         .r15 = (uint64_t)r[REG_R15] };
	stack->copy_start = stack->regs.sp - 128;
	stack->copy_len = (uintptr_t)top - stack->copy_start;
	if (stack->copy_len > sizeof(taken.copy))
		stack->copy_len = sizeof(taken.copy);
	/* By the kernel, since this reads frames that are not ours. */
	from = (struct iovec){ (void *)(uintptr_t)stack->copy_start, stack->copy_len };
	to.iov_len = stack->copy_len;
	stack->copy_len = (size_t)process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	stack->copy = taken.copy;
	stack->is_caller = taken.is_caller;
}

static void unwind(void)
{
	assert_int_equal(symbolizer_unwind(self, &taken.stack, taken.pcs, MAX_PCS, &taken.n, &taken.end), 0);
}

/* The outermost, and so not inlined, function of each pc. */
static const char *function_at(size_t i)
{
	struct sym_result r;

	symbolizer_user(self, taken.pcs[i], taken.is_caller[i], &r);
	return r.frames[r.n_frames - 1].function;
}

static volatile int sink;

__attribute__((noinline)) static int third(const void *top)
{
	capture(top);
	return ++sink;
}

__attribute__((noinline)) static int second(const void *top, int n)
{
	volatile char space[300];

	space[n] = 1;
	return third(top) + space[n];
}

__attribute__((noinline)) static int first(const void *top, int n)
{
	return second(top, n) + ++sink;
}

static void *thread_main(void *argument)
{
	pthread_attr_t attributes;
	void *lowest;
	size_t size;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &lowest, &size);
	pthread_attr_destroy(&attributes);
	first((char *)lowest + size, *(int *)argument);
	return NULL;
}

static void take_in_thread(void)
{
	pthread_t thread;
	int n = 7;

	assert_int_equal(pthread_create(&thread, NULL, thread_main, &n), 0);
	pthread_join(thread, NULL);
}

static void test_unwind__to_the_start_of_a_thread(void **state)
{
	size_t i;

	(void)state;
	take_in_thread();
	unwind();
	assert_int_equal(taken.end, SYM_UNWIND_COMPLETE);
	assert_string_equal(function_at(0), "capture");
	assert_string_equal(function_at(1), "third");
	assert_string_equal(function_at(2), "second");
	assert_string_equal(function_at(3), "first");
	assert_string_equal(function_at(4), "thread_main");
	assert_non_null(strstr(function_at(taken.n - 1), "clone"));
	assert_false(taken.is_caller[0]);
	for (i = 1; i < taken.n; i++)
		assert_true(taken.is_caller[i]);
}

/* However little was copied, what there is is right. */
static void test_unwind__truncated_anywhere(void **state)
{
	uint64_t whole[MAX_PCS];
	size_t n, len, full;

	(void)state;
	take_in_thread();
	unwind();
	n = taken.n;
	full = taken.stack.copy_len;
	memcpy(whole, taken.pcs, sizeof(whole));
	for (len = 0; len < full; len += 8) {
		taken.stack.copy_len = len;
		unwind();
		assert_true(taken.n >= 1 && taken.n <= n);
		assert_memory_equal(taken.pcs, whole, taken.n * sizeof(*whole));
		assert_true(taken.end == SYM_UNWIND_TRUNCATED || taken.n == n);
	}
}

static void test_unwind__too_few_pcs(void **state)
{
	(void)state;
	take_in_thread();
	assert_int_equal(symbolizer_unwind(self, &taken.stack, taken.pcs, 0, &taken.n, &taken.end), -EINVAL);
	assert_int_equal(symbolizer_unwind(self, &taken.stack, taken.pcs, 3, &taken.n, &taken.end), 0);
	assert_int_equal(taken.n, 3);
	assert_int_equal(taken.end, SYM_UNWIND_TRUNCATED);
}

static int read_own(void *context, uint64_t address, void *buffer, size_t len)
{
	++*(int *)context;
	if (address < taken.stack.copy_start || address + len > taken.stack.copy_start + sizeof(taken.copy))
		return -1;
	memcpy(buffer, taken.copy + (address - taken.stack.copy_start), len);
	return 0;
}

static void test_unwind__reads_what_was_not_copied(void **state)
{
	int asked = 0;

	(void)state;
	take_in_thread();
	taken.stack.copy_len = 0;
	taken.stack.read = read_own;
	taken.stack.read_context = &asked;
	unwind();
	assert_int_equal(taken.end, SYM_UNWIND_COMPLETE);
	assert_string_equal(function_at(4), "thread_main");
	assert_true(asked > 4);
}

/* Tables of a file go when another's are needed: what was found in them must not be used, and is found again. */
static void test_unwind__with_hardly_any_memory(void **state)
{
	const struct symbolizer_opts opts = { .max_memory_bytes = 8 << 10 };
	struct symbolizer *small = symbolizer_new(&opts);
	struct sym_process *process = symbolizer_process(small, (uint32_t)getpid(), 1);
	uint64_t whole[MAX_PCS];
	struct symbolizer_stats stats;
	size_t n, round;

	(void)state;
	take_in_thread();
	unwind();
	n = taken.n;
	memcpy(whole, taken.pcs, sizeof(whole));
	assert_int_equal(symbolizer_process_refresh(process), 0);
	for (round = 0; round < 20; round++) {
		memset(taken.pcs, 0, sizeof(taken.pcs));
		assert_int_equal(
		        symbolizer_unwind(process, &taken.stack, taken.pcs, MAX_PCS, &taken.n, &taken.end),
		        0);
		assert_int_equal(taken.end, SYM_UNWIND_COMPLETE);
		assert_int_equal(taken.n, n);
		assert_memory_equal(taken.pcs, whole, n * sizeof(*whole));
	}
	symbolizer_stats(small, &stats);
	assert_true(stats.cache_evictions >= 20);
	symbolizer_free(small);
}

/* What was found for one process is not another's, even at the same address, nor what has been replaced. */
static void test_unwind__mappings_that_change(void **state)
{
	struct sym_process *other = symbolizer_process(s, (uint32_t)getpid(), 2);
	uint64_t pcs[MAX_PCS], bp;
	enum sym_unwind_end end;
	size_t n;

	(void)state;
	take_in_thread();
	unwind();
	assert_int_equal(taken.end, SYM_UNWIND_COMPLETE);
	bp = taken.stack.regs.bp;
	symbolizer_process_exit(other);
	assert_int_equal(symbolizer_unwind(other, &taken.stack, pcs, MAX_PCS, &n, &end), 0);
	assert_int_equal(n, 1);
	assert_int_equal(end, SYM_UNWIND_BAD);
	taken.stack.regs.ip = 0;
	assert_int_equal(symbolizer_unwind(other, &taken.stack, pcs, MAX_PCS, &n, &end), 0);
	assert_int_equal(end, SYM_UNWIND_BAD);
	taken.stack.regs.ip = taken.pcs[0];
	/* Anonymous memory in place of the program: no tables for the first frame any more. */
	assert_int_equal(symbolizer_process_map(self, taken.pcs[0] & ~(uint64_t)4095,
	                                        (taken.pcs[0] | 4095) + 1, 0, 0, 0, 0, "//anon"),
	                 0);
	taken.stack.regs.bp = 0;
	assert_int_equal(symbolizer_unwind(self, &taken.stack, pcs, MAX_PCS, &n, &end), 0);
	assert_int_equal(end, SYM_UNWIND_NO_CFI);
	taken.stack.regs.bp = bp;
	assert_int_equal(symbolizer_process_refresh(self), 0);
	unwind();
	assert_int_equal(taken.end, SYM_UNWIND_COMPLETE);
	symbolizer_process_drop(other);
}

/* Garbage for a stack, from every register: an answer, and no return address that is not code. */
static void test_unwind__hostile_stacks(void **state)
{
	uint64_t word = 88172645463325252u, *words = (uint64_t *)taken.copy;
	struct sym_result r;
	size_t round, i;

	(void)state;
	take_in_thread();
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 256; i++) {
			word ^= word << 13;
			word ^= word >> 7;
			word ^= word << 17;
			words[i] = word % 3   ? word
			           : word % 2 ? taken.stack.copy_start + word % 4096
			                      : taken.pcs[word % 4];
		}
		taken.stack.regs.bp = taken.stack.copy_start + word % 2048;
		taken.stack.regs.ip = round % 2 ? (uintptr_t)first + round % 64 : word;
		unwind();
		for (i = 1; i < taken.n; i++) {
			symbolizer_user(self, taken.pcs[i], taken.is_caller[i], &r);
			assert_non_null(r.module);
		}
	}
}

/* push rbp; mov rbp, rsp; sub rsp, 32; call *rsi; leave; ret */
static const uint8_t jit_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd6, 0xc9, 0xc3 };

typedef int (*jit_function)(const void *top, int (*callee)(const void *top));

__attribute__((noinline)) static int through_jit(jit_function jit)
{
	char top[512];

	memset(top, 1, sizeof(top));
	return jit(top + sizeof(top), third) + top[sink % 512];
}

static void test_unwind__jit_by_frame_pointer(void **state)
{
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct symbolizer_stats stats;
	jit_function jit;

	(void)state;
	memcpy(memory, jit_code, sizeof(jit_code));
	assert_int_equal(mprotect(memory, 4096, PROT_READ | PROT_EXEC), 0);
	memcpy(&jit, &memory, sizeof(jit));
	through_jit(jit);
	assert_int_equal(symbolizer_process_refresh(self), 0);
	unwind();
	assert_string_equal(function_at(1), "third");
	assert_true(taken.pcs[2] == (uintptr_t)memory + 10);
	assert_string_equal(function_at(3), "through_jit");
	symbolizer_stats(s, &stats);
	assert_true(stats.unwind_frame_pointers >= 1);
	/* The same with a frame pointer to something that is no frame. */
	taken.stack.regs.ip = (uintptr_t)memory + 8;
	taken.stack.regs.bp = taken.stack.regs.sp + 64;
	memcpy(taken.copy + (taken.stack.regs.bp + 8 - taken.stack.copy_start), "\x34\x12\0\0\0\0\0", 8);
	unwind();
	assert_int_equal(taken.n, 1);
	assert_int_equal(taken.end, SYM_UNWIND_NO_CFI);
	/* And with one that points nowhere. */
	taken.stack.regs.ip = (uintptr_t)memory + 8;
	taken.stack.regs.bp = 12345;
	unwind();
	assert_int_equal(taken.n, 1);
	assert_int_equal(taken.end, SYM_UNWIND_NO_CFI);
	munmap(memory, 4096);
}

static int set_up(void **state)
{
	(void)state;
	s = symbolizer_new(NULL);
	self = symbolizer_process(s, (uint32_t)getpid(), 1);
	return symbolizer_process_refresh(self);
}

static int tear_down(void **state)
{
	(void)state;
	symbolizer_free(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwind__to_the_start_of_a_thread),
		cmocka_unit_test(test_unwind__truncated_anywhere),
		cmocka_unit_test(test_unwind__too_few_pcs),
		cmocka_unit_test(test_unwind__reads_what_was_not_copied),
		cmocka_unit_test(test_unwind__with_hardly_any_memory),
		cmocka_unit_test(test_unwind__mappings_that_change),
		cmocka_unit_test(test_unwind__hostile_stacks),
		cmocka_unit_test(test_unwind__jit_by_frame_pointer),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
