/* Tests of late_stack.h: stacks of which a page was not there, in this process itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/session/late_stack.h"

#define PAGE   4096
#define PAGES  4
#define CALLER 10 /* the word in which the return address of the outermost frame that was copied lies */
#define PC     0x401234

static struct late_stack late;
static uint64_t *stack;
static struct {
	struct abi_event event;
	uint8_t copied[PAGE];
} sent;
static uint64_t sps[2];

/* A stack of which the first page came with the event. Behind it nothing is mapped. */
static int begin(void **state)
{
	(void)state;
	late = (struct late_stack){ .read = 0 };
	stack = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || munmap((char *)stack + PAGES * PAGE, PAGE))
		return -1;
	for (size_t i = 0; i < PAGES * PAGE / sizeof(*stack); i++)
		stack[i] = i;
	stack[CALLER] = PC;
	sps[0] = (uintptr_t)stack;
	sps[1] = (uintptr_t)(stack + CALLER + 1);
	sent.event = (struct abi_event){ .kind = ABI_EVENT_WAIT,
		                         .flags = ABI_USER_FAULTED,
		                         .tgid = (uint32_t)getpid(),
		                         .tid = (uint32_t)getpid(),
		                         .ustack_len = PAGE };
	sent.event.regs.sp = (uintptr_t)stack;
	sent.event.stack_top = (uintptr_t)stack + PAGES * PAGE;
	memcpy(&sent.event + 1, stack, PAGE);
	return 0;
}

static int end(void **state)
{
	(void)state;
	return munmap(stack, PAGES * PAGE);
}

static size_t complete(size_t n, const void **copy)
{
	return late_stack_complete(&late, &sent.event, sps, n, copy);
}

static void test_late_stack__missing_pages(void **state)
{
	const void *copy;

	(void)state;
	assert_true(late_stack_lacks_pages(&sent.event));
	stack[1] = 77; /* what lies deeper than that frame is of the event's moment */
	assert_int_equal(late_stack_get(&late, &sent.event, &copy), PAGE);
	assert_int_equal(complete(2, &copy), PAGES * PAGE);
	stack[1] = 1;
	assert_memory_equal(copy, stack, PAGES * PAGE);
}

/* Another call of it, or a return to its caller: its return address, or what it keeps on the stack, is another. */
static void test_late_stack__gone_on_meanwhile(void **state)
{
	const size_t words[] = { CALLER, CALLER + 1, PAGE / sizeof(*stack) - 1 };
	const void *copy = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		stack[words[i]] += 5;
		assert_int_equal(complete(2, &copy), 0);
		assert_null(copy);
		stack[words[i]] -= 5;
	}
	assert_int_equal(complete(2, &copy), PAGES * PAGE);
}

static void test_late_stack__nothing_to_go_by(void **state)
{
	const void *copy;

	(void)state;
	/* No frame but the innermost; … */
	assert_int_equal(complete(1, &copy), 0);
	assert_int_equal(complete(0, &copy), 0);
	/* … one that does not lie in what was copied. */
	sps[1] = (uintptr_t)stack + PAGE + 8;
	assert_int_equal(complete(2, &copy), 0);
	sps[1] = (uintptr_t)stack;
	assert_int_equal(complete(2, &copy), 0);
}

/* What lies above may be any file's. */
static void test_late_stack__no_farther_than_the_stack(void **state)
{
	const void *copy;

	(void)state;
	sent.event.stack_top = (uintptr_t)stack + 2 * PAGE + 64;
	assert_int_equal(complete(2, &copy), 2 * PAGE + 64);
	sent.event.stack_top = 0;
	assert_int_equal(complete(2, &copy), 0);
	sent.event.stack_top = (uintptr_t)stack + PAGE;
	assert_int_equal(complete(2, &copy), 0);
	/* Nor than what is mapped. */
	sent.event.stack_top = (uintptr_t)stack + (PAGES + 1) * PAGE;
	assert_int_equal(complete(2, &copy), PAGES * PAGE);
}

static void test_late_stack__a_tenth_of_the_time(void **state)
{
	const void *copy;

	(void)state;
	assert_int_equal(complete(2, &copy), PAGES * PAGE);
	assert_true(late.spent_ns > 0);
	late.spent_ns = 100000000;
	assert_int_equal(complete(2, &copy), 0);
	late.second_ns -= 1000000000;
	assert_int_equal(complete(2, &copy), PAGES * PAGE);
}

static void test_late_stack__not_of_others(void **state)
{
	const void *copy;

	(void)state;
	sent.event.flags = 0;
	assert_int_equal(complete(2, &copy), 0);
	sent.event.flags = ABI_USER_TRUNCATED;
	assert_int_equal(complete(2, &copy), 0);
	/* Of a wait that is over, and was not copied, there is nothing. */
	sent.event.flags = ABI_NO_USER_COPY;
	assert_int_equal(late_stack_get(&late, &sent.event, &copy), 0);
	assert_true(late.read == 0 && late.failed == 0);
	assert_false(late_stack_lacks_pages(&sent.event));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_late_stack__##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(missing_pages),       TEST(gone_on_meanwhile),
		TEST(nothing_to_go_by),    TEST(no_farther_than_the_stack),
		TEST(a_tenth_of_the_time), TEST(not_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
