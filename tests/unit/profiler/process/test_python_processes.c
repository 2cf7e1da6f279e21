/* Tests of python_processes.h: which processes the BPF side is told of. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "profiler/process/python_processes.h"
#include "profiler/format/stamp.h"
#include "profiler/tracer/tracer_state.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/process_stat.h"
#include "tests/unit/compile_program.h"

/* What the BPF side was told. */
static struct {
	uint32_t pid;
	struct abi_python layout;
	unsigned int sets, forgets, allows;
} told;

static int set_python(struct tracer *tracer, uint32_t tgid, const struct abi_python *layout)
{
	(void)tracer;
	told.pid = tgid;
	told.layout = *layout;
	told.sets++;
	return 0;
}

static void forget_python(struct tracer *tracer, uint32_t tgid)
{
	(void)tracer;
	told.pid = tgid;
	told.forgets++;
}

static void allow_python(struct tracer *tracer, unsigned int asks)
{
	(void)tracer;
	told.allows += asks > 0;
}

static const struct tracer_ops ops = { .set_python = set_python,
	                               .forget_python = forget_python,
	                               .allow_python = allow_python };
static struct tracer tracer = { .ops = &ops };

static struct python_processes *pythons;
static pid_t python;

/* A Python that has come as far as to run something of its own. */
static int begin(void **state)
{
	int ends[2];
	char byte;

	(void)state;
	memset(&told, 0, sizeof(told));
	pythons = python_processes_new(&tracer);
	if (!pythons || pipe(ends))
		return -1;
	python = fork();
	if (!python) {
		dup2(ends[1], 1);
		execl("/usr/bin/python3", "python3", "-c",
		      "import time; print(1, flush=True); time.sleep(60)", NULL);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		return -1;
	close(ends[0]);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kill(python, SIGKILL);
	waitpid(python, NULL, 0);
	python_processes_free(pythons);
	return 0;
}

static uint64_t counter(const char *name)
{
	struct stamp *stamp = stamp_new();
	uint64_t value;

	assert_non_null(stamp);
	assert_int_equal(python_processes_describe(pythons, stamp), 0);
	value = stamp_counter(stamp, name);
	stamp_free(stamp);
	return value;
}

static void test_python_processes__a_python_is_told_once(void **state)
{
	(void)state;
	python_processes_look(pythons, (uint32_t)python);
	assert_int_equal(told.sets, 1);
	assert_int_equal(told.pid, python);
	assert_true(told.layout.interpreters != 0);
	assert_in_range(told.layout.frame_bytes, 1, ABI_PYTHON_FRAME_BYTES);
	assert_in_range(told.layout.code_bytes, 1, ABI_PYTHON_CODE_BYTES);
	assert_true(told.layout.frame_previous + 8 <= told.layout.frame_bytes);
	assert_true(told.layout.code_lines + 8 <= told.layout.code_bytes);
	assert_true(told.layout.frame_from + told.layout.frame_previous != told.layout.frame_code);
	python_processes_mapped(pythons, (uint32_t)python, "/usr/bin/python3");
	assert_int_equal(told.sets, 1);
}

static void test_python_processes__others_are_told_only_when_asked(void **state)
{
	struct abi_python_ask ask = { .tgid = (uint32_t)getpid() };

	(void)state;
	python_processes_look(pythons, ask.tgid);
	python_processes_mapped(pythons, ask.tgid, "/lib/x86_64-linux-gnu/libc.so.6");
	python_processes_mapped(pythons, (uint32_t)python, "/lib/x86_64-linux-gnu/libc.so.6");
	assert_int_equal(told.sets, 0);
	python_processes_asked(pythons, &ask);
	assert_int_equal(told.sets, 1);
	assert_true(told.layout.interpreters == 0);
	assert_int_equal(python_processes_native_kind(pythons, ask.tgid, 0, "main"),
	                 SYM_PYTHON_NOT_EVALUATOR);
}

static uint64_t start_of(pid_t pid)
{
	struct process_stat stat;

	assert_int_equal(process_stat_read("/proc", (uint32_t)pid, &stat), 0);
	return stat.start_ticks;
}

static pid_t start_idle(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

static void end_idle(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_python_processes__a_child_has_its_parents(void **state)
{
	pid_t first = start_idle(), second = start_idle();
	struct abi_python_ask ask = { .tgid = (uint32_t)second, .parent = (uint32_t)python, .n = 1 };
	uint64_t interpreters;

	(void)state;
	python_processes_look(pythons, (uint32_t)python);
	interpreters = told.layout.interpreters;
	python_processes_forked(pythons, (uint32_t)first, (uint32_t)python);
	assert_int_equal(told.sets, 2);
	assert_int_equal(told.pid, first);
	assert_true(told.layout.interpreters == interpreters);
	python_processes_asked(pythons, &ask); /* the record of the fork is on its way */
	assert_int_equal(told.sets, 3);
	assert_int_equal(told.pid, second);
	python_processes_forked(pythons, (uint32_t)second, (uint32_t)python);
	assert_int_equal(told.sets, 3);
	python_processes_forked(pythons, (uint32_t)second, (uint32_t)getppid()); /* of nobody that is known */
	assert_int_equal(told.sets, 3);
	end_idle(first);
	end_idle(second);
}

/* It is told with its start, by which the BPF side knows it from another process that has its pid later; and one that is gone
 * by now is not told of. */
static void test_python_processes__pids_are_used_again(void **state)
{
	pid_t child = start_idle();

	(void)state;
	python_processes_look(pythons, (uint32_t)python);
	assert_true(told.layout.start_ticks == start_of(python));
	python_processes_forked(pythons, (uint32_t)child, (uint32_t)python);
	assert_true(told.layout.start_ticks == start_of(child));
	end_idle(child);
	python_processes_exited(pythons, (uint32_t)child);
	python_processes_forked(pythons, (uint32_t)child, (uint32_t)python);
	assert_int_equal(told.sets, 2);
	assert_int_equal(counter("python_processes_refused"), 0);
}

static void test_python_processes__exec_and_exit_end_it(void **state)
{
	(void)state;
	python_processes_look(pythons, (uint32_t)python);
	python_processes_executed(pythons, (uint32_t)python);
	assert_int_equal(told.forgets, 1);
	python_processes_look(pythons, (uint32_t)python);
	assert_int_equal(told.sets, 2);
	python_processes_exited(pythons, (uint32_t)python);
	assert_int_equal(told.forgets, 2);
	python_processes_exited(pythons, (uint32_t)python);
	python_processes_executed(pythons, 4000000); /* not known */
	assert_int_equal(told.forgets, 2);
}

#define SECOND_NS 1000000000ULL

/* Whether the process is known, running or not: without it an evaluator is known by its name alone. */
static bool is_kept(uint32_t pid, const struct sym_python_layout *layout)
{
	return python_processes_native_kind(pythons, pid, layout->evaluator[0].start, "f") !=
	       SYM_PYTHON_NOT_EVALUATOR;
}

/* Its code is known for half a minute more, however long the window; then the pid is forgotten, and forgotten but once. */
static void test_python_processes__what_has_ended_goes(void **state)
{
	struct sym_python_layout layout;
	uint64_t now;

	(void)state;
	assert_int_equal(sym_python_find(python, NULL, &layout), 0);
	python_processes_look(pythons, (uint32_t)python);
	python_processes_exited(pythons, (uint32_t)python);
	now = monotonic_ns();
	assert_int_equal(told.forgets, 1);
	python_processes_tick(pythons, now + 25 * SECOND_NS);
	assert_true(is_kept((uint32_t)python, &layout));
	python_processes_tick(pythons, now + 30 * SECOND_NS);
	assert_false(is_kept((uint32_t)python, &layout));
	python_processes_executed(pythons, (uint32_t)python);
	assert_int_equal(told.forgets, 1);
}

/* A program that has a Python of a later version in it, waiting. */
static pid_t start_unknown(void)
{
	const char source[] =
	        "#include <stdio.h>\n#include <unistd.h>\nconst unsigned long Py_Version = 0x030f00f0;"
	        "unsigned long _PyRuntime[200] = { 0x7970677562656478, 0x030f00f0 };"
	        "int main(void) { puts(\"1\"); fflush(stdout); pause(); }";
	char path[128], byte;
	int ends[2];
	pid_t pid;

	assert_int_equal(program_dir_make_with(NULL, "p.c", source), 0);
	assert_true(compile_into("-rdynamic -o %s/python3.15 %s/p.c", program_dir, program_dir));
	snprintf(path, sizeof(path), "%s/python3.15", program_dir);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

/* It does not become another: the BPF side is told at once, and asks no more. Another interpreter may be mapped later. A child of it counts if
 * a stack of its own shows that it runs it, too. */
static void test_python_processes__an_unknown_version_is_looked_at_once(void **state)
{
	pid_t unknown = start_unknown(), child = start_idle();
	struct abi_python_ask ask = { .tgid = (uint32_t)unknown };

	(void)state;
	python_processes_look(pythons, (uint32_t)unknown);
	assert_int_equal(told.sets, 1);
	assert_true(told.layout.interpreters == 0);
	for (int i = 0; i < 3; i++) {
		python_processes_asked(pythons, &ask);
		python_processes_look(pythons, (uint32_t)unknown);
		python_processes_mapped(pythons, (uint32_t)unknown, "/usr/lib/libpython3.15.so");
	}
	assert_int_equal(told.sets, 1);
	assert_int_equal(counter("python_versions_unknown"), 1);
	python_processes_forked(pythons, (uint32_t)child, (uint32_t)unknown);
	assert_int_equal(told.sets, 2);
	assert_int_equal(counter("python_versions_unknown"), 0);
	for (int i = 0; i < 2; i++)
		python_processes_look(pythons, (uint32_t)child);
	assert_int_equal(told.sets, 2);
	assert_int_equal(counter("python_versions_unknown"), 1);
	end_idle(child);
	end_idle(unknown);
	program_dir_remove(NULL);
}

/* Nobody told of its end, nor of that of one that was gone before it could be told of. */
static void test_python_processes__sweep(void **state)
{
	pid_t child = start_idle();
	uint32_t ended[4] = { 0 };

	(void)state;
	end_idle(child);
	python_processes_look(pythons, (uint32_t)python);
	assert_int_equal(python_processes_sweep(pythons, 4, ended), 0);
	python_processes_forked(pythons, (uint32_t)child, (uint32_t)python);
	assert_int_equal(python_processes_sweep(pythons, 4, ended), 1);
	assert_int_equal(ended[0], child);
	python_processes_exited(pythons, (uint32_t)child);
	assert_int_equal(python_processes_sweep(pythons, 4, ended), 0);
	kill(python, SIGKILL);
	waitid(P_PID, (id_t)python, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	assert_int_equal(python_processes_sweep(pythons, 4, ended), 1);
	assert_int_equal(ended[0], python);
	assert_int_equal(python_processes_sweep(NULL, 4, ended), 0);
}

static void test_python_processes__what_is_gone_is_named_so(void **state)
{
	struct abi_python_frame frame = { .code = 0x1000, .instr = 0x1100, .fingerprint = 1 };
	struct sym_frame out;

	(void)state;
	assert_true(python_processes_frame(pythons, (uint32_t)python, &frame, &out));
	assert_string_equal(out.function, "[python code gone]");
	python_processes_look(pythons, (uint32_t)python);
	assert_true(python_processes_frame(pythons, (uint32_t)python, &frame, &out));
	assert_string_equal(out.function, "[python code gone]");
	assert_int_equal(out.line, 0);
	assert_int_equal(counter("python_code_gone"), 2);
	assert_int_equal(counter("python_code_gone"), 0);
}

static void test_python_processes__asks_are_allowed_by_the_clock(void **state)
{
	unsigned int before = told.allows;

	(void)state;
	python_processes_tick(pythons, 1000000000);
	python_processes_tick(pythons, 1000000001);
	python_processes_tick(pythons, 1099999999);
	assert_int_equal(told.allows - before, 1);
	python_processes_tick(pythons, 1100000000);
	assert_int_equal(told.allows - before, 2);
}

static void test_python_processes__more_than_the_maximum_are_refused(void **state)
{
	uint32_t i;

	(void)state;
	python_processes_look(pythons, (uint32_t)python);
	for (i = 0; i < PYTHON_PROCESSES_MAX; i++)
		python_processes_forked(pythons, 5000000 + i, (uint32_t)python);
	assert_int_equal(told.sets, 1); /* the others are gone by now */
	assert_int_equal(counter("python_processes_refused"), 1);
}

/* Those that have ended make room, whether they were Python's or not: a window may be as long as the recording. */
static void test_python_processes__what_has_ended_makes_room(void **state)
{
	struct abi_python_ask ask = { .tgid = (uint32_t)getpid() };
	uint32_t i, n = PYTHON_PROCESSES_MAX + 1;

	(void)state;
	python_processes_look(pythons, (uint32_t)python);
	python_processes_asked(pythons, &ask);
	for (i = 0; i < n; i++) {
		python_processes_forked(pythons, 5000000 + i, (uint32_t)python);
		python_processes_exited(pythons, 5000000 + i);
		python_processes_forked(pythons, 6000000 + i, ask.tgid);
		python_processes_exited(pythons, 6000000 + i);
	}
	assert_int_equal(counter("python_processes_refused"), 0);
	/* Of the one, what was read stays; of the other there is nothing. */
	told.forgets = 0;
	python_processes_executed(pythons, 6000000 + n - 1);
	assert_int_equal(told.forgets, 0);
	python_processes_executed(pythons, 5000000 + n - 1);
	assert_int_equal(told.forgets, 1);
	python_processes_executed(pythons, (uint32_t)python);
	assert_int_equal(told.forgets, 2);
}

/* Switched off: every call does nothing. */
static void test_python_processes__null_is_nobody(void **state)
{
	struct abi_python_ask ask = { .tgid = 1 };
	struct abi_python_frame frame = { .code = 1 };
	struct sym_frame out;

	(void)state;
	python_processes_look(NULL, 1);
	python_processes_mapped(NULL, 1, "/usr/bin/python3");
	python_processes_asked(NULL, &ask);
	python_processes_tick(NULL, 1);
	python_processes_forked(NULL, 2, 1);
	python_processes_executed(NULL, 1);
	python_processes_exited(NULL, 1);
	assert_true(python_processes_frame(NULL, 1, &frame, &out));
	assert_int_equal(python_processes_native_kind(NULL, 1, 0, "_PyEval_EvalFrameDefault"),
	                 SYM_PYTHON_NOT_EVALUATOR);
	assert_int_equal(python_processes_describe(NULL, NULL), 0);
	python_processes_free(NULL);
	assert_int_equal(told.sets, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(test_python_processes__##name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(a_python_is_told_once),
		CASE(others_are_told_only_when_asked),
		CASE(a_child_has_its_parents),
		CASE(pids_are_used_again),
		CASE(exec_and_exit_end_it),
		CASE(what_has_ended_goes),
		CASE(an_unknown_version_is_looked_at_once),
		CASE(sweep),
		CASE(what_is_gone_is_named_so),
		CASE(asks_are_allowed_by_the_clock),
		CASE(more_than_the_maximum_are_refused),
		CASE(what_has_ended_makes_room),
		CASE(null_is_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
