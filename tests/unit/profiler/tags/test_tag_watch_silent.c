/*
 * A process whose program lies on a file system that does not answer (file_gate.h): it is found once that answers, and what is known of
 * it stays when it no longer does. The file system is /dev/shm, and who says whether it answers is the test. Pushes tags.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/process/exec_maps.h"
#include "profiler/tags/tag_watch.h"
#include "stalltag/stalltag.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/file_gate.h"
#include "tests/unit/fake_tracer.h"

static struct fake_tracer fake;
static struct tag_watch *watch;
static struct exec_maps_handler feed;
static char path[] = "/dev/shm/test_tag_watch_silent.XXXXXX";
static uint32_t holder; /* runs it, and holds a tag */
static bool answering;
static unsigned int asked;

static bool answers(void *ctx, uint64_t dev, const char *about)
{
	(void)ctx;
	(void)dev;
	(void)about;
	asked++;
	return answering;
}

static void say(const char *line)
{
	print_message("# %s\n", line);
}

static void copy_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
	struct stat st;

	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)st.st_size), st.st_size);
	assert_int_equal(fchmod(to, 0700), 0);
	close(from);
	close(to);
}

/* Returns when the tag is set. */
static void start_holder(void)
{
	int ends[2];
	char set;

	assert_int_equal(pipe(ends), 0);
	holder = (uint32_t)fork();
	if (!holder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		execl(path, path, "hold", NULL);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &set, 1), 1);
	close(ends[0]);
}

static void hold(void)
{
	stalltag_push(1, "step");
	if (write(STDOUT_FILENO, "", 1) != 1)
		exit(1);
	for (;;)
		pause();
}

static int begin(void **state)
{
	static const struct file_gate gate = { .answers = answers };
	char err[512] = "";

	(void)state;
	copy_program();
	start_holder();
	fake_tracer_init(&fake);
	watch = tag_watch_new(&fake.tracer, say, err, sizeof(err));
	if (!watch)
		return -1;
	feed = tag_watch_handler(watch);
	file_gate_set(&gate);
	return 0;
}

static int end(void **state)
{
	(void)state;
	file_gate_set(NULL);
	tag_watch_free(watch);
	kill((pid_t)holder, SIGKILL);
	waitpid((pid_t)holder, NULL, 0);
	unlink(path);
	return 0;
}

static bool is_found(void)
{
	const struct abi_process *process = fake_process(&fake, holder);

	return process && process->stalltag.kind;
}

/* Polls until it has been asked again, whether it answers. */
static void look_again(void)
{
	unsigned int before = asked;

	for (int i = 0; i < 3000 && asked == before; i++, usleep(10000))
		tag_watch_poll(watch, monotonic_ns());
	assert_true(asked > before);
}

static void test_tag_watch_silent__found_later(void **state)
{
	(void)state;
	answering = false;
	tag_watch_late(watch, holder);
	look_again();
	assert_false(is_found());
	look_again(); /* nobody asked for that */
	assert_false(is_found());
	answering = true;
	look_again();
	assert_true(is_found());
	/* It has changed by now, so that it would have to be read again: what is known stands, but of another program. */
	answering = false;
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
	tag_watch_late(watch, holder);
	look_again();
	look_again();
	assert_true(is_found());
	feed.fork(feed.ctx, (uint32_t)getpid(), holder);
	assert_non_null(fake_process(&fake, (uint32_t)getpid()));
	feed.exec(feed.ctx, holder, monotonic_ns());
	look_again();
	assert_false(is_found());
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tag_watch_silent__found_later, begin, end),
	};

	if (argc == 2 && !strcmp(argv[1], "hold"))
		hold();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
