/* Tests of map_table.h: mappings that are added, covered, forked and dropped. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/process/map_list.h"
#include "profiler/process/map_table.h"

#define LINGER_NS 1000
#define FORMER_NS 300

static struct map_table *table;

static int new_table(void **state)
{
	(void)state;
	table = map_table_new(LINGER_NS, FORMER_NS);
	return table ? 0 : -1;
}

static int free_table(void **state)
{
	(void)state;
	map_table_free(table);
	return 0;
}

static void add(uint32_t pid, uint64_t start, uint64_t end, const char *path)
{
	const struct exec_mapping mapping = { .start = start, .end = end, .inode = 7, .path = path };

	assert_int_equal(map_table_add(table, pid, &mapping), 0);
}

static void append(void *ctx, const struct exec_mapping *mapping)
{
	char *text = ctx;
	size_t len = strlen(text);

	snprintf(text + len, 512 - len, "%lx-%lx %s;", (unsigned long)mapping->start,
	         (unsigned long)mapping->end, mapping->path);
}

/* The list as text, after what map_table_each() answers. */
static const char *list_at(uint32_t pid, uint64_t at_ns)
{
	static char text[512];
	char list[512] = "";
	int answer = map_table_each(table, pid, map_table_image(table, pid, at_ns), append, list);

	snprintf(text, sizeof(text), "%d %.500s", answer, list);
	return text;
}

static const char *list_of(uint32_t pid)
{
	return list_at(pid, UINT64_MAX);
}

static struct map_table_stats stats(void)
{
	struct map_table_stats now;

	map_table_stats(table, &now);
	return now;
}

static void test_map_table__exec_clears(void **state)
{
	(void)state;
	assert_int_equal(map_table_meet(table, 1), 0);
	add(1, 0x1000, 0x2000, "/a");
	assert_string_equal(list_of(1), "1 1000-2000 /a;");
	assert_int_equal(map_table_exec(table, 1, 10), 0);
	assert_string_equal(list_of(1), "0 ");
	add(1, 0x3000, 0x4000, "/b");
	assert_string_equal(list_of(1), "0 3000-4000 /b;");
}

/* What was mapped before an exec is known for a time. */
static void test_map_table__former_programs(void **state)
{
	(void)state;
	map_table_fork(table, 1, 100);
	add(1, 0x1000, 0x2000, "/shell");
	map_table_exec(table, 1, 5000);
	add(1, 0x1000, 0x2000, "/env");
	map_table_exec(table, 1, 5002);
	add(1, 0x1000, 0x2000, "/python");
	assert_string_equal(list_at(1, 4999), "1 1000-2000 /shell;");
	assert_string_equal(list_at(1, 5000), "0 1000-2000 /env;");
	assert_string_equal(list_at(1, 5001), "0 1000-2000 /env;");
	assert_string_equal(list_at(1, 5002), "0 1000-2000 /python;");
	assert_string_equal(list_at(2, 4999), "-2 ");
	map_table_expire(table, 5001 + FORMER_NS);
	assert_string_equal(list_at(1, 4999), "-2 ");
	assert_string_equal(list_at(1, 5000), "0 1000-2000 /env;");
	map_table_expire(table, 5003 + FORMER_NS);
	assert_string_equal(list_at(1, 5000), "-2 ");
	assert_string_equal(list_of(1), "0 1000-2000 /python;");
	assert_int_equal(stats().mappings, 1);
}

/* The oldest ones go: nothing is known of them then. */
static void test_map_table__too_many_programs(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= MAP_TABLE_FORMERS_MAX + 2; n++) {
		map_table_exec(table, 1, 10 * n);
		add(1, 0x1000 * n, 0x1000 * n + 1, "");
	}
	assert_string_equal(list_at(1, 9), "-2 ");
	assert_string_equal(list_at(1, 10), "-2 ");
	assert_string_equal(list_at(1, 20), "0 2000-2001 ;");
	assert_int_equal(stats().mappings, MAP_TABLE_FORMERS_MAX + 1);
	map_table_fork(table, 1, 2);
	assert_int_equal(stats().mappings, 0);
}

static void test_map_table__fork_shares_until_changed(void **state)
{
	(void)state;
	map_table_exec(table, 1, 10);
	add(1, 0x1000, 0x2000, "/a");
	assert_int_equal(map_table_fork(table, 2, 1), 0);
	assert_int_equal(map_table_fork(table, 3, 2), 0);
	assert_int_equal(stats().mappings, 1);
	add(2, 0x3000, 0x4000, "/b");
	assert_int_equal(stats().mappings, 3);
	add(1, 0x5000, 0x6000, "/c");
	assert_string_equal(list_of(1), "0 1000-2000 /a;5000-6000 /c;");
	assert_string_equal(list_of(2), "0 1000-2000 /a;3000-4000 /b;");
	assert_string_equal(list_of(3), "0 1000-2000 /a;");
	map_table_exec(table, 3, 10);
	assert_string_equal(list_of(3), "0 ");
	assert_string_equal(list_of(1), "0 1000-2000 /a;5000-6000 /c;");
}

static void test_map_table__fork_of_the_unknown(void **state)
{
	(void)state;
	assert_int_equal(map_table_fork(table, 2, 1), 0);
	assert_string_equal(list_of(2), "1 ");
	assert_string_equal(list_of(1), "-2 ");
	assert_int_equal(map_table_fork(table, 2, 2), -EINVAL);
}

/* What a new mapping covers is gone; what it covers in part stays, and comes before it. */
static void test_map_table__later_mappings_cover(void **state)
{
	(void)state;
	map_table_exec(table, 1, 10);
	add(1, 0x1000, 0x2000, "/a");
	add(1, 0x3000, 0x6000, "/b");
	add(1, 0x1000, 0x4000, "/c");
	assert_string_equal(list_of(1), "0 3000-6000 /b;1000-4000 /c;");
	assert_int_equal(map_table_add(table, 1, &(struct exec_mapping){ .start = 5, .end = 5, .path = "" }),
	                 -EINVAL);
}

static void test_map_table__exit_lingers(void **state)
{
	(void)state;
	map_table_fork(table, 1, 100);
	add(1, 0x1000, 0x2000, "/a");
	assert_int_equal(map_table_exit(table, 1, 1, 5000), MAP_TABLE_ENDED);
	assert_int_equal(map_table_exit(table, 1, 1, 5001), MAP_TABLE_LIVES);
	map_table_expire(table, 5000 + LINGER_NS);
	assert_string_equal(list_of(1), "1 1000-2000 /a;");
	map_table_expire(table, 5001 + LINGER_NS);
	assert_string_equal(list_of(1), "-2 ");
	assert_int_equal(stats().mappings, 0);
	assert_int_equal(stats().processes, 0);
}

/* A pid that comes into use again is another process. */
static void test_map_table__pid_reuse(void **state)
{
	(void)state;
	map_table_fork(table, 1, 100);
	add(1, 0x1000, 0x2000, "/a");
	map_table_exit(table, 1, 1, 5000);
	map_table_exec(table, 100, 10);
	map_table_fork(table, 1, 100);
	assert_string_equal(list_of(1), "0 ");
	assert_int_equal(stats().processes, 2);
	map_table_expire(table, 50000);
	assert_string_equal(list_of(1), "0 ");
}

static void test_map_table__threads(void **state)
{
	(void)state;
	map_table_fork(table, 1, 100);
	map_table_thread(table, 1);
	map_table_thread(table, 1);
	assert_int_equal(map_table_exit(table, 1, 1, 1), MAP_TABLE_LIVES);
	assert_int_equal(map_table_exit(table, 1, 12, 2), MAP_TABLE_LIVES);
	assert_int_equal(map_table_exit(table, 1, 13, 3), MAP_TABLE_ENDED);
	/* one whose threads were never counted */
	assert_int_equal(map_table_exit(table, 2, 21, 4), MAP_TABLE_LIVES);
	map_table_meet(table, 2);
	assert_int_equal(map_table_exit(table, 2, 22, 4), MAP_TABLE_LIVES);
	assert_int_equal(map_table_exit(table, 2, 2, 5), MAP_TABLE_UNSURE);
	assert_int_equal(map_table_exit(table, 2, 23, 6), MAP_TABLE_UNSURE);
}

static void test_map_table__distrust(void **state)
{
	(void)state;
	map_table_fork(table, 1, 100);
	map_table_exec(table, 1, 10);
	assert_string_equal(list_of(1), "0 ");
	map_table_distrust(table);
	assert_string_equal(list_of(1), "1 ");
	assert_int_equal(map_table_exit(table, 1, 1, 1), MAP_TABLE_UNSURE);
}

static void test_map_table__too_many_mappings(void **state)
{
	(void)state;
	map_table_exec(table, 1, 10);
	for (uint64_t i = 0; i < MAP_TABLE_MAPPINGS_MAX + 10; i++)
		add(1, 0x1000 * i, 0x1000 * i + 1, "/jit");
	assert_int_equal(stats().mappings, MAP_TABLE_MAPPINGS_MAX);
	assert_int_equal(stats().mappings_dropped, 10);
}

static void test_map_table__too_many_processes(void **state)
{
	(void)state;
	for (uint32_t pid = 1; pid <= MAP_TABLE_PROCESSES_MAX; pid++)
		assert_int_equal(map_table_fork(table, pid, 0), 0);
	assert_int_equal(map_table_fork(table, 100000, 1), -ENOSPC);
	assert_int_equal(stats().processes_refused, 1);
	map_table_exit(table, 5, 5, 1);
	assert_int_equal(map_table_fork(table, 100000, 5), 0);
	assert_string_equal(list_of(5), "-2 ");
}

static void test_map_table__names(void **state)
{
	(void)state;
	map_table_set_name(table, 5, "nobody");
	assert_string_equal(map_table_name(table, 5), "");
	assert_int_equal(map_table_meet(table, 5), 0);
	map_table_set_name(table, 5, "a name that is longer than 15");
	assert_string_equal(map_table_name(table, 5), "a name that is ");
	assert_int_equal(map_table_fork(table, 6, 5), 0);
	map_table_set_name(table, 5, "other");
	assert_string_equal(map_table_name(table, 6), "a name that is ");
	map_table_end(table, 6, 1);
	assert_string_equal(map_table_name(table, 6), "a name that is ");
	map_table_expire(table, 2 + LINGER_NS);
	assert_string_equal(map_table_name(table, 6), "");
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, new_table, free_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(test_map_table__exec_clears),
		WITH_TABLE(test_map_table__former_programs),
		WITH_TABLE(test_map_table__too_many_programs),
		WITH_TABLE(test_map_table__fork_shares_until_changed),
		WITH_TABLE(test_map_table__fork_of_the_unknown),
		WITH_TABLE(test_map_table__later_mappings_cover),
		WITH_TABLE(test_map_table__exit_lingers),
		WITH_TABLE(test_map_table__pid_reuse),
		WITH_TABLE(test_map_table__threads),
		WITH_TABLE(test_map_table__distrust),
		WITH_TABLE(test_map_table__names),
		WITH_TABLE(test_map_table__too_many_mappings),
		WITH_TABLE(test_map_table__too_many_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
