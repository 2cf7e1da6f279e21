/* Tests of host_note.h. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/host_note.h"

static const struct profile_value_type delay = { "delay", "nanoseconds" };

static void test_host_note__comes_back(void **state)
{
	struct profile *p = profile_new(&delay, 1, delay, 1, 1 << 20);
	char name[64];

	(void)state;
	host_note_read(p, name, sizeof(name));
	assert_string_equal(name, "");
	assert_int_equal(profile_add_note(p, "stallprof.host later=x"), 0);
	assert_int_equal(host_note_add(p, "node \"17\""), 0);
	assert_int_equal(host_note_add(p, "another"), 0);
	host_note_read(p, name, sizeof(name));
	assert_string_equal(name, "node \"17\"");
	host_note_read(p, name, 5);
	assert_string_equal(name, "node");
	profile_free(p);
}

static void test_host_note__own_name(void **state)
{
	struct profile *p = profile_new(&delay, 1, delay, 1, 1 << 20);
	char name[256], own[256];

	(void)state;
	assert_int_equal(gethostname(own, sizeof(own)), 0);
	assert_int_equal(host_note_add(p, NULL), 0);
	host_note_read(p, name, sizeof(name));
	assert_string_equal(name, own);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_note__comes_back),
		cmocka_unit_test(test_host_note__own_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
