/* Tests of index_file.h and object_index.h: writers at once, damage, full disks. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/index/index_maker.h"
#include "symbolizer/index/object_index.h"
#include "tests/unit/compile_program.h"

#define BLOCK_BYTES 16 /* of addresses */

static struct symbolizer_stats stats;
static struct index_dir *dir;
static struct object_index *x;
static char path[256];

static struct index_key key_of(int number)
{
	struct index_key key = { .size = 1000 + (uint64_t)number, .owner = 7 };

	snprintf(key.build_id, sizeof(key.build_id), "%040d", number);
	return key;
}

static int open_all(void **state)
{
	struct index_key key = key_of(0);

	(void)state;
	memset(&stats, 0, sizeof(stats));
	snprintf(path, sizeof(path), "%s/cache", program_dir);
	if (index_dir_open(path, 1 << 24, &dir))
		return -1;
	x = object_index_new(&stats);
	object_index_attach(x, dir, &key);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	object_index_free(x);
	index_dir_close(dir);
	return shell("chmod -R u+rwx '%s' 2> /dev/null; rm -rf '%s'", path, path);
}

/* The same object, as another process would see it. */
static void reopen(void)
{
	struct index_key key = key_of(0);

	object_index_free(x);
	x = object_index_new(&stats);
	object_index_attach(x, dir, &key);
}

/* A block of which all is told by its number. */
static struct index_block *block(uint32_t number)
{
	struct index_builder w;
	struct index_block *b;
	char name[32];

	snprintf(name, sizeof(name), "function_%u", number);
	index_builder_start(&w, (uint64_t)number * BLOCK_BYTES, INDEX_DWARF);
	index_builder_segment(&w, (uint64_t)number * BLOCK_BYTES,
	                      index_builder_scope(&w, INDEX_NO_SCOPE, name, NULL, 0), "file.c", number);
	assert_int_equal(index_builder_finish(&w, (uint64_t)(number + 1) * BLOCK_BYTES, &b), 0);
	return b;
}

static void add(uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		assert_int_equal(object_index_add(x, block(from)), 0);
}

/* Is the block there? If so, it must be as it was made. */
static bool has(uint32_t number)
{
	struct index_frame frames[4];
	enum index_source source;
	char name[32];
	size_t n;

	if (!object_index_find(x, (uint64_t)number * BLOCK_BYTES + 3, frames, 4, &n, &source))
		return false;
	snprintf(name, sizeof(name), "function_%u", number);
	assert_int_equal(n, 1);
	assert_int_equal(source, INDEX_DWARF);
	assert_string_equal(frames[0].name, name);
	assert_string_equal(frames[0].file, "file.c");
	assert_int_equal(frames[0].line, number);
	return true;
}

static void file_name(char *out, size_t size)
{
	struct index_key key = key_of(0);
	char name[INDEX_NAME_SIZE];

	index_key_name(&key, name);
	snprintf(out, size, "%s/%s", path, name);
}

static void test_index_file__kept(void **state)
{
	uint32_t i;

	(void)state;
	add(1, 100);
	assert_false(has(0));
	assert_true(has(99) && !has(100));
	assert_true(object_index_save(x, true));
	assert_int_equal(stats.index_blocks_saved, 99);
	reopen();
	for (i = 1; i < 100; i++)
		assert_true(has(i));
	assert_false(has(0) || has(100));
	assert_int_equal(stats.index_blocks_used, 99);
	assert_int_equal(stats.index_files_loaded, 1);
	assert_int_equal(stats.index_blocks_refused + stats.index_errors, 0);
	/* Nothing is new, so nothing is written. */
	assert_false(object_index_save(x, true));
}

static void test_index_file__room(void **state)
{
	uint64_t low, high;

	(void)state;
	add(10, 11);
	assert_true(object_index_save(x, true));
	add(20, 21);
	object_index_room(x, 15 * BLOCK_BYTES, &low, &high);
	assert_int_equal(low, 11 * BLOCK_BYTES);
	assert_int_equal(high, 20 * BLOCK_BYTES);
	object_index_room(x, 1, &low, &high);
	assert_int_equal(low, 0);
	assert_int_equal(high, 10 * BLOCK_BYTES);
	object_index_room(x, 99 * BLOCK_BYTES, &low, &high);
	assert_int_equal(low, 21 * BLOCK_BYTES);
	assert_true(high == UINT64_MAX);
}

/* What two have found out is all there, whoever writes last; of what both have, one. */
static void test_index_file__two_writers(void **state)
{
	struct index_key key = key_of(0);
	struct object_index *other = object_index_new(&stats), *mine = x;
	uint32_t i;

	(void)state;
	object_index_attach(other, dir, &key);
	add(1, 60);
	x = other;
	add(50, 100);
	assert_true(object_index_save(mine, true));
	assert_true(object_index_save(other, true));
	x = mine;
	object_index_free(other);
	reopen();
	for (i = 1; i < 100; i++)
		assert_true(has(i));
	assert_int_equal(stats.index_blocks_refused, 0);
}

static void test_index_file__not_more_often_than_needed(void **state)
{
	(void)state;
	add(1, 2);
	assert_true(object_index_save(x, false));
	add(2, 3);
	assert_false(object_index_save(x, false));
	assert_true(object_index_save(x, true));
}

static void test_index_file__another_object(void **state)
{
	struct index_key key = key_of(0);
	struct index_file *f;
	char name[sizeof(path) + INDEX_NAME_SIZE];

	(void)state;
	add(1, 2);
	assert_true(object_index_save(x, true));
	file_name(name, sizeof(name));
	key.owner++;
	assert_int_equal(index_file_open_fd(open(name, O_RDONLY), &key, &f), -EBADMSG);
	key = key_of(0);
	key.maker++;
	assert_int_equal(index_file_open_fd(open(name, O_RDONLY), &key, &f), -EBADMSG);
	key = key_of(0);
	key.debug_size = 5;
	assert_int_equal(index_file_open_fd(open(name, O_RDONLY), &key, &f), -EBADMSG);
	assert_int_equal(index_file_open(dir, &key, &f), -ENOENT);
}

/* Of a file with any one byte changed, or cut anywhere, every answer is right, or there is none. */
static void test_index_file__each_byte_changed(void **state)
{
	static uint8_t bytes[8192];
	size_t len, at, missing = 0;
	char name[sizeof(path) + INDEX_NAME_SIZE];
	uint32_t i;
	FILE *file;

	(void)state;
	add(1, 5);
	assert_true(object_index_save(x, true));
	file_name(name, sizeof(name));
	file = fopen(name, "r");
	len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(len, 300, sizeof(bytes) - 1);
	for (at = 0; at < 2 * len; at++) {
		bytes[at % len] ^= 0x10;
		file = fopen(name, "w");
		fwrite(bytes, 1, at < len ? len : at - len, file);
		fclose(file);
		bytes[at % len] ^= 0x10;
		stats.index_blocks_refused = 0;
		reopen();
		for (i = 1; i < 5; i++)
			missing += !has(i);
		assert_true(has(1) + has(2) + has(3) + has(4) == 4 - (int)missing);
		assert_int_equal(missing > 0, stats.index_blocks_refused > 0);
		missing = 0;
	}
	/* What is missing is made anew, and the file is whole again. */
	add(1, 5);
	assert_true(object_index_save(x, true));
	reopen();
	assert_true(has(1) && has(2) && has(3) && has(4));
}

/* A block that no longer is what it was is left out when the file is written anew. */
static void test_index_file__bad_block_is_not_copied(void **state)
{
	struct index_key key = key_of(0);
	struct index_file *f;
	char name[sizeof(path) + INDEX_NAME_SIZE];
	int fd;

	(void)state;
	add(1, 4);
	assert_true(object_index_save(x, true));
	assert_int_equal(index_file_open(dir, &key, &f), 0);
	file_name(name, sizeof(name));
	fd = open(name, O_WRONLY);
	assert_int_equal(pwrite(fd, "x", 1, (off_t)f->entries[1].offset), 1);
	close(fd);
	index_file_close(f);
	reopen();
	add(9, 10);
	assert_true(object_index_save(x, true));
	assert_int_equal(stats.index_blocks_refused, 1);
	assert_true(has(1) && !has(2) && has(3) && has(9));
}

/* Killed at any moment, a writer leaves the file as it was or as it was to be. */
static void test_index_file__killed_while_writing(void **state)
{
	struct timespec pause = { 0 };
	uint32_t round, i, n, before = 0;
	pid_t child;
	int status;

	(void)state;
	for (round = 1; round <= 60; round++) {
		child = fork();
		if (!child) {
			for (i = before; i < before + 400; i++) {
				object_index_add(x, block(i + 1));
				object_index_save(x, true);
			}
			_exit(0);
		}
		pause.tv_nsec = round * 150000;
		nanosleep(&pause, NULL);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		reopen();
		for (n = 0; has(n + 1); n++)
			;
		assert_false(has(n + 2));
		assert_true(n >= before);
		before = n;
	}
	assert_true(before > 0);
	assert_int_equal(stats.index_blocks_refused + stats.index_errors, 0);
}

/* A file that is evicted while another writes is not waited for; what was new of it is lost, and counted. */
static void test_index_file__locked(void **state)
{
	struct timespec begin, end;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	add(1, 2);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_false(object_index_save(x, INDEX_SAVE_NOW));
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_in_range((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000, 0, 500);
	assert_int_equal(stats.index_errors, 1);
	close(fd);
	assert_true(object_index_save(x, INDEX_SAVE_NOW));
}

/* A disk that is full: the limit on a file's size stands for it. */
static void test_index_file__disk_full(void **state)
{
	struct rlimit unlimited, limit;

	(void)state;
	add(1, 2);
	assert_true(object_index_save(x, true));
	add(2, 500);
	getrlimit(RLIMIT_FSIZE, &unlimited);
	limit = (struct rlimit){ .rlim_cur = 4096, .rlim_max = unlimited.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_false(object_index_save(x, true));
	setrlimit(RLIMIT_FSIZE, &unlimited);
	assert_int_equal(stats.index_errors, 1);
	assert_true(has(1) && has(2) && has(499));
	assert_int_equal(shell("test \"$(ls '%s')\" = \"$(cd '%s' && ls *%040d*)\"", path, path, 0), 0);
	assert_true(object_index_save(x, true));
	reopen();
	assert_true(has(1) && has(499));
}

/* It is this program's build-id, which readelf knows, too. */
static void test_index_file__maker(void **state)
{
	char id[64] = "", command[128];
	FILE *pipe;

	(void)state;
	snprintf(command, sizeof(command), "readelf -n /proc/%d/exe | sed -n 's/.*Build ID: //p'", getpid());
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(id, sizeof(id), pipe));
	pclose(pipe);
	id[strcspn(id, "\n")] = 0;
	assert_int_equal(strlen(id), 40);
	assert_true(index_maker() == index_checksum(id, strlen(id)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_index_file__kept, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_index_file__room, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_index_file__two_writers, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_index_file__not_more_often_than_needed, open_all,
		                                close_all),
		cmocka_unit_test_setup_teardown(test_index_file__another_object, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_index_file__each_byte_changed, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_index_file__bad_block_is_not_copied, open_all,
		                                close_all),
		cmocka_unit_test_setup_teardown(test_index_file__killed_while_writing, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_index_file__locked, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_index_file__disk_full, open_all, close_all),
		cmocka_unit_test(test_index_file__maker),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
