/*
 * Pythons that block: the walk must find the very frames that the script itself says it has, two hundred times
 * in a row, and as many of them must be entries as there are evaluators on the native stack.
 *
 * Which Pythons: those in STALLPROF_PYTHONS (paths, with spaces between), else the system's and pyenv's. One may
 * stand behind "chroot FOLDER ": it runs in there.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/python.h"

#define SCRIPT      "tests/unit/data/python_frames.py"
#define TURNS       200
#define MAX_STEPS   256
#define MAX_PYTHONS 32
#define STACK_BYTES (512 * 1024)

/* One Python at work. */
static struct {
	pid_t pid;
	FILE *output;
	int input;
	struct symbolizer *s;
	struct sym_process *process;
	struct sym_python_layout layout;
	struct sym_python *py;
} python;

/* What the script says of the moment. */
static struct {
	uint64_t thread_id;
	pid_t tid;
	size_t n;
	char file[MAX_STEPS][256], function[MAX_STEPS][256];
	unsigned int line[MAX_STEPS];
} told;

static int read_remote(void *context, uint64_t address, void *buffer, size_t len)
{
	struct iovec to = { buffer, len }, from = { (void *)(uintptr_t)address, len };

	(void)context;
	return process_vm_readv(python.pid, &to, 1, &from, 1, 0) == (ssize_t)len ? 0 : -1;
}

/* `command` is split at spaces. */
static void run_child(const char *command, const int input[2], const int output[2])
{
	char copy[512], script[64], *words[8] = { NULL }, *rest = copy;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", command);
	dup2(input[0], 0);
	dup2(output[1], 1);
	/* The script is open before the root changes. */
	snprintf(script, sizeof(script), "/proc/self/fd/%d", open(SCRIPT, O_RDONLY));
	while (n < 5 && (words[n] = strsep(&rest, " ")))
		n++;
	words[n++] = script;
	words[n++] = "200";
	execvp(words[0], words);
	_exit(127);
}

static void start(const char *command)
{
	int input[2], output[2];

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	python.pid = fork();
	if (!python.pid)
		run_child(command, input, output);
	close(input[0]);
	close(output[1]);
	python.input = input[1];
	python.output = fdopen(output[0], "r");
	python.s = symbolizer_new(NULL);
	python.process = symbolizer_process(python.s, (uint32_t)python.pid, 1);
}

static void stop(void)
{
	sym_python_close(python.py);
	python.py = NULL;
	symbolizer_free(python.s);
	close(python.input);
	fclose(python.output);
	kill(python.pid, SIGKILL);
	waitpid(python.pid, NULL, 0);
}

/* False: the script has ended. */
static bool listen_to_script(void)
{
	char line[1024];
	unsigned long long id;

	if (!fgets(line, sizeof(line), python.output))
		return false;
	assert_int_equal(sscanf(line, "thread %llu %d", &id, &told.tid), 2);
	told.thread_id = id;
	for (told.n = 0; fgets(line, sizeof(line), python.output) && strcmp(line, "blocked\n"); told.n++) {
		assert_true(told.n < MAX_STEPS);
		assert_int_equal(sscanf(line, "%255[^\t]\t%u\t%255[^\n]", told.file[told.n],
		                        &told.line[told.n], told.function[told.n]),
		                 3);
	}
	return true;
}

/* Until the thread sleeps in its read. */
static void wait_until_blocked(void)
{
	struct timespec pause = { .tv_nsec = 200000 };
	char path[64], call[16];
	FILE *file;
	int number = -1, tries;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", python.pid, told.tid);
	for (tries = 0; number && tries < 20000; tries++) {
		file = fopen(path, "r");
		if (!file)
			break;
		number = fgets(call, sizeof(call), file) && call[0] == '0' && call[1] == ' ' ? 0 : -1;
		fclose(file);
		if (number)
			nanosleep(&pause, NULL);
	}
	assert_int_equal(number, 0);
}

/* Python's frames are the script's but for the interpreter's own import machinery, which it has, too. */
static size_t compare(const struct sym_python_step *steps, size_t n)
{
	struct sym_frame frame;
	size_t i, shown = 0, entries = 0;
	int err;

	for (i = 0; i < n; i++) {
		entries += steps[i].is_entry;
		err = sym_python_frame(python.py, &steps[i], &frame);
		if (err == -ENODATA)
			continue;
		assert_int_equal(err, 0);
		assert_true(shown < told.n);
		assert_string_equal(frame.function, told.function[shown]);
		assert_string_equal(frame.file, told.file[shown]);
		assert_int_equal(frame.line, told.line[shown]);
		shown++;
	}
	assert_int_equal(shown, told.n);
	return entries;
}

/* How many evaluators are on the native stack, which must be whole. */
static size_t count_evaluators(void)
{
	static char copy[STACK_BYTES];
	static uint64_t pcs[4096];
	static bool is_caller[4096];
	struct user_regs_struct r;
	struct sym_stack stack = { .copy = copy, .is_caller = is_caller, .read = read_remote };
	struct sym_result result;
	enum sym_unwind_end end;
	size_t n = 0, i, evaluators = 0;

	assert_int_equal(ptrace(PTRACE_SEIZE, told.tid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, told.tid, 0, 0), 0);
	assert_int_equal(waitpid(told.tid, NULL, __WALL), told.tid);
	assert_int_equal(ptrace(PTRACE_GETREGS, told.tid, 0, &r), 0);
	stack.regs = (struct sym_regs){ .ip = r.rip,
		                        .sp = r.rsp,
		                        .bp = r.rbp,
		                        .bx = r.rbx,
		                        .r12 = r.r12,
		                        .r13 = r.r13,
		                        .r14 = r.r14,
		                        .r15 = r.r15 };
	stack.copy_start = r.rsp;
	assert_int_equal(symbolizer_process_refresh(python.process), 0);
	assert_int_equal(symbolizer_unwind(python.process, &stack, pcs, 4096, &n, &end), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, told.tid, 0, 0), 0);
	for (i = 0; i < n; i++) {
		symbolizer_user(python.process, pcs[i], is_caller[i], &result);
		if (sym_python_native_kind(&python.layout, pcs[i] - is_caller[i],
		                           result.frames[result.n_frames - 1].function) ==
		    SYM_PYTHON_EVALUATOR)
			evaluators++;
	}
	return end == SYM_UNWIND_COMPLETE ? evaluators : 0;
}

static void look_once(int turn)
{
	struct sym_python_step steps[MAX_STEPS];
	size_t n, entries;

	wait_until_blocked();
	assert_int_equal(
	        sym_python_walk(&python.layout, read_remote, NULL, told.thread_id, steps, MAX_STEPS, &n), 0);
	entries = compare(steps, n);
	/* Unwinding by reading word for word takes a while. */
	if (turn < 20)
		assert_int_equal(count_evaluators(), entries);
}

static void follow(const char *command)
{
	struct sym_python_stats stats;
	int turn;

	start(command);
	for (turn = 0; listen_to_script(); turn++) {
		if (!turn) {
			assert_int_equal(sym_python_find(python.pid, NULL, &python.layout), 0);
			assert_int_equal(
			        sym_python_open(python.s, &python.layout, read_remote, NULL, &python.py), 0);
		}
		look_once(turn);
		assert_int_equal(write(python.input, "x", 1), 1);
	}
	assert_int_equal(turn, TURNS);
	sym_python_stats(python.py, &stats);
	print_message("# %s: %x, %zu bytes for %zu code objects, %zu frames\n", command,
	              python.layout.version, stats.memory_bytes, (size_t)stats.code_read,
	              (size_t)stats.frames_named);
	stop();
}

static void test_python_live__frames_are_those_the_script_tells(void **state)
{
	const char *wanted = getenv("STALLPROF_PYTHONS");
	glob_t found = { 0 };
	char *copy, *rest, *one;
	size_t i, n = 0;

	(void)state;
	if (wanted) {
		copy = rest = strdup(wanted);
		while ((one = strsep(&rest, ":")))
			follow(one);
		free(copy);
		return;
	}
	glob("/usr/bin/python3", 0, NULL, &found);
	glob("/root/.pyenv/versions/3.[89]*/bin/python3", GLOB_APPEND, NULL, &found);
	glob("/root/.pyenv/versions/3.1[0-4]*/bin/python3", GLOB_APPEND, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++, n++)
		follow(found.gl_pathv[i]);
	globfree(&found);
	if (!n)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_live__frames_are_those_the_script_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
