/* Tests of spool.h where memory is short: linked with failing_allocator.h, as the Makefile does for all test_NAME_memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/output/spool.h"
#include "tests/unit/failing_allocator.h"
#include "tests/unit/profiler/output/spool_window.h"

static const char *const bodies[] = { "one", "two", "three" };

/* Stores a window, closes the spool, and reads the window again. 0, -ENOMEM, or what else went wrong. */
static int use(const char *folder)
{
	struct push_window *window = spool_window("a", bodies, 3), read = { 0 };
	struct spool_entry *entries = NULL;
	struct spool *spool = NULL;
	const char *fault;
	size_t n = 0;
	int err = window ? spool_open(folder, &spool) : -ENOMEM;

	if (!err)
		err = spool_store(spool, window);
	push_window_free(window);
	if (!err)
		err = spool_list(spool, &entries, &n);
	if (!err && n) {
		read.number = entries[n - 1].number;
		err = spool_load(spool, &read, &fault);
		assert_true(err || read.n == 3);
		assert_true(!err || (!read.n && !read.labels));
	}
	push_window_unload(&read);
	free(entries);
	spool_close(spool);
	return err;
}

static void test_spool__each_allocation_fails(void **state)
{
	char folder[] = "/tmp/stallprof-spool-XXXXXX", command[128];
	unsigned long at = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	do {
		int err;

		forget_all();
		n_allocations = 0;
		fails_at = ++at;
		has_failed = false;
		err = use(folder);
		assert_int_equal(err, has_failed ? -ENOMEM : 0);
		assert_int_equal(n_live, 0);
	} while (has_failed);
	fails_at = 0;
	assert_true(at > 10);
	snprintf(command, sizeof(command), "test ! -e %s/damaged && rm -r %s", folder, folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spool__each_allocation_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
