/* Tests of loaded_classes.h: the ledger by class, and its text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/top/top_class_text.h"
#include "profiler/loaded/loaded_classes.h"
#include "tests/unit/loaded_fixture.h"

static const struct loaded_filter all;

static void add(struct ledger *ledger, const char *tag, uint64_t id, uint32_t pid, enum ledger_state state,
                const char *cause, int64_t ns)
{
	const struct ledger_row row = { .id = id, .base = !strcmp(tag, "train.py"), .pid = pid };

	put_row(ledger, tag, row, state, cause, ns);
}

/* Data loading of a rank. */
static void add_rank(struct ledger *ledger, uint32_t rank, uint64_t id, uint32_t pid, int64_t ns)
{
	const struct ledger_row row = { .tag = (char *)"data_load",
		                        .class = (char *)"data_load",
		                        .id = id,
		                        .pid = pid,
		                        .rank_and_1 = rank + 1,
		                        .comm = (char *)"python3",
		                        .state = LEDGER_BLOCKED,
		                        .cause = (char *)"poll",
		                        .ns = ns };

	assert_int_equal(ledger_add(ledger, &row), 0);
}

/* A loop of 100 steps with 10 checkpoints, and idle threads under the process's own tag. */
static struct ledger *training(void)
{
	struct ledger *ledger = ledger_new(0);

	for (uint64_t step = 1; step <= 100; step++) {
		add(ledger, "train_step", step, 7, LEDGER_ONCPU, "", 40 * MS);
		add(ledger, "data_load", step, 7, LEDGER_BLOCKED, "poll", step * MS);
		add(ledger, "data_load", step, 7, LEDGER_STALL, "block_io", MS);
	}
	for (uint64_t step = 10; step <= 100; step += 10) {
		char tag[64];

		snprintf(tag, sizeof(tag), "ckpt/run%d/step%d", step > 50, (int)step);
		add(ledger, tag, step, 7, LEDGER_STALL, "writeback", 30 * MS);
		add(ledger, tag, step, 7, LEDGER_ONCPU, "", 10 * MS);
	}
	add(ledger, "train.py", 0, 7, LEDGER_BLOCKED, "lock", 90000ul * MS);
	add(ledger, "train.py", 0, 8, LEDGER_BLOCKED, "lock", 90000ul * MS);
	add(ledger, "train.py", 0, 8, LEDGER_RUNQUEUE, "", MS);
	return ledger;
}

static void build(struct loaded_classes *table, struct ledger *ledger, const struct loaded_filter *filter,
                  enum loaded_level level)
{
	struct loaded_profiles input = { .ledger = ledger };

	assert_int_equal(loaded_classes_build(table, &input, filter, level), 0);
}

/* A class that comes when the ledger is full has no row for any of its steps: none of them is the worst. */
static void test_loaded_classes__without_steps(void **state)
{
	struct ledger *ledger = ledger_new(1);
	const struct loaded_class *late;
	struct loaded_classes table;

	(void)state;
	add(ledger, "train_step", 1, 7, LEDGER_ONCPU, "", MS);
	for (uint64_t step = 1; step <= 3; step++)
		add(ledger, "ckpt/late", step, 7, LEDGER_STALL, "writeback", MS);
	build(&table, ledger, &(struct loaded_filter){ 0 }, LOADED_LEVEL_CLASS);
	late = loaded_classes_find(&table, "ckpt");
	assert_non_null(late);
	assert_int_equal(late->wall_ns, 3 * MS);
	assert_null(late->worst);
	loaded_classes_free(&table);
	ledger_free(ledger);
}

/* Each rank has its own steps, which have the same names and ids in all of them. */
static void test_loaded_classes__steps_of_each_process(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct loaded_classes table;

	(void)state;
	for (uint64_t step = 1; step <= 10; step++)
		for (uint32_t pid = 7; pid < 10; pid++)
			add(ledger, "train_step", step, pid, LEDGER_ONCPU, "", (int64_t)step * MS);
	build(&table, ledger, &all, LOADED_LEVEL_PROCESS);
	assert_int_equal(table.count, 3);
	for (size_t i = 0; i < table.count; i++)
		assert_int_equal(table.rows[i].tags, 10);
	loaded_classes_free(&table);
	build(&table, ledger, &all, LOADED_LEVEL_CLASS);
	assert_int_equal(table.rows[0].tags, 10);
	loaded_classes_free(&table);
	ledger_free(ledger);
}

/* The rank may be known late, or only from a later window on. */
static void test_loaded_classes__a_process_whose_rank_is_known_late(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct loaded_classes table;

	(void)state;
	add(ledger, "data_load", 1, 7, LEDGER_BLOCKED, "poll", MS);
	add_rank(ledger, 3, 2, 7, 2 * MS);
	add(ledger, "data_load", 3, 7, LEDGER_BLOCKED, "poll", MS);
	build(&table, ledger, &all, LOADED_LEVEL_PROCESS);
	assert_int_equal(table.count, 1);
	assert_string_equal(table.rows[0].name, "data_load rank 3 python3[7]");
	assert_int_equal(table.rows[0].wall_ns, 4 * MS);
	loaded_classes_free(&table);
	ledger_free(ledger);
}

static void test_loaded_classes__lost_most_first(void **state)
{
	static const char *const columns[] = { "oncpu", "runqueue", "block_io", "writeback", "blocked" };
	static const char *const names[] = { "data_load", "ckpt", "train_step", "train.py" };
	struct ledger *ledger = training();
	struct loaded_classes table;

	(void)state;
	build(&table, ledger, &all, LOADED_LEVEL_CLASS);
	assert_int_equal(table.column_count, COUNT(columns));
	for (size_t i = 0; i < COUNT(columns); i++)
		assert_string_equal(table.columns[i], columns[i]);
	assert_int_equal(table.count, COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++)
		assert_string_equal(table.rows[i].name, names[i]);
	assert_int_equal(table.processes, 2);
	assert_int_equal(table.rows[0].wall_ns, (5050 + 100ul) * MS);
	assert_int_equal(table.rows[0].ns[4], 5050ul * MS);
	assert_int_equal(table.rows[0].lost_ns, (5050 + 100ul) * MS);
	assert_int_equal(table.rows[1].ns[3], 300 * MS);
	assert_true(table.rows[3].base && !table.rows[0].base);
	assert_int_equal(table.rows[3].lost_ns, MS); /* its idle threads lose nothing */
	loaded_classes_free(&table);
	ledger_free(ledger);
}

static void test_loaded_classes__steps(void **state)
{
	struct ledger *ledger = training();
	struct loaded_classes table;
	const struct loaded_class *row;

	(void)state;
	/* Step 200 of two processes: two steps of one tag. A third one was forked in it, and has none of its own. */
	add(ledger, "data_load", 200, 7, LEDGER_BLOCKED, "poll", 500 * MS);
	add(ledger, "data_load", 200, 8, LEDGER_BLOCKED, "poll", 600 * MS);
	add(ledger, "data_load", 201, 8, LEDGER_BLOCKED, "poll", 600 * MS);
	add(ledger, "data_load", 200, 9, LEDGER_ONCPU, "", 1);
	add(ledger, "train.py", 0, 9, LEDGER_ONCPU, "", 1);
	/* Of two ranks one is late, and the other has forked a process. */
	add_rank(ledger, 2, 300, 11, 300 * MS);
	add_rank(ledger, 2, 301, 11, 300 * MS);
	add_rank(ledger, 2, 300, 12, 1);
	add_rank(ledger, 3, 300, 10, 700 * MS);
	build(&table, ledger, &all, LOADED_LEVEL_CLASS);
	row = loaded_classes_find(&table, "data_load");
	assert_int_equal(row->tags, 104);
	/* As numpy.percentile([*range(2, 102), 300, 300, 500, 600, 600, 700], [50, 99]) has them. */
	assert_int_equal(row->p50_ns, 54500000);
	assert_int_equal(row->p99_ns, 600000000);
	assert_int_equal(row->worst_ns, 700 * MS);
	assert_int_equal(row->worst->id, 300);
	assert_int_equal(row->worst->pid, 10);
	assert_null(loaded_classes_find(&table, "data"));
	loaded_classes_free(&table);
	ledger_free(ledger);
}

/* What a full ledger sums by class is in the class's time, and no step of it. */
static void test_loaded_classes__full_ledger(void **state)
{
	struct ledger *whole = training(), *full = ledger_new(200);
	struct loaded_classes want, table;

	(void)state;
	for (size_t i = 0; i < ledger_count(whole); i++)
		assert_int_equal(ledger_add(full, ledger_at(whole, i)), 0);
	assert_true(ledger_folded(full) > 0);
	build(&want, whole, &all, LOADED_LEVEL_CLASS);
	build(&table, full, &all, LOADED_LEVEL_CLASS);
	assert_int_equal(table.count, want.count);
	for (size_t i = 0; i < table.count; i++) {
		const struct loaded_class *row = &table.rows[i];

		assert_int_equal(row->wall_ns, loaded_classes_find(&want, row->name)->wall_ns);
		assert_true(row->tags <= loaded_classes_find(&want, row->name)->tags);
		assert_true(row->worst_ns <= loaded_classes_find(&want, row->name)->worst_ns);
	}
	assert_int_equal(loaded_classes_find(&table, "train_step")->tags, 0);
	assert_int_equal(loaded_classes_find(&table, "train_step")->worst_ns, 0);
	loaded_classes_free(&table);
	loaded_classes_free(&want);
	ledger_free(full);
	ledger_free(whole);
}

/* One level of the names at a time, never two. */
static void test_loaded_classes__levels(void **state)
{
	static const struct {
		const char *tag;
		enum loaded_level level;
		const char *names[4]; /* sorted by lost, wall, name */
		size_t count;
	} rows[] = {
		{ "ckpt", LOADED_LEVEL_CLASS, { "ckpt/run0", "ckpt/run1" }, 2 },
		{ "ckpt/", LOADED_LEVEL_CLASS, { "ckpt/run0", "ckpt/run1" }, 2 },
		{ "ckpt/run1", LOADED_LEVEL_CLASS, { "ckpt/run1/step100", "ckpt/run1/step60" }, 5 },
		{ "ckpt/run1/step60", LOADED_LEVEL_CLASS, { "ckpt/run1/step60" }, 1 },
		{ "id=60", LOADED_LEVEL_CLASS, { "data_load", "ckpt", "train_step" }, 3 },
		{ "train_step", LOADED_LEVEL_CLASS, { "train_step" }, 1 },
		{ "train_step", LOADED_LEVEL_TAG, { "train_step" }, 100 },
		{ NULL, LOADED_LEVEL_TAG, { "data_load" }, 211 },
		{ "nothing", LOADED_LEVEL_CLASS, { NULL }, 0 },
	};
	struct ledger *ledger = training();

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct loaded_filter filter = { .tag = rows[i].tag };
		struct loaded_classes table;

		build(&table, ledger, &filter, rows[i].level);
		assert_int_equal(table.count, rows[i].count);
		for (size_t n = 0; n < 4 && rows[i].names[n]; n++)
			assert_string_equal(table.rows[n].name, rows[i].names[n]);
		loaded_classes_free(&table);
	}
	ledger_free(ledger);
}

/* Where nothing pushes tags, the tags of processes are all there is, and what they wait for is lost. */
static void test_loaded_classes__processes_alone(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct loaded_classes table;

	(void)state;
	add(ledger, "train.py", 0, 7, LEDGER_BLOCKED, "lock", 5);
	build(&table, ledger, &all, LOADED_LEVEL_CLASS);
	assert_false(table.rows[0].base);
	assert_int_equal(table.rows[0].lost_ns, 5);
	loaded_classes_free(&table);
	ledger_free(ledger);
}

/* More causes than columns: they go to one of their own, and nothing is lost. */
static void test_loaded_classes__many_causes(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct loaded_classes table;
	uint64_t sum = 0;
	char cause[32];

	(void)state;
	for (int i = 0; i < 2 * LOADED_COLUMNS_MAX; i++) {
		snprintf(cause, sizeof(cause), "cause%d", i);
		add(ledger, "t", 1, 7, LEDGER_STALL, cause, 1);
	}
	add(ledger, "t", 1, 7, LEDGER_BLOCKED, "undecided", 3);
	add(ledger, "t", 1, 7, LEDGER_UNOBSERVED, "", 5);
	build(&table, ledger, &all, LOADED_LEVEL_CLASS);
	assert_int_equal(table.column_count, LOADED_COLUMNS_MAX);
	for (size_t i = 0; i < table.column_count; i++)
		sum += table.rows[0].ns[i];
	assert_int_equal(sum, table.rows[0].wall_ns);
	assert_int_equal(sum, 2 * LOADED_COLUMNS_MAX + 8);
	assert_string_equal(table.columns[LOADED_COLUMNS_MAX - 2], "undecided");
	assert_int_equal(table.rows[0].ns[LOADED_COLUMNS_MAX - 2], 3);
	loaded_classes_free(&table);
	ledger_free(ledger);
}

/* --- text ------------------------------------------------------------------------------------------------- */

static char *text_of(struct ledger *ledger, size_t limit, size_t columns, size_t *lines)
{
	struct stamp_coverage coverage = { .covered_ns = 10000ul * MS, .windows = 2 };
	struct loaded_classes table;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(&table, ledger, &all, LOADED_LEVEL_CLASS);
	*lines = top_text_classes(out, &table, &coverage, limit, columns);
	fclose(out);
	loaded_classes_free(&table);
	return text;
}

static void test_loaded_classes__text(void **state)
{
	static const char *const want =
	        "Where the time went: 10.0 s in 2 windows, 2 processes. A tag's times add up its\n"
	        "threads (so many at a time); below each is its share of the tag's wall time.\n"
	        "\n"
	        "              threads     wall    oncpu  runqueue  block_io  writeback  blocked\n"
	        "data_load        0.52   5.15 s        -         -    100 ms          -   5.05 s\n"
	        "                                                      1.9 %              98.1 %\n"
	        "ckpt             0.04   400 ms   100 ms         -         -     300 ms        -\n"
	        "                                 25.0 %                         75.0 %\n"
	        "train_step       0.40   4.00 s   4.00 s         -         -          -        -\n"
	        "                                100.0 %\n"
	        "train.py        18.00    180 s        -   1.00 ms         -          -    180 s\n"
	        "                                            0.0 %                       100.0 %\n"
	        "\n"
	        "                 tags      p50      p99    worst\n"
	        "data_load         100  51.5 ms   100 ms   101 ms  data_load id=100\n"
	        "ckpt               10  40.0 ms  40.0 ms  40.0 ms  ckpt/run0/step10 id=10\n"
	        "train_step        100  40.0 ms  40.0 ms  40.0 ms  train_step id=1\n";
	struct ledger *ledger = training();
	size_t lines;
	char *text = text_of(ledger, 0, 0, &lines);

	(void)state;
	assert_string_equal(text, want);
	assert_int_equal(lines, count_lines(text));
	free(text);
	text = text_of(ledger, 1, 0, &lines);
	assert_non_null(strstr(text, "and 3 more, which waited less (-n 0 shows all)\n"));
	assert_null(strstr(text, "train_step"));
	assert_int_equal(lines, count_lines(text));
	free(text);
	ledger_free(ledger);
}

/* A narrow terminal: the least causes share a column, and nothing of the time goes. */
static void test_loaded_classes__narrow_text(void **state)
{
	struct ledger *ledger = training();
	size_t lines;
	char *text = text_of(ledger, 0, 78, &lines);

	(void)state;
	assert_non_null(strstr(text, "wall    oncpu  runqueue    stall  blocked\n"));
	assert_non_null(
	        strstr(text, "data_load        0.52   5.15 s        -         -   100 ms   5.05 s\n"));
	assert_non_null(
	        strstr(text, "ckpt             0.04   400 ms   100 ms         -   300 ms        -\n"));
	free(text);
	ledger_free(ledger);
}

/* In one window's file, what the window before was told provisionally is taken back. */
static void test_loaded_classes__a_row_taken_back(void **state)
{
	struct ledger *ledger = ledger_new(0);
	struct loaded_classes table;
	char *text;
	size_t lines;

	(void)state;
	add(ledger, "read", 1, 7, LEDGER_STALL, "block_io", 1500 * MS);
	add(ledger, "read", 1, 7, LEDGER_BLOCKED, "undecided", -1000 * (int64_t)MS);
	build(&table, ledger, &all, LOADED_LEVEL_CLASS);
	assert_int_equal(table.rows[0].wall_ns, 500 * MS);
	assert_int_equal(table.rows[0].lost_ns, 500 * MS);
	assert_string_equal(table.columns[4], "undecided");
	assert_int_equal(table.rows[0].ns[4], -1000 * (int64_t)MS);
	loaded_classes_free(&table);
	text = text_of(ledger, 0, 0, &lines);
	assert_non_null(strstr(text, "-1.00 s"));
	assert_non_null(strstr(text, "-200.0 %"));
	free(text);
	ledger_free(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_classes__without_steps),
		cmocka_unit_test(test_loaded_classes__steps_of_each_process),
		cmocka_unit_test(test_loaded_classes__a_process_whose_rank_is_known_late),
		cmocka_unit_test(test_loaded_classes__lost_most_first),
		cmocka_unit_test(test_loaded_classes__steps),
		cmocka_unit_test(test_loaded_classes__full_ledger),
		cmocka_unit_test(test_loaded_classes__levels),
		cmocka_unit_test(test_loaded_classes__processes_alone),
		cmocka_unit_test(test_loaded_classes__many_causes),
		cmocka_unit_test(test_loaded_classes__a_row_taken_back),
		cmocka_unit_test(test_loaded_classes__text),
		cmocka_unit_test(test_loaded_classes__narrow_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
