/* Tests of known_stack.h: in which places a stack's return addresses lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "profiler/session/known_stack.h"

#define SP    0x7000ULL
#define WORDS 8

/* Three functions, the second of which has two words of its own and the third three. */
static const uint64_t pcs[] = { 0x1000, 0x2000, 0x3000 }, sps[] = { SP, SP + 24, SP + 56 };

static struct abi_event *new_event(void)
{
	struct abi_event *event = calloc(1, sizeof(*event) + WORDS * 8);
	uint64_t *stack = (uint64_t *)(event + 1);

	*event = (struct abi_event){ .stack_key = 5, .window = 9, .ustack_len = WORDS * 8, .n_python = 1 };
	event->regs.sp = SP;
	stack[2] = 0x2000;
	stack[6] = 0x3000;
	return event;
}

static void test_known_stack__slots(void **state)
{
	struct abi_event *event = new_event();
	struct abi_known_stack known;

	(void)state;
	assert_true(known_stack_of(&known, event, pcs, sps, 3));
	assert_int_equal(known.window, 9);
	assert_int_equal(known.n, 2);
	assert_int_equal(known.slot[0], 2);
	assert_int_equal(known.slot[1], 6);
	assert_int_equal(known.hash, abi_hash_mix(abi_hash_mix(0, 0x2000), 0x3000));
	free(event);
}

/* What cannot be told by return addresses in the copy is not known. */
static void test_known_stack__not_known(void **state)
{
	const uint64_t unknown_sps[] = { SP, 0, SP + 56 }, odd_sps[] = { SP, SP + 28, SP + 56 };
	struct abi_event *event = new_event();
	uint64_t *stack = (uint64_t *)(event + 1);
	struct abi_known_stack known;

	(void)state;
	assert_false(known_stack_of(&known, event, pcs, unknown_sps, 3));
	assert_false(known_stack_of(&known, event, pcs, odd_sps, 3));
	event->ustack_len = 48; /* the last lies behind it */
	assert_false(known_stack_of(&known, event, pcs, sps, 3));
	assert_true(known_stack_of(&known, event, pcs, sps, 2));
	event->ustack_len = WORDS * 8;
	stack[6]++;
	assert_false(known_stack_of(&known, event, pcs, sps, 3));
	stack[6]--;
	event->flags = ABI_NO_USER_COPY;
	assert_false(known_stack_of(&known, event, pcs, sps, 3));
	event->flags = 0;
	event->stack_key = 0;
	assert_false(known_stack_of(&known, event, pcs, sps, 3));
	free(event);
}

/* Of a very deep stack the innermost. */
static void test_known_stack__no_more_than_fit(void **state)
{
	static uint64_t many_pcs[2 * ABI_KNOWN_SLOTS], many_sps[2 * ABI_KNOWN_SLOTS];
	struct abi_event *event = calloc(1, sizeof(*event) + 2 * ABI_KNOWN_SLOTS * 8);
	uint64_t *stack = (uint64_t *)(event + 1);
	struct abi_known_stack known;

	(void)state;
	*event = (struct abi_event){ .stack_key = 5, .ustack_len = 2 * ABI_KNOWN_SLOTS * 8 };
	event->regs.sp = SP;
	for (size_t i = 0; i < 2 * ABI_KNOWN_SLOTS; i++) {
		many_pcs[i] = 0x1000 + i;
		many_sps[i] = SP + 8 * i;
		if (i)
			stack[i - 1] = many_pcs[i];
	}
	assert_true(known_stack_of(&known, event, many_pcs, many_sps, 2 * ABI_KNOWN_SLOTS));
	assert_int_equal(known.n, ABI_KNOWN_SLOTS);
	assert_int_equal(known.slot[ABI_KNOWN_SLOTS - 1], ABI_KNOWN_SLOTS - 1);
	free(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_stack__slots),
		cmocka_unit_test(test_known_stack__not_known),
		cmocka_unit_test(test_known_stack__no_more_than_fit),
	};

	return cmocka_run_group_tests_name("known_stack", tests, NULL, NULL);
}
