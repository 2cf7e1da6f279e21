/* Tests of gil_locks.h: which waits are at a lock that is known to be the GIL. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/session/gil_locks.h"

static struct gil_locks locks;

static struct abi_event wait_at(uint32_t tgid, uint64_t start_ns, uint64_t address)
{
	return (struct abi_event){ .state = ABI_SLEEP,
		                   .cause = ABI_WAIT_LOCK,
		                   .tgid = tgid,
		                   .process_start_ns = start_ns,
		                   .regs.di = address };
}

static void test_gil_locks__of_the_same_process_and_address(void **state)
{
	const struct abi_event known = wait_at(7, 1000, 0x7f01), second = wait_at(7, 1000, 0x7f2d),
	                       other = wait_at(7, 1000, 0x7f99), twin = wait_at(8, 1000, 0x7f01);
	struct abi_event later = known;

	(void)state;
	assert_false(gil_locks_has(&locks, &known));
	gil_locks_note(&locks, &known);
	gil_locks_note(&locks, &second);
	assert_true(gil_locks_has(&locks, &known));
	assert_true(gil_locks_has(&locks, &second));
	assert_false(gil_locks_has(&locks, &other));
	assert_false(gil_locks_has(&locks, &twin));
	/* Among so many there are some with the same place in the table. */
	for (later.process_start_ns = 1001; later.process_start_ns < 1001 + 20 * GIL_LOCKS_MAX;
	     later.process_start_ns++)
		assert_false(gil_locks_has(&locks, &later));
	later = known;
	for (later.regs.di = 0x10000; later.regs.di < 0x10000 + 20 * GIL_LOCKS_MAX; later.regs.di++)
		assert_false(gil_locks_has(&locks, &later));
}

/* Of other waits the register is anything. */
static void test_gil_locks__of_locks_alone(void **state)
{
	struct abi_event event = wait_at(9, 1, 0x7f01), read = event, nowhere = wait_at(9, 1, 0);

	(void)state;
	read.cause = ABI_WAIT_PIPE;
	gil_locks_note(&locks, &read);
	assert_false(gil_locks_has(&locks, &event));
	gil_locks_note(&locks, &event);
	assert_false(gil_locks_has(&locks, &read));
	gil_locks_note(&locks, &nowhere);
	assert_false(gil_locks_has(&locks, &nowhere));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gil_locks__of_the_same_process_and_address),
		cmocka_unit_test(test_gil_locks__of_locks_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
