/* Tests of agent_log.h: nothing in a line that a terminal obeys, and none that looks like another message. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "profiler/cli/agent_log.h"

static void test_agent_log__names_of_others_are_text(void **state)
{
	int ends[2], before = dup(STDERR_FILENO);
	char line[256];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	agent_log(AGENT_WARNING, "%s: %d", "a\x1b[2J\nb\xc2\x9b", 7);
	dup2(before, STDERR_FILENO);
	n = read(ends[0], line, sizeof(line) - 1);
	assert_true(n > 0);
	line[n] = '\0';
	assert_string_equal(line, "stallprof agent: warning: a\\x1b[2J\n  b\\xc2\\x9b: 7\n");
	close(ends[0]);
	close(ends[1]);
	close(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent_log__names_of_others_are_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
