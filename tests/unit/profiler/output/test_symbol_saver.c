/* The symbolizer's index, written by the saver's thread: what is kept, dropped, and waited for. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "profiler/output/symbol_saver.h"
#include "symbolizer/index/object_index.h"
#include "tests/unit/compile_program.h"

#define SECOND      1000000000ULL
#define BLOCK_BYTES 16 /* of addresses */

static struct symbolizer_stats stats;
static struct index_dir *dir;
static struct object_index *x;
static char path[256];

static void open_object(const struct sym_beside *beside)
{
	struct index_key key = { .build_id = "0123456789abcdef", .size = 1000, .owner = 7 };

	x = object_index_new(&stats);
	object_index_attach(x, dir, &key);
	object_index_save_beside(x, beside);
}

static int open_all(void **state)
{
	(void)state;
	memset(&stats, 0, sizeof(stats));
	snprintf(path, sizeof(path), "%s/cache", program_dir);
	return index_dir_open(path, 1 << 24, &dir);
}

static int close_all(void **state)
{
	(void)state;
	object_index_free(x);
	x = NULL;
	index_dir_close(dir);
	return shell("rm -rf '%s'", path);
}

static void add(uint32_t from, uint32_t to)
{
	for (; from < to; from++) {
		struct index_builder w;
		struct index_block *b;
		char name[32];

		snprintf(name, sizeof(name), "function_%u", from);
		index_builder_start(&w, (uint64_t)from * BLOCK_BYTES, INDEX_DWARF);
		index_builder_segment(&w, (uint64_t)from * BLOCK_BYTES,
		                      index_builder_scope(&w, INDEX_NO_SCOPE, name, NULL, 0), "file.c", from);
		assert_int_equal(index_builder_finish(&w, (uint64_t)(from + 1) * BLOCK_BYTES, &b), 0);
		assert_int_equal(object_index_add(x, b), 0);
	}
}

static void assert_has(uint32_t from, uint32_t to)
{
	for (; from < to; from++) {
		struct index_frame frames[4];
		enum index_source source;
		char name[32];
		size_t n;

		assert_true(object_index_find(x, (uint64_t)from * BLOCK_BYTES + 3, frames, 4, &n, &source));
		snprintf(name, sizeof(name), "function_%u", from);
		assert_string_equal(frames[0].name, name);
		assert_int_equal(frames[0].line, from);
	}
}

static void pause_ms(unsigned int ms)
{
	const struct timespec step = { .tv_nsec = ms * 1000000L };

	nanosleep(&step, NULL);
}

/* Asks until that many are saved. */
static void wait_for_saved(uint64_t n)
{
	for (int i = 0; i < 10000 && stats.index_blocks_saved < n; i++) {
		object_index_save(x, INDEX_SAVE_IN_TURN);
		pause_ms(1);
	}
	assert_int_equal(stats.index_blocks_saved, n);
}

/* The object is used on meanwhile. */
static void test_symbol_saver__saves_while_the_object_is_used(void **state)
{
	struct symbol_saver *saver = symbol_saver_new();
	size_t before;

	(void)state;
	open_object(symbol_saver_beside(saver));
	add(0, 500);
	before = object_index_memory(x);
	assert_false(object_index_save(x, INDEX_SAVE_IN_TURN));
	add(500, 600);
	assert_has(0, 600);
	wait_for_saved(500);
	assert_true(object_index_memory(x) < before);
	assert_has(0, 600);
	/* What is new since then is not lost by that. */
	object_index_save(x, INDEX_SAVE_LAST);
	object_index_free(x);
	symbol_saver_free(saver, 20 * SECOND);
	open_object(NULL);
	assert_has(0, 600);
	assert_int_equal(stats.index_errors + stats.index_blocks_refused, 0);
}

/* Its blocks are saved though nothing else of it is left. */
static void test_symbol_saver__saves_what_is_forgotten(void **state)
{
	struct symbol_saver *saver = symbol_saver_new();

	(void)state;
	open_object(symbol_saver_beside(saver));
	add(0, 100);
	object_index_save(x, INDEX_SAVE_NOW);
	object_index_free(x);
	symbol_saver_free(saver, 20 * SECOND);
	open_object(NULL);
	assert_has(0, 100);
}

/* A disk that hangs. */
static struct {
	struct sym_job job;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool working, go_on, done;
} hang = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void hang_on(struct sym_job *job)
{
	(void)job;
	pthread_mutex_lock(&hang.lock);
	hang.working = true;
	pthread_cond_broadcast(&hang.changed);
	while (!hang.go_on)
		pthread_cond_wait(&hang.changed, &hang.lock);
	hang.done = true;
	pthread_cond_broadcast(&hang.changed);
	pthread_mutex_unlock(&hang.lock);
}

static void begin_to_hang(const struct sym_beside *beside)
{
	hang.job = (struct sym_job){ .work = hang_on, .drop = hang_on };
	hang.working = hang.go_on = hang.done = false;
	beside->take(beside->context, &hang.job);
	pthread_mutex_lock(&hang.lock);
	while (!hang.working)
		pthread_cond_wait(&hang.changed, &hang.lock);
	pthread_mutex_unlock(&hang.lock);
}

static void stop_hanging(void)
{
	pthread_mutex_lock(&hang.lock);
	hang.go_on = true;
	pthread_cond_broadcast(&hang.changed);
	while (!hang.done)
		pthread_cond_wait(&hang.changed, &hang.lock);
	pthread_mutex_unlock(&hang.lock);
}

static void test_symbol_saver__nobody_waits_for_a_disk_that_hangs(void **state)
{
	struct symbol_saver *saver = symbol_saver_new();
	uint64_t began = monotonic_ns();

	(void)state;
	begin_to_hang(symbol_saver_beside(saver));
	open_object(symbol_saver_beside(saver));
	add(0, 100);
	for (int i = 0; i < 100; i++)
		object_index_save(x, INDEX_SAVE_IN_TURN);
	assert_has(0, 100);
	assert_true(monotonic_ns() - began < 5 * SECOND);
	object_index_free(x);
	x = NULL;
	began = monotonic_ns();
	symbol_saver_free(saver, SECOND / 10);
	assert_in_range(monotonic_ns() - began, SECOND / 10, 5 * SECOND);
	stop_hanging();
	pause_ms(50);
}

/* A job that finds no room any more is tried again, by those who still have its blocks. */
static void test_symbol_saver__what_is_dropped_stays_in_memory(void **state)
{
	struct symbol_saver *saver = symbol_saver_new();

	(void)state;
	begin_to_hang(symbol_saver_beside(saver));
	open_object(symbol_saver_beside(saver));
	add(0, 10);
	object_index_save(x, INDEX_SAVE_IN_TURN);
	for (int i = 0; i < SYMBOL_SAVER_JOBS; i++)
		object_index_save(x, INDEX_SAVE_NOW);
	stop_hanging();
	wait_for_saved(10);
	assert_has(0, 10);
	symbol_saver_free(saver, 20 * SECOND);
	symbol_saver_free(NULL, 0);
	assert_null(symbol_saver_beside(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_symbol_saver__saves_while_the_object_is_used, open_all,
		                                close_all),
		cmocka_unit_test_setup_teardown(test_symbol_saver__saves_what_is_forgotten, open_all,
		                                close_all),
		cmocka_unit_test_setup_teardown(test_symbol_saver__nobody_waits_for_a_disk_that_hangs,
		                                open_all, close_all),
		cmocka_unit_test_setup_teardown(test_symbol_saver__what_is_dropped_stays_in_memory, open_all,
		                                close_all),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
