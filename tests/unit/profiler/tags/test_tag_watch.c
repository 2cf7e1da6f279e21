/*
 * Which processes are followed, and under which tag: with processes that are there, and a tracer that needs no kernel. Forks, execs and exits
 * are told by the test, in the feed's place. This program has the tag library in it, and so have its children. Pushes tags.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "profiler/format/stamp.h"
#include "profiler/process/exec_maps.h"
#include "profiler/process/exit_sweep.h"
#include "profiler/process/followed.h"
#include "profiler/process/python_processes.h"
#include "profiler/tags/probed_files.h"
#include "profiler/tags/tag_watch.h"
#include "stalltag/stalltag.h"
#include "tests/unit/fake_tracer.h"

#define BASE_TAG 77

static struct fake_tracer fake;
static struct tag_watch *watch;
static struct exec_maps_handler feed;
static uint32_t parent, child; /* `child` is the parent's */

/* The kernel refuses the feed (perf_event_paranoid, or no descriptor is left). */
static bool no_feed;

long syscall(long number, ...)
{
	long (*const real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long argument[6];
	va_list list;

	if (number == SYS_perf_event_open && no_feed) {
		errno = EACCES;
		return -1;
	}
	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

static uint64_t later_ns; /* than it is */

/* In place of libc's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += (time_t)(later_ns / 1000000000);
	return result;
}

static void say(const char *line)
{
	print_message("# %s\n", line);
}

/* Two processes that wait, one the other's child. */
static void start_processes(void)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		stalltag_push(1, "step");
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pid = getpid();
			if (write(ends[1], &pid, sizeof(pid)) != sizeof(pid))
				_exit(1);
		}
		for (;;)
			pause();
	}
	parent = (uint32_t)pid;
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	child = (uint32_t)pid;
	close(ends[0]);
	close(ends[1]);
}

static int begin(void **state)
{
	char err[512] = "";

	(void)state;
	start_processes();
	fake_tracer_init(&fake);
	watch = tag_watch_new(&fake.tracer, say, err, sizeof(err));
	if (!watch)
		return -1;
	feed = tag_watch_handler(watch);
	return 0;
}

static int begin_without_feed(void **state)
{
	int err;

	no_feed = true;
	err = begin(state);
	no_feed = false;
	return err;
}

static int end(void **state)
{
	(void)state;
	tag_watch_free(watch);
	kill((pid_t)parent, SIGKILL);
	waitpid((pid_t)parent, NULL, 0);
	return 0;
}

/* All looks that are due by now. */
static void look(void)
{
	do
		tag_watch_poll(watch, monotonic_ns());
	while (tag_watch_behind(watch));
}

static void on_base_tag(void *ctx, uint64_t tag)
{
	assert_int_equal(tag, BASE_TAG);
	++*(unsigned int *)ctx;
}

/* Of how many processes it is the base tag; no other has one. */
static unsigned int base_tags(void)
{
	unsigned int n = 0;

	tag_watch_each_base_tag(watch, on_base_tag, &n);
	return n;
}

static void test_tag_watch__a_process_that_is_given(void **state)
{
	(void)state;
	assert_int_equal(tag_watch_process(watch, parent, BASE_TAG, true), 0);
	assert_non_null(fake_process(&fake, parent));
	assert_int_equal(fake_process(&fake, parent)->base_tag, BASE_TAG);
	assert_int_equal(fake_process(&fake, parent)->from_exec, 1);
	assert_int_not_equal(fake_process(&fake, parent)->stalltag.kind, 0);
	assert_int_equal(tag_watch_base_tag(watch, parent), BASE_TAG);
	assert_int_equal(tag_watch_base_tag(watch, child), 0);
	assert_int_equal(base_tags(), 1);
	assert_true(tag_watch_take_changed(watch));
	assert_false(tag_watch_take_changed(watch));
	assert_int_equal(tag_watch_process(watch, UINT32_MAX / 2, BASE_TAG, false), -ESRCH);
}

/* It has its parent's slots and is followed at once; its base tag the BPF side hands down itself. */
static void test_tag_watch__fork(void **state)
{
	const struct abi_process *of_parent, *of_child;

	(void)state;
	tag_watch_process(watch, parent, BASE_TAG, true);
	feed.fork(feed.ctx, child, parent);
	of_parent = fake_process(&fake, parent);
	of_child = fake_process(&fake, child);
	assert_non_null(of_child);
	assert_memory_equal(&of_child->stalltag, &of_parent->stalltag, sizeof(of_child->stalltag));
	assert_int_equal(of_child->base_tag, 0);
	assert_int_equal(of_child->from_exec, 0);
	assert_int_equal(of_child->ai_tag_key, FOLLOWED_NO_KEY);
	assert_int_equal(of_parent->base_tag, BASE_TAG);
	assert_int_equal(base_tags(), 1);
}

static void test_tag_watch__fork_of_a_stranger(void **state)
{
	(void)state;
	feed.fork(feed.ctx, child, parent);
	assert_null(fake_process(&fake, child));
}

/* It forks before there was time to look at it: the child, of which no mapping is reported, is looked at as well. */
static void test_tag_watch__fork_before_the_look(void **state)
{
	(void)state;
	tag_watch_met(watch, parent, false);
	feed.fork(feed.ctx, child, parent);
	assert_null(fake_process(&fake, child));
	tag_watch_poll(watch, monotonic_ns());
	assert_non_null(fake_process(&fake, parent));
	assert_non_null(fake_process(&fake, child));
	assert_int_not_equal(fake_process(&fake, child)->stalltag.kind, 0);
	assert_true(tag_watch_take_held(watch));
}

/* Another program has no slots that are known yet, but the same base tag. */
static void test_tag_watch__exec(void **state)
{
	(void)state;
	tag_watch_process(watch, parent, BASE_TAG, true);
	feed.exec(feed.ctx, parent, monotonic_ns());
	assert_int_equal(fake_process(&fake, parent)->base_tag, BASE_TAG);
	assert_int_equal(fake_process(&fake, parent)->from_exec, 0);
	assert_int_equal(fake_process(&fake, parent)->stalltag.kind, 0);
	assert_int_equal(fake_process(&fake, parent)->ai_tag_key, FOLLOWED_NO_KEY);
}

/* The feed tells of it when the new program was looked at already: what that look found stands, and is not lost until the next. */
static void test_tag_watch__exec_told_late(void **state)
{
	uint64_t before_ns = monotonic_ns();

	(void)state;
	tag_watch_process(watch, parent, BASE_TAG, true);
	tag_watch_met(watch, parent, true);
	look();
	feed.exec(feed.ctx, parent, before_ns);
	assert_int_equal(fake_process(&fake, parent)->base_tag, BASE_TAG);
	assert_int_equal(fake_process(&fake, parent)->from_exec, 0);
	assert_int_not_equal(fake_process(&fake, parent)->stalltag.kind, 0);
}

static void test_tag_watch__exit(void **state)
{
	(void)state;
	tag_watch_process(watch, parent, BASE_TAG, false);
	feed.exit(feed.ctx, parent);
	assert_null(fake_process(&fake, parent));
	assert_int_equal(tag_watch_base_tag(watch, parent), 0);
	assert_int_equal(base_tags(), 0);
	assert_false(tag_watch_needs_attach(watch));
}

/* Nobody tells of the end of one of them. */
static void test_tag_watch__exit_without_feed(void **state)
{
	(void)state;
	assert_null(tag_watch_maps(watch));
	assert_int_equal(tag_watch_scan(watch, false), 0);
	look();
	assert_non_null(fake_process(&fake, parent));
	assert_non_null(fake_process(&fake, child));
	kill((pid_t)parent, SIGKILL);
	waitid(P_PID, (id_t)parent, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	tag_watch_poll(watch, monotonic_ns() + EXIT_SWEEP_NS);
	assert_null(fake_process(&fake, parent));
}

/* The kernel's side has no room for it, which is counted. */
static int refuse_process(struct tracer *tracer, const struct abi_process_key *key,
                          const struct abi_process *process)
{
	(void)tracer;
	(void)key;
	(void)process;
	return -E2BIG;
}

static void test_tag_watch__refused(void **state)
{
	struct stamp *stamp = stamp_new();

	(void)state;
	fake.ops.set_process = refuse_process;
	tag_watch_met(watch, parent, false);
	look();
	assert_int_equal(tag_watch_describe(watch, stamp), 0);
	assert_true(stamp_counter(stamp, "tagged_processes_refused") > 0);
	stamp_free(stamp);
}

/* The whole host: whoever has the tag library is followed, without a base tag, and may hold tags from before. */
static void test_tag_watch__all(void **state)
{
	(void)state;
	assert_int_equal(tag_watch_scan(watch, false), 0);
	look();
	assert_non_null(fake_process(&fake, parent));
	assert_non_null(fake_process(&fake, child));
	assert_int_equal(fake_process(&fake, parent)->base_tag, 0);
	assert_int_not_equal(fake_process(&fake, parent)->stalltag.kind, 0);
	assert_true(tag_watch_take_held(watch));
	assert_false(tag_watch_take_held(watch));
}

/* Only those that are given, and what they fork. */
static void test_tag_watch__only_given(void **state)
{
	(void)state;
	assert_int_equal(tag_watch_scan(watch, true), 0);
	look();
	assert_null(fake_process(&fake, parent));
	assert_int_equal(fake.n_processes, 0);
	assert_int_equal(tag_watch_process(watch, parent, BASE_TAG, false), 0);
	assert_non_null(fake_process(&fake, parent));
	/* It was looked at just now, so it is left alone for a while. */
	tag_watch_met(watch, child, false);
	for (int i = 0; i < 1000 && !fake_process(&fake, child); i++, usleep(10000))
		look();
	assert_non_null(fake_process(&fake, child));
	assert_null(fake_process(&fake, (uint32_t)getpid()));
}

/* A process whose context makes no sense. */
static pid_t start_bad_publisher(void)
{
	static const char no_header[] = "OTEL_CTY";
	pid_t pid = fork();
	int fd;

	if (pid) {
		waitpid(pid, NULL, WUNTRACED);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	if (write(fd, no_header, sizeof(no_header)) == sizeof(no_header) && !ftruncate(fd, 4096) &&
	    mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
		raise(SIGSTOP);
	_exit(0);
}

/* The memory of others is not read. */
static void test_tag_watch__only_memory_of_those_given(void **state)
{
	struct stamp *stamp = stamp_new();
	pid_t pid = start_bad_publisher();

	(void)state;
	assert_int_equal(tag_watch_scan(watch, true), 0);
	look();
	assert_int_equal(tag_watch_describe(watch, stamp), 0);
	assert_int_equal(stamp_counter(stamp, "process_contexts_bad"), 0);
	tag_watch_process(watch, (uint32_t)pid, BASE_TAG, false);
	assert_int_equal(tag_watch_describe(watch, stamp), 0);
	assert_int_equal(stamp_counter(stamp, "process_contexts_bad"), 1);
	stamp_free(stamp);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int refuse_file(struct tracer *tracer, const char *path, const struct tracer_probes *probes, char *err,
                       size_t err_len)
{
	(void)tracer;
	(void)path;
	(void)probes;
	snprintf(err, err_len, "refused");
	return -EMFILE;
}

/* Though nothing is mapped any more. */
static void test_tag_watch__a_refused_file_is_tried_again(void **state)
{
	__typeof__(fake.ops.watch_file) takes = fake.ops.watch_file;
	char err[512] = "";

	(void)state;
	tag_watch_free(watch);
	fake.ops.watch_file = refuse_file;
	watch = tag_watch_new(&fake.tracer, say, err, sizeof(err));
	assert_non_null(watch);
	feed = tag_watch_handler(watch);
	fake.watched_files = 0;
	tag_watch_met(watch, parent, false);
	look();
	fake.ops.watch_file = takes;
	tag_watch_poll(watch, monotonic_ns());
	assert_int_equal(fake.watched_files, 0);
	later_ns = PROBED_FILES_RETRY_NS + 1000000000;
	tag_watch_poll(watch, monotonic_ns());
	later_ns = 0;
	assert_int_equal(fake.watched_files, 1);
}

/* One that pushes its first tag is looked at, if nothing is known of it. */
static void test_tag_watch__met(void **state)
{
	(void)state;
	tag_watch_met(watch, parent, false);
	assert_true(tag_watch_behind(watch));
	look();
	assert_non_null(fake_process(&fake, parent));
	tag_watch_met(watch, parent, false);
	assert_false(tag_watch_behind(watch));
	/* It was looked at just now, but is another program by now. */
	tag_watch_met(watch, parent, true);
	assert_true(tag_watch_behind(watch));
}

/* It is looked at as one that was there before us, as often as that is asked for. */
static void test_tag_watch__late(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool held = false;

		tag_watch_late(watch, parent);
		/* After a look it is left alone for a while. */
		for (int tries = 0; tries < 1000 && !held; tries++, usleep(10000)) {
			look();
			held = tag_watch_take_held(watch);
		}
		assert_true(held);
		assert_non_null(fake_process(&fake, parent));
		assert_true(tag_watch_take_changed(watch)); /* so its threads are adopted */
	}
	assert_int_equal(fake_process(&fake, parent)->base_tag, 0);
}

/* A tag that it was started under is made known once, not at each look. */
static void test_tag_watch__late_and_started_under_a_tag(void **state)
{
	char *const argv[] = { (char[]){ "sleep" }, (char[]){ "60" }, NULL };
	char *const envp[] = { (char[]){ "STALLPROF_TAG=5 step" }, NULL };
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	/* Until it has executed it is a copy of this program, without a tag. */
	for (int i = 0; i < 1000 && !tag_watch_base_tag(watch, (uint32_t)pid); i++, usleep(10000)) {
		tag_watch_late(watch, (uint32_t)pid);
		look();
	}
	assert_non_null(fake_process(&fake, (uint32_t)pid));
	assert_int_equal(fake_process(&fake, (uint32_t)pid)->base_tag, 1);
	for (int i = 0; i < 20; i++, usleep(10000)) {
		tag_watch_late(watch, (uint32_t)pid);
		look();
	}
	assert_int_equal(fake_process(&fake, (uint32_t)pid)->base_tag, 1);
	assert_int_equal(fake.next_key, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Returns when it runs the command that another program has executed after it had set a tag. */
static pid_t start_tagged(void)
{
	char *const argv[] = { (char[]){ "sleep" }, (char[]){ "60" }, NULL };
	char *const envp[] = { (char[]){ "STALLPROF_TAG=5 step" }, NULL };
	int ends[2];
	char none;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &none, 1), 0);
	close(ends[0]);
	return pid;
}

/* Closes `to`; *st is that file's. */
static void copy_file(const char *path, int to, struct stat *st)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(fstat(from, st), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)st->st_size), st->st_size);
	assert_int_equal(fchmod(to, 0700), 0);
	assert_int_equal(fstat(to, st), 0);
	close(from);
	close(to);
}

/* What the counter has grown by. */
static uint64_t told(const char *counter)
{
	struct stamp *stamp = stamp_new();
	uint64_t value;

	assert_int_equal(tag_watch_describe(watch, stamp), 0);
	value = stamp_counter(stamp, counter);
	stamp_free(stamp);
	return value;
}

#define LATE_NS 7000000000ULL

/* The file is met when the process that set the tag runs the command already, which may have forked, too. */
static void test_tag_watch__tagged_by_another_copy(void **state)
{
	char path[] = "/tmp/test_tag_watch.XXXXXX";
	struct exec_mapping mapping = { .start = 0x1000, .end = 0x2000, .path = path };
	const uint32_t pids[] = { (uint32_t)start_tagged(), (uint32_t)start_tagged() };
	unsigned int watched = fake.watched_files;
	uint64_t mapped_ns, late_ns;
	struct stat st;

	(void)state;
	copy_file("/proc/self/exe", mkstemp(path), &st); /* it has the probe of `stallprof tag`, too */
	mapping.inode = st.st_ino;
	mapped_ns = monotonic_ns();
	assert_true(feed.file(feed.ctx, pids[0], &mapping, mapped_ns - LATE_NS));
	assert_int_equal(fake.watched_files, watched + 1);
	late_ns = told("tag_probes_late_ns");
	assert_in_range(late_ns, LATE_NS, monotonic_ns() - mapped_ns + LATE_NS);
	assert_true(feed.file(feed.ctx, pids[1], &mapping, mapped_ns - LATE_NS)); /* attached to already */
	assert_int_equal(told("tag_probes_late_ns"), 0);
	assert_true(
	        feed.file(feed.ctx, pids[1], &mapping, mapped_ns - 2 * LATE_NS)); /* had mapped it before */
	assert_int_equal(told("tag_probes_late_ns"), LATE_NS);
	feed.exec(feed.ctx, pids[0], monotonic_ns());
	feed.fork(feed.ctx, pids[1], pids[0]);
	look();
	for (int i = 0; i < 2; i++) {
		assert_non_null(fake_process(&fake, pids[i]));
		assert_int_not_equal(fake_process(&fake, pids[i])->base_tag, 0);
		kill((pid_t)pids[i], SIGKILL);
		waitpid((pid_t)pids[i], NULL, 0);
	}
	unlink(path);
}

/* Of the file, not of who maps it: another user's Python does not make the feed ignore what the command's own workers map later. */
static void test_tag_watch__a_strangers_python(void **state)
{
	char folder[] = "/tmp/test_tag_watch.XXXXXX", python[64], other[64];
	struct python_processes *pythons = python_processes_new(&fake.tracer);
	struct exec_mapping mapping = { .start = 0x1000, .end = 0x2000 };
	const char *const paths[] = { python, other };
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(python, sizeof(python), "%s/python3", folder);
	snprintf(other, sizeof(other), "%s/perl", folder);
	for (int i = 0; i < 2; i++) {
		copy_file("/bin/sleep", open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0700), &st);
		mapping.path = paths[i];
		mapping.inode = st.st_ino;
		tag_watch_scan(watch, true);
		tag_watch_tell(watch, NULL, pythons, NULL);
		assert_int_equal(feed.file(feed.ctx, parent, &mapping, monotonic_ns()), !i);
		tag_watch_tell(watch, NULL, NULL, NULL);
		assert_false(feed.file(feed.ctx, parent, &mapping, monotonic_ns()));
		unlink(paths[i]);
	}
	python_processes_free(pythons);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tag_watch__a_process_that_is_given, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__fork, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__fork_of_a_stranger, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__fork_before_the_look, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__exec, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__exec_told_late, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__exit, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__exit_without_feed, begin_without_feed, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__refused, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__all, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__only_given, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__a_refused_file_is_tried_again, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__only_memory_of_those_given, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__met, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__late, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__late_and_started_under_a_tag, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__tagged_by_another_copy, begin, end),
		cmocka_unit_test_setup_teardown(test_tag_watch__a_strangers_python, begin, end),
	};

	return cmocka_run_group_tests_name("tag_watch", tests, NULL, NULL);
}
