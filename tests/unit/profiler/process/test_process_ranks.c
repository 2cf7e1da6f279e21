/* Tests of process_ranks.h: the rank that an environment names. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/process/process_ranks.h"

#define RANK_IN(text) process_rank_in(text, sizeof(text) - 1)

static void test_process_ranks__what_an_environment_says(void **state)
{
	(void)state;
	assert_int_equal(RANK_IN("A=1\0RANK=3\0LOCAL_RANK=1\0"), 3);
	assert_int_equal(RANK_IN("LOCAL_RANK=1\0RANK=30\0"), 30);
	assert_int_equal(RANK_IN("LOCAL_RANK=1\0"), 1);
	assert_int_equal(RANK_IN("OMPI_COMM_WORLD_RANK=6\0LOCAL_RANK=1\0"), 1);
	assert_int_equal(RANK_IN("PMI_RANK=5\0OMPI_COMM_WORLD_RANK=6\0"), 6);
	assert_int_equal(RANK_IN("PMIX_RANK=7\0OMPI_COMM_WORLD_RANK=6\0"), 6);
	assert_int_equal(RANK_IN("PMIX_RANK=7\0PMI_RANK=5\0"), 7);
	assert_int_equal(RANK_IN("OMPI_COMM_WORLD_RANK=0\0RANK=8\0"), 8);
	assert_int_equal(RANK_IN("SLURM_PROCID=2\0"), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("RANK=0"), 0);
	assert_int_equal(RANK_IN("RANK=9999999\0"), 9999999);
	assert_int_equal(RANK_IN("RANK=general\0LOCAL_RANK=2\0"), 2);
	assert_int_equal(RANK_IN("RANK=general\0"), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("RANK=-1\0"), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("RANK=\0"), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("RANK="), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("RANK=10000000\0"), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("RANK=99999999999999999999\0"), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("XRANK=1\0RANKS=2\0NODE_RANK=3\0"), PROCESS_RANK_NONE);
	assert_int_equal(RANK_IN("\0\0\0"), PROCESS_RANK_NONE);
	assert_int_equal(process_rank_in("", 0), PROCESS_RANK_NONE);
	/* Cut where the number goes on. */
	assert_int_equal(process_rank_in("RANK=12", 6), 1);
}

static pid_t child_with(const char *variable)
{
	char *const argv[] = { (char *)"sleep", (char *)"60", NULL };
	char *const environment[] = { (char *)variable, NULL };
	pid_t pid = fork();

	if (pid == 0) {
		execve("/bin/sleep", argv, environment);
		_exit(127);
	}
	return pid;
}

/* The file's first line, or what it has of one; "" for an empty file. */
static void read_line(pid_t pid, const char *name, char line[64])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	assert_non_null(file);
	if (!fgets(line, 64, file))
		line[0] = '\0';
	fclose(file);
}

/* Until it has executed: the kernel names the process first, and gives it its environment a little later. */
static void wait_for_exec(pid_t pid)
{
	char name[64] = "", environment[64] = "";

	while (strcmp(name, "sleep\n") != 0 || !*environment) {
		read_line(pid, "comm", name);
		read_line(pid, "environ", environment);
	}
}

static void test_process_ranks__of_processes(void **state)
{
	struct process_ranks *ranks = process_ranks_new();
	pid_t one = child_with("RANK=7"), other = child_with("PATH=/bin");

	(void)state;
	assert_non_null(ranks);
	wait_for_exec(one);
	wait_for_exec(other);
	assert_int_equal(process_ranks_of(ranks, one, 5), 7);
	assert_int_equal(process_ranks_of(ranks, other, 6), PROCESS_RANK_NONE);
	assert_int_equal(process_ranks_of(NULL, one, 5), PROCESS_RANK_NONE);
	kill(one, SIGKILL);
	kill(other, SIGKILL);
	waitpid(one, NULL, 0);
	waitpid(other, NULL, 0);
	/* Known, though it is gone; another that has its number is not it. */
	assert_int_equal(process_ranks_of(ranks, one, 5), 7);
	assert_int_equal(process_ranks_of(ranks, one, 9), PROCESS_RANK_NONE);
	process_ranks_age(ranks);
	assert_int_equal(process_ranks_of(ranks, one, 5), 7);
	for (int i = 0; i < 4; i++)
		process_ranks_age(ranks);
	assert_int_equal(process_ranks_of(ranks, one, 5), PROCESS_RANK_NONE);
	process_ranks_free(ranks);
	process_ranks_free(NULL);
}

/* Met in its launcher's environment; found as soon as it executes, not a second later. */
static void test_process_ranks__met_before_its_exec(void **state)
{
	struct process_ranks *ranks = process_ranks_new();
	pid_t other = child_with("PATH=/bin"), pid;
	int gate[2];
	char byte;

	(void)state;
	wait_for_exec(other);
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (pid == 0) {
		char *const argv[] = { (char *)"sleep", (char *)"60", NULL };
		char *const environment[] = { (char *)"RANK=7", NULL };

		if (read(gate[0], &byte, 1) == 1)
			execve("/bin/sleep", argv, environment);
		_exit(127);
	}
	assert_int_equal(process_ranks_of(ranks, pid, 5), PROCESS_RANK_NONE);
	assert_int_equal(process_ranks_of(ranks, other, 6), PROCESS_RANK_NONE);
	assert_int_equal(write(gate[1], "", 1), 1);
	wait_for_exec(pid);
	assert_int_equal(process_ranks_of(ranks, pid, 5), PROCESS_RANK_NONE);
	process_ranks_exec(ranks, pid);
	process_ranks_exec(NULL, pid);
	assert_int_equal(process_ranks_of(ranks, pid, 5), 7);
	assert_int_equal(process_ranks_of(ranks, other, 6), PROCESS_RANK_NONE);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	/* Gone: what was known stays. */
	process_ranks_exec(ranks, pid);
	assert_int_equal(process_ranks_of(ranks, pid, 5), 7);
	close(gate[0]);
	close(gate[1]);
	process_ranks_free(ranks);
}

/* Has RANK=3 until a byte comes through the gate, then it executes with RANK=7. */
static pid_t child_that_changes(int gate)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"read line; RANK=7 exec sleep 60", NULL };
	char *const environment[] = { (char *)"PATH=/bin", (char *)"RANK=3", NULL };
	pid_t pid = fork();
	char name[64] = "";

	if (pid == 0) {
		dup2(gate, 0);
		execve("/bin/sh", argv, environment);
		_exit(127);
	}
	while (strncmp(name, "PATH=/bin", 9) != 0)
		read_line(pid, "environ", name);
	return pid;
}

/* It executes while no more environments are read in this second: its old rank is not its rank any more. */
static void test_process_ranks__exec_in_a_storm(void **state)
{
	struct process_ranks *ranks = process_ranks_new();
	int gate[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	pid = child_that_changes(gate[0]);
	assert_int_equal(process_ranks_of(ranks, pid, 5), 3);
	assert_int_equal(write(gate[1], "\n", 1), 1);
	wait_for_exec(pid);
	for (uint32_t i = 0; i < 2 * PROCESS_RANKS_READS; i++)
		process_ranks_of(ranks, 5000000 + i, 100);
	process_ranks_exec(ranks, pid);
	assert_int_not_equal(process_ranks_of(ranks, pid, 5), 3);
	usleep(1100000);
	assert_int_equal(process_ranks_of(ranks, pid, 5), 7);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(gate[0]);
	close(gate[1]);
	process_ranks_free(ranks);
}

/* An older process with its pid has ended, with the rank that it had, whichever was met first. */
static void test_process_ranks__exec_is_that_of_the_youngest(void **state)
{
	struct process_ranks *ranks = process_ranks_new();
	int gate[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	pid = child_that_changes(gate[0]);
	assert_int_equal(process_ranks_of(ranks, pid, 5), 3);
	assert_int_equal(process_ranks_of(ranks, pid, 9), 3);
	assert_int_equal(process_ranks_of(ranks, pid, 7), 3);
	assert_int_equal(write(gate[1], "\n", 1), 1);
	wait_for_exec(pid);
	process_ranks_exec(ranks, pid);
	assert_int_equal(process_ranks_of(ranks, pid, 5), 3);
	assert_int_equal(process_ranks_of(ranks, pid, 7), 3);
	assert_int_equal(process_ranks_of(ranks, pid, 9), 7);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(gate[0]);
	close(gate[1]);
	for (int i = 0; i < 4; i++)
		process_ranks_age(ranks);
	process_ranks_exec(ranks, pid); /* it is not known any more */
	process_ranks_free(ranks);
}

/* As a storm of short-lived processes would ask: each of them is another one. */
static void test_process_ranks__a_second_has_so_many(void **state)
{
	struct process_ranks *ranks = process_ranks_new();
	pid_t pid = child_with("RANK=7");
	unsigned int found = 0;

	(void)state;
	wait_for_exec(pid);
	for (uint64_t i = 0; i < 3 * PROCESS_RANKS_READS; i++)
		found += process_ranks_of(ranks, pid, i) == 7;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Twice as many, where a second ends in between. */
	assert_in_range(found, PROCESS_RANKS_READS, 2 * PROCESS_RANKS_READS);
	process_ranks_free(ranks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_ranks__what_an_environment_says),
		cmocka_unit_test(test_process_ranks__of_processes),
		cmocka_unit_test(test_process_ranks__met_before_its_exec),
		cmocka_unit_test(test_process_ranks__exec_in_a_storm),
		cmocka_unit_test(test_process_ranks__exec_is_that_of_the_youngest),
		cmocka_unit_test(test_process_ranks__a_second_has_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
