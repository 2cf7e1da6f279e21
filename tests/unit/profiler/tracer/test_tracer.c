/* Tests of tracer.h with the BPF programs, from loading to freeing; only what the test tags is tagged. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/stallprof.skel.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/process_stat.h"
#include "profiler/format/stamp.h"
#include "bpf/stallprof.skel.h"
#include "profiler/tracer/map_room.h"
#include "profiler/tracer/tracer_state.h"
#include "tests/unit/need_root.h"

static unsigned int n_rows;

static void on_event(void *ctx, const struct abi_event *event)
{
	(void)ctx;
	(void)event;
}

static void on_python(void *ctx, const struct abi_python_ask *ask)
{
	(void)ctx;
	(void)ask;
}

static int on_row(void *ctx, const struct abi_ledger_key *key, const struct abi_ledger_value *value)
{
	(void)ctx;
	(void)value;
	/* Those are of whoever uses a disk or a CPU. */
	n_rows += key->state != ABI_REQUESTS && key->state != ABI_CPU_USER;
	return 0;
}

/* Of no process but those that are adopted, of which there are none. */
static void test_tracer__from_begin_to_end(void **state)
{
	const struct tracer_opts opts = { .only_adopted = true, .threshold_ns = 5000000, .cpu_hz = 99 };
	struct tracer *tracer;
	struct stamp *stamp = stamp_new();
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	tracer = tracer_new(&opts, on_event, on_python, NULL, err, sizeof(err));
	if (!tracer)
		fail_msg("%s", err);
	assert_false(tracer_attached(tracer));
	assert_true(tracer_fd(tracer) >= 0 && tracer_python_fd(tracer) >= 0);
	assert_int_equal(bpf_map__max_entries(tracer->bpf->maps.works),
	                 8192 + MAP_ROOM_LRU_LOT * libbpf_num_possible_cpus());
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tracer_attach(tracer, err, sizeof(err)), 0);
		assert_true(tracer_attached(tracer));
		assert_int_equal(tracer_iterate(tracer, ABI_ITER_FLUSH), 0);
		assert_int_equal(tracer_poll(tracer, true, monotonic_ns() + 1000000000), 0);
		assert_int_equal(tracer_take_ledger(tracer, (uint64_t)i + 2, on_row, NULL), 0);
		tracer_detach(tracer);
		assert_false(tracer_attached(tracer));
		tracer_rest(tracer);
	}
	assert_int_equal(n_rows, 0);
	assert_int_equal(tracer_tagged(tracer), 0);
	assert_int_equal(tracer_describe(tracer, stamp), 0);
	assert_true(stamp_hook_count(stamp) > 10);
	assert_int_equal(tracer_threshold(tracer, ABI_WAITS_STALL), 5000000);
	assert_int_equal(tracer_threshold(tracer, ABI_WAITS_BLOCKED), 5000000);
	assert_int_equal(tracer_threshold(tracer, ABI_WAITS_CPU), 1000000000 / 99);
	tracer_set_threshold(tracer, ABI_WAITS_BLOCKED, 7000000);
	assert_int_equal(tracer_threshold(tracer, ABI_WAITS_STALL), 5000000);
	assert_int_equal(tracer_threshold(tracer, ABI_WAITS_BLOCKED), 7000000);
	tracer_free(tracer);
	tracer_free(NULL);
	stamp_free(stamp);
}

#define FOREIGN 1000

static unsigned int n_own; /* of the tags that a walk met */

static void on_tag(void *ctx, uint64_t key)
{
	struct tracer *tracer = ctx;

	if (key >= FOREIGN && key < FOREIGN + 100)
		tracer_drop_tag(tracer, key);
	else
		n_own++;
}

/* Under such keys as threads have; the tracer's own are met, too. */
static void drop_foreign_tags(struct tracer *tracer)
{
	uint64_t own = tracer->next_key, key;
	struct abi_tag tag;

	tracer->next_key = FOREIGN;
	for (int i = 0; i < 100; i++)
		assert_int_equal(tracer_add_tag(tracer, "step", 0, &key), 0);
	tracer->next_key = own;
	n_own = 0;
	tracer_each_tag(tracer, on_tag, tracer);
	assert_int_equal(n_own, (uint32_t)own - 1); /* they count from 1 */
	for (key = FOREIGN; key < FOREIGN + 100; key++)
		assert_int_not_equal(tracer_find_tag(tracer, key, &tag), 0);
}

static void test_tracer__tags_and_processes(void **state)
{
	const struct tracer_opts opts = { .only_adopted = true };
	const struct abi_process_key key = { .tgid = (uint32_t)getpid(), .start_ticks = 1 };
	struct abi_process process = { 0 };
	struct tracer *tracer;
	uint64_t first, second;
	struct abi_tag tag;
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	tracer = tracer_new(&opts, on_event, on_python, NULL, err, sizeof(err));
	if (!tracer)
		fail_msg("%s", err);
	assert_int_equal(tracer_add_tag(tracer, "step", 5, &first), 0);
	assert_int_equal(tracer_add_tag(tracer, "write", 6, &second), 0);
	assert_true(first != second);
	assert_int_equal(tracer_find_tag(tracer, first, &tag), 0);
	assert_string_equal(tag.name, "step");
	assert_int_equal(tag.id, 5);
	assert_int_equal(tag.source, ABI_TAG_PROCESS);
	drop_foreign_tags(tracer);
	assert_int_equal(tracer_find_tag(tracer, first, &tag), 0);
	tracer_drop_tag(tracer, first);
	assert_int_not_equal(tracer_find_tag(tracer, first, &tag), 0);
	assert_int_equal(tracer_find_tag(tracer, second, &tag), 0);
	process.base_tag = second;
	assert_int_equal(tracer_set_process(tracer, &key, &process), 0);
	tracer_forget_process(tracer, &key);
	tracer_free(tracer);
}

/* --- cgroups ------------------------------------------------------------------------------------------- */
#define GROUPS 5

/* One below the other; a process waits in that in the middle. */
static struct {
	char path[GROUPS][512];
	uint64_t id[GROUPS];
	pid_t pid;
} groups;

/* Where a cgroup v2 is mounted. */
static bool find_mount(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	bool found = false;

	while (mounts && !found && (mount = getmntent(mounts))) {
		found = !strcmp(mount->mnt_type, "cgroup2");
		if (found)
			snprintf(path, size, "%s", mount->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

static int enter(const char *group)
{
	char path[600];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	file = fopen(path, "w");
	return file && fputs("0", file) >= 0 && !fclose(file) ? 0 : -1;
}

static void wait_inside(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (enter(groups.path[GROUPS / 2]) || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int make_groups(void **state)
{
	char mount[256], path[sizeof(groups.path[0])], byte;
	size_t length;
	struct stat st;
	int ready[2];

	(void)state;
	memset(&groups, 0, sizeof(groups));
	if (geteuid() || !find_mount(mount, sizeof(mount)))
		return 0;
	length = (size_t)snprintf(path, sizeof(path), "%s/stallprof-tracer.%d", mount, getpid());
	for (int i = 0; i < GROUPS; i++) {
		if (i)
			length += (size_t)snprintf(path + length, sizeof(path) - length, "/%d", i);
		memcpy(groups.path[i], path, sizeof(path));
		if (mkdir(groups.path[i], 0755) || stat(groups.path[i], &st))
			return 0;
		groups.id[i] = st.st_ino;
	}
	if (pipe(ready))
		return -1;
	groups.pid = fork();
	if (!groups.pid)
		wait_inside(ready[1]);
	close(ready[1]);
	byte = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return byte ? 0 : -1;
}

static int remove_groups(void **state)
{
	(void)state;
	if (groups.pid > 0) {
		kill(groups.pid, SIGKILL);
		waitpid(groups.pid, NULL, 0);
	}
	for (int i = GROUPS - 1; i >= 0; i--) {
		/* A process that was killed may stay in its cgroup for a moment. */
		for (int tries = 0; groups.path[i][0] && rmdir(groups.path[i]) && tries < 100; tries++)
			usleep(10000);
	}
	return 0;
}

/* Tags a process that waits, with its only thread. */
static void adopt(struct tracer *tracer, pid_t pid)
{
	struct abi_process process = { 0 };
	struct abi_process_key key = { .tgid = (uint32_t)pid };
	struct process_stat stat;
	uint64_t tag;

	assert_int_equal(process_stat_read("/proc", (uint32_t)pid, &stat), 0);
	key.start_ticks = stat.start_ticks;
	assert_int_equal(tracer_add_tag(tracer, "step", 5, &tag), 0);
	process.base_tag = tag;
	assert_int_equal(tracer_set_process(tracer, &key, &process), 0);
	assert_int_equal(tracer_iterate(tracer, ABI_ITER_ADOPT), 0);
}

/* How many threads such a walk comes to. */
static uint64_t walked(struct tracer *tracer, uint32_t mode)
{
	tracer->bpf->bss->n_walked = 0;
	assert_int_equal(tracer_iterate(tracer, mode), 0);
	return tracer->bpf->bss->n_walked;
}

static pid_t start_waiting(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

/* Walks within a window come to the threads of tagged processes alone, where these are few and the kernel can. */
static void test_tracer__walks_over_tagged_processes(void **state)
{
	const struct tracer_opts opts = { .only_adopted = true };
	struct tracer *tracer;
	char err[2048] = "";
	pid_t pids[2];
	uint64_t n;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	tracer = tracer_new(&opts, on_event, on_python, NULL, err, sizeof(err));
	if (!tracer)
		fail_msg("%s", err);
	for (int i = 0; i < 2; i++)
		adopt(tracer, pids[i] = start_waiting());
	assert_int_equal(tracer_tagged(tracer), 2);
	assert_true(tracer->n_threads > 3);
	tracer->n_threads = 1000;
	n = walked(tracer, ABI_ITER_STACKS);
	if (!tracer->no_process_walks) {
		assert_int_equal(n, 2);
		assert_int_equal(walked(tracer, ABI_ITER_SUMS), 2);
		kill(pids[0], SIGKILL);
		waitpid(pids[0], NULL, 0);
		walked(tracer, ABI_ITER_SUMS); /* its end may take until here */
		assert_int_equal(walked(tracer, ABI_ITER_STACKS), 1);
	}
	assert_true(walked(tracer, ABI_ITER_FLUSH) > 3);
	tracer->n_threads = 5; /* too few for that */
	assert_true(walked(tracer, ABI_ITER_STACKS) > 3);
	tracer->n_threads = 1000;
	tracer->bpf->bss->met_more = 1; /* not all are noted */
	assert_true(walked(tracer, ABI_ITER_STACKS) > 3);
	assert_int_equal(tracer->bpf->bss->met_more, 0);
	tracer->no_process_walks = true;
	assert_true(walked(tracer, ABI_ITER_STACKS) > 3);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	tracer_free(tracer);
}

/* The waiting process's only thread is tagged, if it is in that cgroup; `then`: or in this one. */
static int64_t tagged_in(uint64_t cgroup, uint64_t then)
{
	const struct tracer_opts opts = { .only_adopted = true, .cgroup_id = cgroup };
	struct tracer *tracer;
	char err[2048] = "";
	int64_t tagged;

	tracer = tracer_new(&opts, on_event, on_python, NULL, err, sizeof(err));
	if (!tracer)
		fail_msg("%s", err);
	adopt(tracer, groups.pid);
	if (then) {
		assert_int_equal(tracer_tagged(tracer), 0);
		tracer_set_cgroup(tracer, then);
		assert_int_equal(tracer_iterate(tracer, ABI_ITER_ADOPT), 0);
	}
	tagged = tracer_tagged(tracer);
	tracer_free(tracer);
	return tagged;
}

/* Any above the thread's own will do, whatever lies above that. */
static void test_tracer__of_a_cgroup(void **state)
{
	(void)state;
	need_root(PRIVILEGE_LOAD);
	if (!groups.pid)
		skip_for("no cgroup v2 can be made");
	assert_int_equal(tagged_in(0, 0), 1);
	assert_int_equal(tagged_in(groups.id[0], 0), 1);
	assert_int_equal(tagged_in(groups.id[GROUPS / 2], 0), 1);
	assert_int_equal(tagged_in(groups.id[GROUPS / 2 + 1], 0), 0);
	assert_int_equal(tagged_in(groups.id[GROUPS - 1], groups.id[1]), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tracer__from_begin_to_end),
		cmocka_unit_test(test_tracer__tags_and_processes),
		cmocka_unit_test(test_tracer__walks_over_tagged_processes),
		cmocka_unit_test_setup_teardown(test_tracer__of_a_cgroup, make_groups, remove_groups),
	};

	return cmocka_run_group_tests_name("tracer", tests, NULL, NULL);
}
