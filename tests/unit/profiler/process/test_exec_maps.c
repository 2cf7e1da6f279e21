/* Tests of exec_maps.h against the kernel's own feed of mappings. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profiler/process/exec_maps.h"
#include "symbolizer/base/clock.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/exec_feed.h"
#include "tests/unit/need_root.h"

/* A process that lived for a millisecond. */
static void test_exec_maps__a_short_process(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	struct search all = { .path = "" };
	char path[128];
	struct stat st;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/true", program_dir);
	assert_int_equal(shell("cp /bin/true %s", path), 0);
	assert_int_equal(stat(path, &st), 0);
	pid = run(path);
	waitpid(pid, NULL, 0);
	poll_all(maps);
	assert_int_equal(exec_maps_feed(maps, (uint32_t)pid, MAP_TABLE_PRESENT, search_mapping, &all), 0);
	assert_true(all.total >= 3);
	assert_int_equal(count_path(maps, (uint32_t)pid, path), 1);
	assert_int_equal(calls(&seen, 'k', (uint32_t)pid, (uint64_t)getpid()), 1);
	assert_int_equal(calls(&seen, 'x', (uint32_t)pid, 0), 1);
	assert_int_equal(calls(&seen, 'f', (uint32_t)pid, st.st_ino), 1);
	assert_int_equal(calls(&seen, 'e', (uint32_t)pid, 0), 1);
	/* what it had of us by fork is gone */
	assert_int_equal(readlink("/proc/self/exe", path, sizeof(path)) > 0, 1);
	path[readlink("/proc/self/exe", path, sizeof(path) - 1)] = 0;
	assert_int_equal(count_path(maps, (uint32_t)pid, path), 0);
	exec_maps_free(maps);
}

/* Each executable line of /proc/PID/maps is in the feed. */
static void check_against_proc(struct exec_maps *maps, pid_t pid)
{
	char name[64], line[8192];
	int lines = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	file = fopen(name, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct search search = { .path = NULL };
		unsigned long start, end, offset, inode;
		unsigned int major, minor;
		char permissions[8];

		assert_int_equal(sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &start, &end, permissions, &offset,
		                        &major, &minor, &inode),
		                 7);
		if (permissions[2] != 'x' || strstr(line, "[vsyscall]"))
			continue;
		search.like = (struct exec_mapping){ .start = start,
			                             .end = end,
			                             .pgoff = offset,
			                             .inode = inode,
			                             .dev_major = major,
			                             .dev_minor = minor };
		if (strstr(line, "[vdso]"))
			search.path = "[vdso]"; /* whose offset is told in two ways */
		exec_maps_feed(maps, (uint32_t)pid, MAP_TABLE_PRESENT, search_mapping, &search);
		if (search.found != 1)
			fail_msg("%d times in the feed: %s", search.found, line);
		lines++;
	}
	assert_true(lines >= 3);
	fclose(file);
}

static void test_exec_maps__a_forked_child_has_its_parents(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	struct search all = { .path = "" };
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	poll_all(maps);
	assert_int_equal(exec_maps_feed(maps, (uint32_t)pid, MAP_TABLE_PRESENT, search_mapping, &all), 0);
	check_against_proc(maps, pid);
	assert_int_equal(calls(&seen, 'x', (uint32_t)pid, 0), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	exec_maps_free(maps);
}

/* A mapping that the child makes is the child's alone; one that the parent makes later is the parent's. */
static void test_exec_maps__later_mappings(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	char child_path[128], parent_path[128];
	void *at;
	pid_t pid;
	int fd;

	(void)state;
	snprintf(child_path, sizeof(child_path), "%s/child", program_dir);
	snprintf(parent_path, sizeof(parent_path), "%s/parent", program_dir);
	assert_int_equal(shell("cp /bin/true %s && cp /bin/true %s", child_path, parent_path), 0);
	poll_all(maps); /* so that the parent is known */
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = open(child_path, O_RDONLY);
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	fd = open(parent_path, O_RDONLY);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	poll_all(maps);
	assert_int_equal(count_path(maps, (uint32_t)pid, child_path), 1);
	assert_int_equal(count_path(maps, (uint32_t)pid, parent_path), 0);
	assert_int_equal(count_path(maps, (uint32_t)getpid(), parent_path), 1);
	assert_int_equal(count_path(maps, (uint32_t)getpid(), child_path), 0);
	check_against_proc(maps, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(at, 4096);
	exec_maps_free(maps);
}

static void run_and_poll(struct exec_maps *maps, const char *path)
{
	waitpid(run(path), NULL, 0);
	poll_all(maps);
}

/* A file of no interest is asked about once, and again when it was overwritten. */
static void test_exec_maps__verdicts(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	char path[128];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/verdict", program_dir);
	assert_int_equal(shell("cp /bin/true %s", path), 0);
	assert_int_equal(stat(path, &st), 0);
	run_and_poll(maps, path);
	run_and_poll(maps, path);
	assert_int_equal(calls(&seen, 'f', 0, st.st_ino), 1);
	assert_int_equal(shell("cat /bin/false > %s", path), 0);
	run_and_poll(maps, path);
	run_and_poll(maps, path);
	assert_int_equal(calls(&seen, 'f', 0, st.st_ino), 2);
	seen.answer = true;
	assert_int_equal(shell("cat /bin/true > %s", path), 0);
	run_and_poll(maps, path);
	run_and_poll(maps, path);
	assert_int_equal(calls(&seen, 'f', 0, st.st_ino), 4);
	exec_maps_free(maps);
}

/* Of what hangs a file system that answers nobody. Returns its descriptor; skips the test where it is not allowed. */
static int mount_dead(const char *folder)
{
	char options[64];
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	assert_int_equal(mkdir(folder, 0700), 0);
	if (fuse < 0 || mount("dead", folder, "fuse", MS_NOSUID | MS_NODEV, options))
		skip_for("mounts a FUSE file system");
	return fuse;
}

/* A container maps a file whose path leads to a dead server here: the feed does not wait for that. */
static void test_exec_maps__a_path_that_hangs(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, bytes, pgoff;
		uint32_t dev_major, dev_minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[128];
	} record = { .header = { .type = PERF_RECORD_MMAP2, .size = sizeof(record) },
		     .pid = 4194305,
		     .tid = 4194305,
		     .start = 4096,
		     .bytes = 4096,
		     .inode = 7 };
	char folder[96];
	int fuse, status;
	pid_t pid;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/dead", program_dir);
	snprintf(record.path, sizeof(record.path), "%s/x.so", folder);
	fuse = mount_dead(folder);
	pid = fork();
	if (!pid) {
		alarm(2); /* killed in its sleep if it waits */
		exec_maps_apply(maps, &record.header, monotonic_ns());
		_exit(calls(&seen, 'f', record.pid, record.inode) != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(umount2(folder, MNT_DETACH), 0);
	close(fuse);
	assert_int_equal(status, 0);
	exec_maps_free(maps);
}

static void pin_to_one_cpu(cpu_set_t *before)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof(*before), before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void check_short_lives(struct seen *seen, struct exec_maps *maps, const uint32_t *pids, int n,
                              const char *path)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(count_path(maps, pids[i], path), 1);
		assert_int_equal(calls(seen, 'x', pids[i], 0), 1);
		assert_int_equal(calls(seen, 'e', pids[i], 0), 1);
	}
	seen->n = 0;
}

/* More than a ring holds, read in time: all of it is there, also where a ring goes round. */
static void test_exec_maps__many_processes(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	struct exec_maps_stats stats;
	uint32_t pids[300];
	char path[128];
	cpu_set_t before;

	(void)state;
	snprintf(path, sizeof(path), "%s/many", program_dir);
	assert_int_equal(shell("cp /bin/true %s", path), 0);
	pin_to_one_cpu(&before);
	for (int i = 0; i < 300; i++) {
		pids[i] = (uint32_t)run(path);
		waitpid((pid_t)pids[i], NULL, 0);
		assert_true(exec_maps_poll(maps) >= 0);
		if (i % 20 == 19) {
			poll_all(maps);
			/* now: what has exited is remembered for EXEC_MAPS_LINGER_NS, and pids come again */
			check_short_lives(&seen, maps, pids + i - 19, 20, path);
		}
	}
	sched_setaffinity(0, sizeof(before), &before);
	exec_maps_stats(maps, &stats);
	assert_int_equal(stats.cpus_not_covered, 0);
	assert_int_equal(stats.records_lost, 0);
	exec_maps_free(maps);
}

/* A burst that no ring can hold is noticed, and the descriptor calls before that. */
static void test_exec_maps__lost_records(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	struct pollfd ready = { .fd = exec_maps_fd(maps), .events = POLLIN };
	struct search all = { .path = "" };
	struct exec_maps_stats stats;
	cpu_set_t before;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	poll_all(maps);
	assert_int_equal(exec_maps_feed(maps, (uint32_t)pid, MAP_TABLE_PRESENT, search_mapping, &all), 0);
	pin_to_one_cpu(&before);
	for (int i = 0; i < 400; i++)
		waitpid(run("/bin/true"), NULL, 0);
	assert_int_equal(poll(&ready, 1, 0), 1);
	poll_all(maps);
	run_and_poll(maps, "/bin/true");
	exec_maps_stats(maps, &stats);
	assert_true(stats.records_lost > 0);
	assert_int_equal(exec_maps_feed(maps, (uint32_t)pid, MAP_TABLE_PRESENT, search_mapping, &all), 1);
	sched_setaffinity(0, sizeof(before), &before);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	exec_maps_free(maps);
}

/* Records may have been missed while its ring was dead: who has gone meanwhile is told, and others are not taken for known. */
static void test_exec_maps__a_cpu_comes_back(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns;
	} forked = { .header = { .type = PERF_RECORD_FORK, .size = sizeof(forked) },
		     .ppid = (uint32_t)getpid() };
	struct search all = { .path = "" };
	struct exec_maps_stats stats;
	cpu_set_t before;
	uint32_t gone, later;

	(void)state;
	pin_to_one_cpu(&before);
	gone = (uint32_t)run("/bin/true");
	waitpid((pid_t)gone, NULL, 0);
	poll_all(maps);
	forked.pid = forked.tid = gone;
	exec_maps_apply(maps, &forked.header, monotonic_ns()); /* its exit is missed */
	seen.n = 0;
	exec_maps_cpu(maps, (unsigned int)sched_getcpu(), false);
	poll_all(maps);
	assert_int_equal(calls(&seen, 'e', gone, 0), 0);
	exec_maps_cpu(maps, (unsigned int)sched_getcpu(), true);
	poll_all(maps);
	assert_int_equal(calls(&seen, 'e', gone, 0), 1);
	assert_int_equal(exec_maps_feed(maps, (uint32_t)getpid(), MAP_TABLE_PRESENT, search_mapping, &all),
	                 1);
	later = (uint32_t)run("/bin/true");
	waitpid((pid_t)later, NULL, 0);
	poll_all(maps);
	assert_int_equal(calls(&seen, 'x', later, 0), 1);
	exec_maps_stats(maps, &stats);
	assert_int_equal(stats.cpus_late, 1);
	assert_int_equal(stats.cpus_not_covered, 0);
	sched_setaffinity(0, sizeof(before), &before);
	exec_maps_free(maps);
}

static void test_exec_maps__nothing_known(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	struct search all = { .path = "" };

	(void)state;
	assert_int_equal(exec_maps_feed(maps, 4194305, MAP_TABLE_PRESENT, search_mapping, &all), -ENOENT);
	assert_int_equal(all.total, 0);
	exec_maps_free(maps);
}

#define PROGRAM "test_maps_code"

/* What is known of the program's code. */
struct code {
	uint64_t start, bytes;
	int came, went;
};

static void on_kernel_code(void *ctx, uint64_t start, uint64_t bytes, const char *name)
{
	struct code *code = ctx;

	if (name && strstr(name, PROGRAM)) {
		*code = (struct code){ .start = start, .bytes = bytes, .came = code->came + 1 };
	} else if (!name && start == code->start) {
		assert_int_equal(bytes, code->bytes);
		code->went++;
	}
}

/* A BPF program of one function that is compiled, loaded while the feed is open. */
static void test_exec_maps__kernel_code(void **state)
{
	static const struct bpf_insn insns[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
		                                 { .code = BPF_JMP | BPF_EXIT } };
	struct code code = { 0 };
	const struct exec_maps_handler handler = { .kernel_code = on_kernel_code, .ctx = &code };
	char err[256] = "";
	struct exec_maps *maps = exec_maps_new(&handler, err, sizeof(err));
	int program;

	(void)state;
	if (!maps)
		skip_for(err);
	program = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, PROGRAM, "GPL", insns, 2, NULL);
	if (program < 0)
		skip_for("loads a BPF program");
	poll_all(maps);
	assert_int_equal(code.came, 1);
	assert_true(code.start > INT64_MAX && code.bytes > 0 && code.bytes < 4096);
	assert_int_equal(code.went, 0);
	close(program);
	for (int i = 0; i < PASSES_MAX && !code.went; i++) /* the kernel waits for all CPUs first */
		poll_all(maps);
	assert_int_equal(code.went, 1);
	exec_maps_free(maps);
}

/* Records that are too short, or whose path does not end, are left alone. */
static void test_exec_maps__malformed_records(void **state)
{
	static struct seen seen;
	struct exec_maps *maps = open_feed(&seen);
	_Alignas(8) unsigned char record[256];
	struct perf_event_header *header = (struct perf_event_header *)record;

	(void)state;
	for (uint32_t type = 0; type < PERF_RECORD_MAX; type++)
		for (uint16_t size = 8; size <= sizeof(record); size += 8) {
			memset(record, 'a', sizeof(record));
			*header = (struct perf_event_header){ .type = type, .size = size };
			exec_maps_apply(maps, header, 1);
		}
	exec_maps_free(maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exec_maps__a_short_process),
		cmocka_unit_test(test_exec_maps__a_forked_child_has_its_parents),
		cmocka_unit_test(test_exec_maps__later_mappings),
		cmocka_unit_test(test_exec_maps__verdicts),
		cmocka_unit_test(test_exec_maps__a_path_that_hangs),
		cmocka_unit_test(test_exec_maps__many_processes),
		cmocka_unit_test(test_exec_maps__lost_records),
		cmocka_unit_test(test_exec_maps__a_cpu_comes_back),
		cmocka_unit_test(test_exec_maps__nothing_known),
		cmocka_unit_test(test_exec_maps__kernel_code),
		cmocka_unit_test(test_exec_maps__malformed_records),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
