/* Tests of online_cpus.h: which CPUs are told to have gone or come, by a folder that looks like sysfs's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/tracer/online_cpus.h"

#define CPUS 8

static char folder[64];
static char told[256]; /* "+3 -5 " */

static void on_cpu(void *ctx, unsigned int cpu, bool online)
{
	size_t n = strlen(told);

	assert_ptr_equal(ctx, told);
	snprintf(told + n, sizeof(told) - n, "%c%u ", online ? '+' : '-', cpu);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Another folder in place of the CPU's, if it has one, as when the CPU comes online. */
static void bring_up(int cpu)
{
	char path[128], made[128];

	snprintf(path, sizeof(path), "%s/cpu%d/topology", folder, cpu);
	snprintf(made, sizeof(made), "%s/cpu%d/new", folder, cpu);
	assert_int_equal(mkdir(made, 0755), 0);
	rmdir(path);
	assert_int_equal(rename(made, path), 0);
}

static int begin(void **state)
{
	char path[128];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_online_cpus.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		snprintf(path, sizeof(path), "%s/cpu%d", folder, cpu);
		mkdir(path, 0755);
		bring_up(cpu);
	}
	write_file("possible", "0-7\n");
	told[0] = 0;
	return 0;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct online_cpus *new_cpus(const char *online)
{
	struct online_cpus *cpus;

	write_file("online", online);
	cpus = online_cpus_new(folder);
	assert_non_null(cpus);
	return cpus;
}

static void look(struct online_cpus *cpus, const char *want)
{
	told[0] = 0;
	online_cpus_look(cpus, on_cpu, told);
	assert_string_equal(told, want);
}

static void test_online_cpus__go_and_come(void **state)
{
	struct online_cpus *cpus = new_cpus("0-3,6\n");

	(void)state;
	look(cpus, "");
	write_file("online", "0-1,3,6-7\n");
	look(cpus, "-2 +7 ");
	look(cpus, "");
	write_file("online", "0\n");
	look(cpus, "-1 -3 -6 -7 ");
	write_file("online", "0-7\n");
	look(cpus, "+1 +2 +3 +4 +5 +6 +7 ");
	online_cpus_free(cpus);
}

/* The list is the same at both looks, but the CPU's folder is another. */
static void test_online_cpus__back_before_anybody_looked(void **state)
{
	struct online_cpus *cpus = new_cpus("0-7\n");

	(void)state;
	bring_up(5);
	look(cpus, "+5 ");
	look(cpus, "");
	for (int cpu = 1; cpu < CPUS; cpu++)
		bring_up(cpu);
	look(cpus, "+1 +2 +3 +4 +5 +6 +7 ");
	online_cpus_free(cpus);
}

/* As while a CPU is about to come online: it has its folder before it is in the list. */
static void test_online_cpus__the_list_says_who_is_online(void **state)
{
	struct online_cpus *cpus = new_cpus("0-6\n");

	(void)state;
	bring_up(7);
	look(cpus, "");
	write_file("online", "0-7\n");
	look(cpus, "+7 ");
	online_cpus_free(cpus);
}

static void test_online_cpus__without_folders(void **state)
{
	struct online_cpus *cpus;
	char path[128];

	(void)state;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		snprintf(path, sizeof(path), "%s/cpu%d/topology", folder, cpu);
		rmdir(path);
	}
	cpus = new_cpus("0-7\n");
	write_file("online", "0-6\n");
	look(cpus, "-7 ");
	write_file("online", "0-7\n");
	look(cpus, "+7 ");
	online_cpus_free(cpus);
}

static void test_online_cpus__what_cannot_be_read(void **state)
{
	struct online_cpus *cpus = new_cpus("0-7\n");

	(void)state;
	write_file("online", "");
	look(cpus, "");
	write_file("online", "0-9,4000000000-4000000001\n"); /* beyond what is possible */
	look(cpus, "");
	online_cpus_free(cpus);
	online_cpus_look(NULL, on_cpu, told);
	online_cpus_free(NULL);
	assert_null(online_cpus_new("/nonexistent"));
}

static void test_online_cpus__this_host(void **state)
{
	struct online_cpus *cpus = online_cpus_new(NULL);

	(void)state;
	assert_non_null(cpus);
	look(cpus, "");
	online_cpus_free(cpus);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_online_cpus__##name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(go_and_come),     TEST(back_before_anybody_looked), TEST(the_list_says_who_is_online),
		TEST(without_folders), TEST(what_cannot_be_read),        TEST(this_host),
	};

	return cmocka_run_group_tests_name("online_cpus", tests, NULL, NULL);
}
