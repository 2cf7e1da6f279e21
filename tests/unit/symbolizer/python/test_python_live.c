/*
 * Pythons that block: the walk must find the very frames that the script itself says it has, two hundred times
 * in a row, and as many of them must be entries as there are evaluators on the native stack.
 *
 * Which Pythons: those in STALLPROF_PYTHONS (commands, with colons between, such as "chroot FOLDER
 * /usr/bin/python3.14", where FOLDER/proc is mounted), else the system's and pyenv's. With STALLPROF_PY_SPY, the
 * path of py-spy, the first stacks are compared with its `dump --native`, too: the same Python frames, and foreign
 * native ones between the same two.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
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

#include "symbolizer/python/python.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/need_root.h"

#define SCRIPT       "tests/unit/data/python_frames.py"
#define TURNS        200
#define MAX_STEPS    256
#define PY_SPY_TURNS 20

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

/* `command` is split at spaces; `mode` NULL or the script's second argument. */
static void run_child(const char *command, const char *mode, const int input[2], const int output[2])
{
	char copy[512], script[PATH_MAX], *words[9] = { NULL }, *rest = copy;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", command);
	dup2(input[0], 0);
	dup2(output[1], 1);
	/* Open before the root changes. */
	if (strncmp(command, "chroot ", 7) == 0)
		snprintf(script, sizeof(script), "/proc/self/fd/%d", open(SCRIPT, O_RDONLY));
	else if (!realpath(SCRIPT, script))
		_exit(127);
	while (n < 5 && (words[n] = strsep(&rest, " ")))
		n++;
	words[n++] = script;
	words[n++] = mode ? "3" : "200";
	words[n] = (char *)mode;
	execvp(words[0], words);
	_exit(127);
}

static void start(const char *command, const char *mode)
{
	int input[2], output[2];

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	python.pid = fork();
	if (!python.pid)
		run_child(command, mode, input, output);
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

/* What the native stack is made of, innermost first. */
static struct {
	size_t n;
	enum {
		OTHER,
		EVALUATOR,
		FOREIGN
	} kinds[4096]; /* foreign: libffi, through which C calls Python back */
} native;

static void take_registers(struct sym_stack *stack)
{
	struct user_regs_struct r;

	assert_int_equal(ptrace(PTRACE_SEIZE, told.tid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, told.tid, 0, 0), 0);
	assert_int_equal(waitpid(told.tid, NULL, __WALL), told.tid);
	assert_int_equal(ptrace(PTRACE_GETREGS, told.tid, 0, &r), 0);
	stack->regs = (struct sym_regs){ .ip = r.rip,
		                         .sp = r.rsp,
		                         .bp = r.rbp,
		                         .bx = r.rbx,
		                         .r12 = r.r12,
		                         .r13 = r.r13,
		                         .r14 = r.r14,
		                         .r15 = r.r15 };
	stack->copy_start = r.rsp;
}

/* Of the thread where it stands. Its stack must be whole. */
static void take_native_stack(void)
{
	static uint64_t pcs[4096];
	static bool is_caller[4096];
	struct sym_stack stack = { .copy = "", .is_caller = is_caller, .read = read_remote };
	struct sym_result result;
	enum sym_unwind_end end;
	enum sym_python_native kind;
	size_t i;

	take_registers(&stack);
	assert_int_equal(symbolizer_process_refresh(python.process), 0);
	assert_int_equal(symbolizer_unwind(python.process, &stack, pcs, 4096, &native.n, &end), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, told.tid, 0, 0), 0);
	assert_int_equal(end, SYM_UNWIND_COMPLETE);
	for (i = 0; i < native.n; i++) {
		symbolizer_user(python.process, pcs[i], is_caller[i], &result);
		native.kinds[i] = OTHER;
		kind = sym_python_native_kind(&python.layout, pcs[i] - is_caller[i],
		                              result.frames[result.n_frames - 1].function);
		if (kind == SYM_PYTHON_EVALUATOR || kind == SYM_PYTHON_EVALUATOR_AND_CALLED)
			native.kinds[i] = EVALUATOR;
		else if (result.module && strstr(result.module->path, "/libffi"))
			native.kinds[i] = FOREIGN;
	}
}

/* --- against py-spy ------------------------------------------------------------------------------- */

/* One line a frame: what the script told, and a run of libffi's frames as one, where the native stack has it. */
static void write_merged(const struct sym_python_step *steps, FILE *out)
{
	size_t i, step = 0, shown = 0;
	struct sym_frame frame;
	bool more;

	for (i = 0; i < native.n; i++) {
		if (native.kinds[i] == FOREIGN && (!i || native.kinds[i - 1] != FOREIGN))
			fprintf(out, "libffi\n");
		for (more = native.kinds[i] == EVALUATOR; more; more = !steps[step++].is_entry) {
			if (sym_python_frame(python.py, &steps[step], &frame))
				continue;
			fprintf(out, "%s:%u\n", told.function[shown], told.line[shown]);
			shown++;
		}
	}
}

/* The script goes through libffi just where it says so, however many Python frames are on either side. */
static void check_order(const struct sym_python_step *steps)
{
	char *merged = NULL, *at;
	size_t len;
	FILE *out = open_memstream(&merged, &len);

	write_merged(steps, out);
	fclose(out);
	for (at = merged; (at = strstr(at, "libffi\n")); at += strlen("libffi\n"))
		assert_int_equal(strncmp(at, "libffi\nby_callback:", 19), 0);
	free(merged);
}

/* "(python_frames.py:32)", "(<made up>:4)", "(7:32)" of /proc/self/fd/7: a script's, not C's. */
static bool is_script(const char *place)
{
	size_t digits = strspn(place + 1, "0123456789");

	return strstr(place, ".py:") || strstr(place, ">:") || (digits && place[1 + digits] == ':');
}

/* py-spy's lines of this thread in the same form. */
static bool write_py_spys(const char *py_spy, FILE *out)
{
	char command[512], line[1024], thread[64], *place;
	bool is_wanted = false, was_foreign = false, is_foreign;
	FILE *from;

	snprintf(command, sizeof(command), "%s dump --native --pid %d", py_spy, python.pid);
	snprintf(thread, sizeof(thread), "Thread %d ", told.tid);
	from = popen(command, "r");
	while (fgets(line, sizeof(line), from)) {
		if (strncmp(line, "Thread ", 7) == 0)
			is_wanted = strncmp(line, thread, strlen(thread)) == 0;
		place = strrchr(line, '(');
		if (!is_wanted || !place || line[0] != ' ')
			continue;
		is_foreign = strncmp(place, "(libffi", 7) == 0 || strstr(line, "ffi_call (");
		if (is_foreign && !was_foreign)
			fprintf(out, "libffi\n");
		was_foreign = is_foreign;
		if (is_script(place))
			fprintf(out, "%.*s:%ld\n", (int)(place - line - 5), line + 4,
			        strtol(strrchr(place, ':') + 1, NULL, 10));
	}
	return pclose(from) == 0;
}

static void compare_with_py_spy(const char *py_spy, const struct sym_python_step *steps)
{
	char *ours = NULL, *theirs = NULL;
	size_t ours_len, theirs_len;
	FILE *out = open_memstream(&ours, &ours_len);

	write_merged(steps, out);
	fclose(out);
	out = open_memstream(&theirs, &theirs_len);
	assert_true(write_py_spys(py_spy, out));
	fclose(out);
	assert_string_equal(ours, theirs);
	free(ours);
	free(theirs);
}

/* --- one Python ----------------------------------------------------------------------------------- */

static void look_once(int turn)
{
	struct sym_python_step steps[MAX_STEPS];
	const char *py_spy = getenv("STALLPROF_PY_SPY");
	size_t n, entries, evaluators = 0, i;

	wait_until_blocked();
	assert_int_equal(
	        sym_python_walk(&python.layout, read_remote, NULL, told.thread_id, steps, MAX_STEPS, &n), 0);
	entries = compare(steps, n);
	take_native_stack();
	for (i = 0; i < native.n; i++)
		evaluators += native.kinds[i] == EVALUATOR;
	assert_int_equal(evaluators, entries);
	check_order(steps);
	if (py_spy && turn < PY_SPY_TURNS)
		compare_with_py_spy(py_spy, steps);
}

static void follow(const char *command, const char *mode)
{
	struct sym_python_stats stats;
	int turn;

	start(command, mode);
	for (turn = 0; listen_to_script(); turn++) {
		if (!turn) {
			assert_int_equal(sym_python_find(python.pid, NULL, &python.layout), 0);
			assert_int_equal(sym_python_open(&python.layout, read_remote, NULL, &python.py), 0);
		}
		look_once(turn);
		assert_int_equal(write(python.input, "x", 1), 1);
	}
	assert_int_equal(turn, mode ? 3 : TURNS);
	sym_python_stats(python.py, &stats);
	assert_int_equal(stats.frames_gone + stats.lines_unknown, 0);
	print_message("# %s%s%s: 3.%u, %zu frames, %zu code objects in %zu bytes\n", command, mode ? " " : "",
	              mode ? mode : "", python.layout.version & 0xff, (size_t)stats.frames_named,
	              (size_t)stats.code_read, stats.memory_bytes);
	stop();
}

/* Once more with an interpreter in an interpreter. */
static void follow_both(const char *command)
{
	follow(command, NULL);
	follow(command, "interpreter");
}

static size_t follow_all(const char *pattern)
{
	glob_t found = { 0 };
	size_t i, n;

	glob(pattern, 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		follow_both(found.gl_pathv[i]);
	n = found.gl_pathc;
	globfree(&found);
	return n;
}

static void test_python_live__frames_are_those_the_script_tells(void **state)
{
	const char *wanted = getenv("STALLPROF_PYTHONS"), *home = getenv("HOME");
	char *copy, *rest, *one, pattern[512];
	size_t n;

	(void)state;
	if (wanted) {
		copy = rest = strdup(wanted);
		while ((one = strsep(&rest, ":")))
			follow_both(one);
		free(copy);
		return;
	}
	n = follow_all("/usr/bin/python3");
	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.[89]*/bin/python3", home ? home : "");
	n += follow_all(pattern);
	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.1[0-4]*/bin/python3", home ? home : "");
	n += follow_all(pattern);
	if (!n)
		skip();
}

static void test_python_live__in_a_virtual_environment(void **state)
{
	char command[512];

	(void)state;
	assert_int_equal(shell("/usr/bin/python3 -m venv --without-pip %s/venv", program_dir), 0);
	snprintf(command, sizeof(command), "%s/venv/bin/python", program_dir);
	follow(command, NULL);
}

/* Another name, and gone once it runs: an interpreter linked into a trainer. */
static void test_python_live__in_a_program_of_another_name(void **state)
{
	char command[512];

	(void)state;
	need_user_root("a file that is mapped and has no name any more is opened by /proc/PID/map_files");
	assert_int_equal(shell("cp -L /usr/bin/python3 %s/trainer", program_dir), 0);
	snprintf(command, sizeof(command), "env PYTHONHOME=/usr %s/trainer", program_dir);
	start(command, NULL);
	assert_true(listen_to_script());
	assert_int_equal(shell("rm %s/trainer", program_dir), 0);
	assert_int_equal(sym_python_find(python.pid, NULL, &python.layout), 0);
	assert_int_equal(sym_python_open(&python.layout, read_remote, NULL, &python.py), 0);
	look_once(PY_SPY_TURNS); /* py-spy needs the file */
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_live__frames_are_those_the_script_tells),
		cmocka_unit_test(test_python_live__in_a_virtual_environment),
		cmocka_unit_test(test_python_live__in_a_program_of_another_name),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
