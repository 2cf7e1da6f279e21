/* Tests of process_table.h: names of processes, and when they are forgotten. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/process/exec_maps.h"
#include "profiler/process/process_table.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/process_stat.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/need_root.h"

#define SECOND_NS 1000000000ULL

static struct symbolizer *symbolizer;
static struct process_table *table;

static int make_table(void **state)
{
	(void)state;
	symbolizer = symbolizer_new(NULL);
	table = process_table_new(symbolizer, NULL);
	return symbolizer && table ? 0 : -1;
}

static int free_table(void **state)
{
	(void)state;
	process_table_free(table);
	symbolizer_free(symbolizer);
	return 0;
}

static uint64_t start_ns_of(pid_t pid)
{
	struct process_stat stat;

	assert_int_equal(process_stat_read("/proc", (uint32_t)pid, &stat), 0);
	return stat.start_ticks * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The name given first stays as long as the process is remembered. */
static int is_remembered(uint32_t pid, uint64_t start_ns)
{
	process_table_get(table, pid, start_ns, "first");
	process_table_age(table);
	process_table_age(table);
	return strcmp(process_table_get(table, pid, start_ns, "second")->comm, "second") != 0;
}

static void test_process_table__reads_who_runs(void **state)
{
	uint64_t start_ns = start_ns_of(getpid());
	struct process *process = process_table_get(table, getpid(), start_ns, "given");

	(void)state;
	assert_string_equal(process->comm, "test_process_ta");
	assert_non_null(strstr(process->program, "test_process_table"));
	assert_true(process->code_address > 0);
	assert_false(process->pid_reused);
	assert_ptr_equal(process_table_get(table, getpid(), start_ns, NULL), process);
	assert_non_null(process_table_symbols(table, process, PROCESS_TABLE_NOW));
	assert_non_null(process_table_main_module(table, process));
}

static uint64_t code_of(pid_t pid)
{
	uint64_t start = 0;
	char line[1024];
	FILE *maps;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
	maps = fopen(line, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) && sscanf(line, "%lx-%*x r-xp", &start) == 1 &&
	       !strstr(line, "r-xp"))
		;
	fclose(maps);
	return start;
}

/* Its parent has not waited for it: it is there, but maps nothing any more. What the feed knows of it counts. */
static void test_process_table__has_just_ended(void **state)
{
	char err[256];
	struct exec_maps *maps = exec_maps_new(NULL, err, sizeof(err));
	struct process_table *with_feed;
	struct process *process;
	struct sym_result result;
	uint64_t start_ns, code;
	siginfo_t ended;
	pid_t pid;

	(void)state;
	if (!maps)
		skip_for("hears of executable mappings");
	with_feed = process_table_new(symbolizer, maps);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	start_ns = start_ns_of(pid);
	code = code_of(pid);
	exec_maps_meet(maps, (uint32_t)pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	process = process_table_get(with_feed, pid, start_ns, "ended");
	assert_int_equal(symbolizer_user(process_table_symbols(with_feed, process, PROCESS_TABLE_NOW),
	                                 code + 16, false, &result),
	                 0);
	assert_non_null(result.module);
	assert_non_null(strstr(result.module->path, "test_process_table"));
	waitpid(pid, NULL, 0);
	process_table_free(with_feed);
	exec_maps_free(maps);
}

/* Forks; the child waits for a byte, then executes sleep(1). */
static pid_t start_executing(int *go)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (read(ends[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

static const char *path_at(struct process_table *with_feed, struct process *process, uint64_t at_ns,
                           uint64_t pc)
{
	struct sym_result result;

	assert_int_equal(
	        symbolizer_user(process_table_symbols(with_feed, process, at_ns), pc, false, &result), 0);
	return result.module ? result.module->path : "";
}

/* A wait that ended just before an exec is looked at when the process runs another program. */
static void test_process_table__ran_another_program(void **state)
{
	char err[256];
	struct exec_maps *maps = exec_maps_new(NULL, err, sizeof(err));
	uint64_t code, before_ns, deadline_ns;
	struct process_table *with_feed;
	struct process *process;
	pid_t pid;
	int go;

	(void)state;
	if (!maps)
		skip_for("hears of executable mappings");
	with_feed = process_table_new(symbolizer, maps);
	pid = start_executing(&go);
	exec_maps_poll(maps);
	exec_maps_meet(maps, (uint32_t)pid);
	code = code_of(pid) + 16;
	process = process_table_get(with_feed, pid, start_ns_of(pid), NULL);
	before_ns = monotonic_ns();
	assert_non_null(strstr(path_at(with_feed, process, before_ns, code), "test_process_table"));
	assert_int_equal(write(go, "", 1), 1);
	deadline_ns = before_ns + 20 * SECOND_NS;
	while (exec_maps_image(maps, pid, before_ns) == MAP_TABLE_PRESENT && monotonic_ns() < deadline_ns) {
		usleep(1000);
		exec_maps_poll(maps);
	}
	process_table_exec(with_feed, pid);
	assert_non_null(strstr(path_at(with_feed, process, before_ns, code), "test_process_table"));
	assert_null(strstr(path_at(with_feed, process, PROCESS_TABLE_NOW, code), "test_process_table"));
	assert_non_null(strstr(path_at(with_feed, process, PROCESS_TABLE_NOW, code_of(pid) + 16), "/"));
	process_table_tick(with_feed, monotonic_ns() + EXEC_MAPS_LINGER_NS);
	assert_non_null(strstr(path_at(with_feed, process, before_ns, code), "test_process_table"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(go);
	process_table_free(with_feed);
	exec_maps_free(maps);
}

static void test_process_table__forgets_who_was_gone_before(void **state)
{
	pid_t pid = fork();
	uint64_t start_ns;

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	start_ns = start_ns_of(pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(is_remembered(pid, start_ns));
}

static void test_process_table__forgets_zombies(void **state)
{
	struct process *process;
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	process = process_table_get(table, pid, start_ns_of(pid), NULL);
	assert_string_equal(process->comm, "test_process_ta");
	snprintf(process->comm, sizeof(process->comm), "marked");
	process_table_age(table);
	process_table_age(table);
	assert_string_equal(process_table_get(table, pid, start_ns_of(pid), NULL)->comm, "test_process_ta");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_process_table__another_process_has_the_pid(void **state)
{
	uint64_t start_ns = start_ns_of(getpid()) - 10 * SECOND_NS;
	struct process *process = process_table_get(table, getpid(), start_ns, "older");

	(void)state;
	assert_string_equal(process->comm, "older");
	assert_string_equal(process->program, "");
	assert_true(process->pid_reused);
	assert_non_null(process_table_symbols(table, process, PROCESS_TABLE_NOW));
	assert_null(process_table_main_module(table, process));
	process_table_age(table);
	process_table_age(table);
	assert_false(is_remembered(getpid(), start_ns));
}

static void test_process_table__keeps_who_lives_and_forgets_who_exits(void **state)
{
	uint64_t start_ns = start_ns_of(getpid());
	struct process *process = process_table_get(table, getpid(), start_ns, NULL);

	(void)state;
	snprintf(process->comm, sizeof(process->comm), "marked");
	process_table_age(table);
	process_table_age(table);
	assert_string_equal(process_table_get(table, getpid(), start_ns, NULL)->comm, "marked");
	process_table_exited(table, getpid());
	process_table_age(table);
	process_table_age(table);
	assert_string_equal(process_table_get(table, getpid(), start_ns, NULL)->comm, "test_process_ta");
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Nobody told of their ends. */
static void test_process_table__sweep_finds_who_ended(void **state)
{
	pid_t ends = start_child(), lives = start_child();
	uint32_t ended[8];

	(void)state;
	process_table_get(table, (uint32_t)ends, start_ns_of(ends), NULL);
	process_table_get(table, (uint32_t)lives, start_ns_of(lives), NULL);
	assert_int_equal(process_table_sweep(table, 8, ended), 0);
	end_child(ends);
	assert_int_equal(process_table_sweep(table, 1, ended) + process_table_sweep(table, 1, ended + 1), 1);
	assert_int_equal(ended[0], ends);
	process_table_exited(table, ended[0]);
	assert_int_equal(process_table_sweep(table, 8, ended), 0);
	process_table_age(table); /* the next to be looked at may be what it drops */
	process_table_age(table);
	end_child(lives);
	assert_int_equal(process_table_sweep(table, 8, ended), 1);
	assert_int_equal(ended[0], lives);
	assert_int_equal(process_table_sweep(NULL, 8, ended), 0);
}

/* Those that have ended stay, as long as a window lasts, and cost no look. */
static void test_process_table__sweep_looks_at_who_lives(void **state)
{
	pid_t ends = start_child(), lives = start_child();
	uint32_t ended;

	(void)state;
	process_table_get(table, (uint32_t)ends, start_ns_of(ends), NULL);
	process_table_get(table, (uint32_t)lives, start_ns_of(lives), NULL);
	end_child(ends);
	process_table_exited(table, (uint32_t)ends);
	process_table_exited(table, (uint32_t)ends);
	end_child(lives);
	assert_int_equal(process_table_sweep(table, 1, &ended), 1);
	assert_int_equal(ended, lives);
}

/* Those of one that runs stay; of one that has ended its name does. */
static void test_process_table__symbols_of_who_ended_go(void **state)
{
	pid_t pid = start_child();
	uint64_t start_ns = start_ns_of(pid), now = monotonic_ns();
	struct process *ends = process_table_get(table, (uint32_t)pid, start_ns, NULL);
	struct process *gone = process_table_get(table, 5000000, 1, "gone");
	struct process *lives = process_table_get(table, (uint32_t)getpid(), start_ns_of(getpid()), NULL);

	(void)state;
	assert_non_null(process_table_symbols(table, ends, PROCESS_TABLE_NOW));
	assert_non_null(process_table_symbols(table, gone, PROCESS_TABLE_NOW));
	assert_non_null(process_table_symbols(table, lives, PROCESS_TABLE_NOW));
	end_child(pid);
	process_table_exited(table, (uint32_t)pid);
	process_table_tick(table, now + EXEC_MAPS_LINGER_NS - SECOND_NS);
	assert_true(ends->sym && gone->sym);
	process_table_tick(table, monotonic_ns() + EXEC_MAPS_LINGER_NS);
	assert_false(ends->sym || gone->sym);
	assert_non_null(lives->sym);
	assert_ptr_equal(process_table_get(table, (uint32_t)pid, start_ns, NULL), ends);
	assert_string_equal(ends->comm, "test_process_ta");
	assert_non_null(
	        process_table_symbols(table, ends, PROCESS_TABLE_NOW)); /* of a stack that comes late */
	process_table_tick(table, monotonic_ns() + EXEC_MAPS_LINGER_NS);
	assert_non_null(ends->sym);
}

static void mark(uint64_t start_ns)
{
	struct process *process = process_table_get(table, getpid(), start_ns, NULL);

	snprintf(process->comm, sizeof(process->comm), "marked");
}

static void test_process_table__who_comes_later_has_the_pid(void **state)
{
	uint64_t start_ns = start_ns_of(getpid());

	(void)state;
	mark(start_ns);
	mark(start_ns + 1);
	process_table_age(table);
	process_table_age(table);
	assert_string_equal(process_table_get(table, getpid(), start_ns + 1, NULL)->comm, "marked");
	assert_string_equal(process_table_get(table, getpid(), start_ns, NULL)->comm, "test_process_ta");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_process_table__reads_who_runs, make_table, free_table),
		cmocka_unit_test_setup_teardown(test_process_table__has_just_ended, make_table, free_table),
		cmocka_unit_test_setup_teardown(test_process_table__ran_another_program, make_table,
		                                free_table),
		cmocka_unit_test_setup_teardown(test_process_table__forgets_who_was_gone_before, make_table,
		                                free_table),
		cmocka_unit_test_setup_teardown(test_process_table__forgets_zombies, make_table, free_table),
		cmocka_unit_test_setup_teardown(test_process_table__another_process_has_the_pid, make_table,
		                                free_table),
		cmocka_unit_test_setup_teardown(test_process_table__keeps_who_lives_and_forgets_who_exits,
		                                make_table, free_table),
		cmocka_unit_test_setup_teardown(test_process_table__sweep_finds_who_ended, make_table,
		                                free_table),
		cmocka_unit_test_setup_teardown(test_process_table__sweep_looks_at_who_lives, make_table,
		                                free_table),
		cmocka_unit_test_setup_teardown(test_process_table__symbols_of_who_ended_go, make_table,
		                                free_table),
		cmocka_unit_test_setup_teardown(test_process_table__who_comes_later_has_the_pid, make_table,
		                                free_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
