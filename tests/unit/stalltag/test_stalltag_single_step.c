/*
 * A reader that stops the thread at any instruction sees the tag before, the tag after, or none. Shown at
 * every instruction: a child is stepped through pushes and pops, and both slots are decoded after each step.
 * Pushes tags.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalltag/stalltag.h"

extern __thread const uint8_t *volatile stalltag_thread_ctx_v1;
extern __thread const uint8_t *volatile otel_thread_ctx_v1;

#define SHORT_NAME "shard_read/step8"
#define LONG_NAME  "checkpoint_write/run42/step80000/shard17/and_so_on/beyond/the/fast/path/of/64/bytes"
#define FAST_NAME  "checkpoint_write/run42/step80000/shard17"

/* Shared with the child: where its slots are, and which change it is in. */
struct progress {
	const void *own_slot, *public_slot;
	volatile int change;
};

/* The tag that is current after change i; changes 0, 2, ... */
static const struct {
	uint64_t id;
	const char *name; /* NULL: none */
} after_change[] = {
	{ 0, NULL },      { 5, SHORT_NAME }, { 6, FAST_NAME }, { 7, LONG_NAME },
	{ 6, FAST_NAME }, { 5, SHORT_NAME }, { 0, "" },        { 8, FAST_NAME },
	{ 0, "" },        { 5, SHORT_NAME }, { 0, NULL },
};

#define CHANGES ((int)(sizeof(after_change) / sizeof(after_change[0])))

static void child(struct progress *progress)
{
	static const char *volatile no_name = "";

	stalltag_push(1, "warm_up");
	stalltag_push(2, "warm_up/other/contents/of/the/records/that/would/show/if/they/were/read/torn");
	stalltag_push(3, FAST_NAME);
	stalltag_pop();
	stalltag_pop();
	stalltag_pop();
	progress->own_slot = (const void *)&stalltag_thread_ctx_v1;
	progress->public_slot = (const void *)&otel_thread_ctx_v1;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	progress->change = 1;
	stalltag_push(5, SHORT_NAME);
	progress->change = 2;
	stalltag_push(6, FAST_NAME);
	progress->change = 3;
	stalltag_push(7, LONG_NAME);
	progress->change = 4;
	stalltag_pop();
	progress->change = 5;
	stalltag_pop();
	progress->change = 6;
	stalltag_push(0, no_name);
	progress->change = 7;
	stalltag_push_sized(8, FAST_NAME, strlen(FAST_NAME));
	progress->change = 8;
	stalltag_pop();
	progress->change = 9;
	stalltag_pop();
	progress->change = 10;
	stalltag_pop();
	progress->change = CHANGES;
	_exit(0);
}

static bool read_child(pid_t pid, const void *from, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)from, bytes };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* Is what the slot shows the tag after change i? */
static bool shows(const uint8_t *record, int i)
{
	const char *name = after_change[i].name;
	uint64_t id = 0;
	bool traced = false;
	uint16_t bytes;

	if (!record || !name)
		return !record && !name;
	for (int byte = 0; byte < 8; byte++)
		id = id << 8 | record[16 + byte];
	for (int byte = 0; byte < 16; byte++)
		traced |= record[byte] != 0;
	memcpy(&bytes, record + 26, 2);
	if (id != after_change[i].id || traced != (id != 0) || record[24] != 1)
		return false;
	if (!*name)
		return bytes == 0;
	return bytes == strlen(name) + 2 && record[28] == 0 && record[29] == strlen(name) &&
	       !memcmp(record + 30, name, strlen(name));
}

/* -1: torn; 0: as before the change; 1: as after it. */
static int look(pid_t pid, const void *slot, int change)
{
	uint8_t record[30 + STALLTAG_NAME_MAX];
	const void *at;

	if (!read_child(pid, slot, &at, sizeof(at)))
		return -1;
	if (at && !read_child(pid, at, record, sizeof(record)))
		return -1;
	if (shows(at ? record : NULL, change))
		return 1;
	return shows(at ? record : NULL, change - 1) ? 0 : -1;
}

static void step_through(pid_t pid, const struct progress *progress, long *steps, long *torn, bool *done)
{
	bool own_done = false, public_done = false;
	int change = 0, status;

	*steps = *torn = 0;
	*done = false;
	for (;;) {
		int own, public;

		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
			return;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			return;
		if (progress->change == CHANGES) {
			*done = own_done && public_done;
			return;
		}
		if (progress->change != change) { /* the last change must have been made */
			*torn += change && !(own_done && public_done);
			change = progress->change;
		}
		if (!change)
			continue;
		own = look(pid, progress->own_slot, change);
		public = look(pid, progress->public_slot, change);
		*torn += own < 0 || public < 0;
		own_done = own == 1;
		public_done = public == 1;
		++*steps;
	}
}

static void test_stalltag_single_step__whole_at_every_instruction(void **state)
{
	struct progress *progress =
	        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long steps, torn;
	bool done;
	int status;
	pid_t pid;

	(void)state;
	assert_ptr_not_equal(progress, MAP_FAILED);
	pid = fork();
	if (!pid)
		child(progress);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	step_through(pid, progress, &steps, &torn, &done);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	print_message("# %ld instructions, %ld of them with a torn view\n", steps, torn);
	assert_true(done);
	assert_true(steps > 300);
	assert_int_equal(torn, 0);
	munmap(progress, sizeof(*progress));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalltag_single_step__whole_at_every_instruction),
	};

	return cmocka_run_group_tests_name("stalltag_single_step", tests, NULL, NULL);
}
