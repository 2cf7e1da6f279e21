/* Tests of agent_windows.h: which windows are delivered. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/cli/agent_windows.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/checkpoint_files.h"
#include "tests/unit/fake_session.h"

/* What a checkpoint file turned out to be may be known long after the last tag, and is told once. */
static void test_agent_windows__one_with_a_checkpoint_alone_is_delivered(void **state)
{
	const struct abi_file_event wrote = {
		.kind = ABI_FILE_WROTE, .inode = 5, .number = 5, .end_ns = 1, .length = 100, .result = 100
	};
	const struct config_tag_files entry = { (char *)"/ck", (char *)"checkpoint" };
	char dir[] = "/tmp/stallprof-windows-XXXXXX", command[64], err[256] = "";
	struct checkpoint_files_deps deps = { .entries = &entry, .n_entries = 1 };
	struct session *session = fake_session_begin();
	struct agent_windows windows = { 0 };
	struct sink *sink;

	(void)state;
	assert_non_null(mkdtemp(dir));
	sink = sink_new(fake_config, dir, fake_say, err, sizeof(err));
	assert_non_null(sink);
	deps.classes = session->classes;
	deps.devices = session->devices;
	deps.paths = mounted_paths_new("/nosuch");
	session->deps.checkpoints = checkpoint_files_new(&deps);
	assert_non_null(session->deps.checkpoints);
	agent_windows_begin(&windows, fake_config, session, sink);
	agent_windows_end(&windows);
	assert_int_equal(windows.idle, 1);
	checkpoint_files_add(session->deps.checkpoints, &wrote);
	agent_windows_end(&windows);
	assert_int_equal(windows.with_tags, 1);
	agent_windows_end(&windows);
	assert_int_equal(windows.idle, 2);
	sink_end(sink, NULL, 0);
	while (!sink_poll(sink))
		usleep(1000);
	assert_int_equal(sink_counts(sink).kept, 1);
	sink_free(sink);
	checkpoint_files_free(session->deps.checkpoints);
	mounted_paths_free(deps.paths);
	fake_session_end(session);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent_windows__one_with_a_checkpoint_alone_is_delivered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
