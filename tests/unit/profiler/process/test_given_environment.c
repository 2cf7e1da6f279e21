/* What the dynamic linker took out of the environment is put back for the command. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/process/given_environment.h"

static const char *find(char **environment, const char *name)
{
	size_t n = strlen(name), found = 0;
	const char *value = NULL;

	for (; *environment; environment++) {
		if (strncmp(*environment, name, n) || (*environment)[n] != '=')
			continue;
		value = *environment + n + 1;
		found++;
	}
	assert_true(found <= 1);
	return value;
}

static void test_nothing_was_taken(void **state)
{
	(void)state;
	given_environment_set(NULL, NULL);
	setenv("GIVEN_KEPT", "kept", 1);
	unsetenv("GIVEN_TAKEN");
	assert_ptr_equal(given_environment(), environ);
	assert_string_equal(given_environment_value("GIVEN_KEPT"), "kept");
	assert_null(given_environment_value("GIVEN_TAKEN"));
}

static void test_what_was_taken_is_back(void **state)
{
	static const char strings[] = "GIVEN_TAKEN=a=b\0GIVEN_KEPT=old\0no name\0GIVEN_EMPTY=\0beyond";
	char **environment;

	(void)state;
	setenv("GIVEN_KEPT", "new", 1);
	unsetenv("GIVEN_TAKEN");
	given_environment_set(strings, strstr(strings, "GIVEN_TAKEN") + sizeof(strings) - sizeof("beyond"));
	environment = given_environment();
	assert_string_equal(find(environment, "GIVEN_TAKEN"), "a=b");
	assert_string_equal(find(environment, "GIVEN_KEPT"), "new");
	assert_string_equal(find(environment, "GIVEN_EMPTY"), "");
	assert_null(getenv("GIVEN_TAKEN"));
	assert_string_equal(given_environment_value("GIVEN_TAKEN"), "a=b");
	assert_string_equal(given_environment_value("GIVEN_KEPT"), "new");
	assert_null(given_environment_value("GIVEN_NOT"));
	/* What is set later comes once. */
	setenv("GIVEN_TAKEN", "later", 1);
	assert_string_equal(find(given_environment(), "GIVEN_TAKEN"), "later");
}

static void test_a_program_without_capabilities_has_its_environment(void **state)
{
	char name[] = "program", *argv[] = { name, NULL };

	(void)state;
	given_environment_set(NULL, NULL);
	given_environment_begin(1, argv);
	assert_ptr_equal(given_environment(), environ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_was_taken),
		cmocka_unit_test(test_what_was_taken_is_back),
		cmocka_unit_test(test_a_program_without_capabilities_has_its_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
