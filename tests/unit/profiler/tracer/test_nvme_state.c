/* Tests of nvme_state.h: the states of NVMe controllers in a folder like /sys/class/nvme. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/tracer/nvme_state.h"

static char folder[] = "/tmp/stallprof-nvme-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[128];

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/nvme%d/state", folder, i);
		unlink(path);
		snprintf(path, sizeof(path), "%s/nvme%d", folder, i);
		rmdir(path);
	}
	return rmdir(folder);
}

static void set_state(int number, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/nvme%d", folder, number);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/nvme%d/state", folder, number);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_nvme_state__any_controller_may_recover(void **state)
{
	(void)state;
	assert_false(nvme_state_any_recovers("/nonexistent"));
	assert_false(nvme_state_any_recovers(folder));
	set_state(0, "live\n");
	set_state(1, "");
	assert_false(nvme_state_any_recovers(folder));
	set_state(1, "dead\n");
	assert_false(nvme_state_any_recovers(folder));
	set_state(1, "resetting\n");
	assert_true(nvme_state_any_recovers(folder));
	set_state(1, "connecting\n");
	assert_true(nvme_state_any_recovers(folder));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nvme_state__any_controller_may_recover),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
