/* Which signals `record` sends on to its command, and to whom. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "profiler/cli/command_signals.h"

static struct signalfd_siginfo signal_of(int number, int code)
{
	return (struct signalfd_siginfo){ .ssi_signo = number, .ssi_code = code };
}

static void test_command_signals__the_terminal_has_sent_it_already(void **state)
{
	struct signalfd_siginfo interrupt = signal_of(SIGINT, SI_KERNEL);
	struct command_signals signals = { 0 };

	(void)state;
	assert_int_equal(command_signals_take(&signals, &interrupt), COMMAND_HAS_IT);
	assert_int_equal(command_signals_take(&signals, &interrupt), COMMAND_IS_TERMINATED);
	assert_int_equal(command_signals_take(&signals, &interrupt), COMMAND_IS_LEFT);
	assert_int_equal(command_signals_take(&signals, &interrupt), COMMAND_IS_LEFT);
}

static void test_command_signals__quit_and_hang_up_are_no_interrupts(void **state)
{
	struct signalfd_siginfo quit = signal_of(SIGQUIT, SI_KERNEL), hup = signal_of(SIGHUP, SI_KERNEL);
	struct signalfd_siginfo interrupt = signal_of(SIGINT, SI_KERNEL);
	struct command_signals signals = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(command_signals_take(&signals, &quit), COMMAND_HAS_IT);
		assert_int_equal(command_signals_take(&signals, &hup), COMMAND_HAS_IT);
	}
	assert_int_equal(command_signals_take(&signals, &interrupt), COMMAND_HAS_IT);
}

static void test_command_signals__a_hang_up_is_told_to_the_leader_alone(void **state)
{
	struct signalfd_siginfo hup = signal_of(SIGHUP, SI_KERNEL), interrupt = signal_of(SIGINT, SI_KERNEL);
	struct command_signals signals = { .leads_session = true };

	(void)state;
	assert_int_equal(command_signals_take(&signals, &hup), COMMAND_IS_SENT_IT);
	assert_int_equal(command_signals_take(&signals, &interrupt), COMMAND_HAS_IT);
}

static void test_command_signals__what_is_sent_to_us_is_sent_on(void **state)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	static const int codes[] = { SI_USER, SI_QUEUE, SI_TKILL };
	struct command_signals signals = { 0 };

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct signalfd_siginfo signal = signal_of(numbers[i % 6], codes[i % 3]);

		assert_int_equal(command_signals_take(&signals, &signal), COMMAND_IS_SENT_IT);
	}
	assert_int_equal(signals.interrupts, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_signals__the_terminal_has_sent_it_already),
		cmocka_unit_test(test_command_signals__quit_and_hang_up_are_no_interrupts),
		cmocka_unit_test(test_command_signals__a_hang_up_is_told_to_the_leader_alone),
		cmocka_unit_test(test_command_signals__what_is_sent_to_us_is_sent_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
