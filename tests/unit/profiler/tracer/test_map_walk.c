/* Tests of map_walk.h with a map of the kernel's. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "profiler/tracer/map_walk.h"
#include "tests/unit/need_root.h"

#define KEYS 1000

struct walk {
	int fd;
	bool deletes;
	unsigned int n, times[KEYS];
};

static int full_map(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "walked", sizeof(uint64_t), sizeof(uint64_t), KEYS, NULL);

	assert_true(fd >= 0);
	for (uint64_t key = 0; key < KEYS; key++)
		assert_int_equal(bpf_map_update_elem(fd, &key, &key, BPF_ANY), 0);
	return fd;
}

static void on_key(void *ctx, uint64_t key)
{
	struct walk *walk = ctx;

	assert_true(key < KEYS);
	walk->n++;
	walk->times[key]++;
	if (walk->deletes)
		assert_int_equal(bpf_map_delete_elem(walk->fd, &key), 0);
}

static void test_map_walk__meets_each_key_once_though_it_is_deleted(void **state)
{
	(void)state;
	need_root(PRIVILEGE_LOAD);
	for (int deletes = 0; deletes < 2; deletes++) {
		struct walk walk = { .fd = full_map(), .deletes = deletes };

		map_walk(walk.fd, KEYS, on_key, &walk);
		assert_int_equal(walk.n, KEYS);
		for (unsigned int key = 0; key < KEYS; key++)
			assert_int_equal(walk.times[key], 1);
		memset(&walk.times, 0, sizeof(walk.times));
		map_walk(walk.fd, KEYS, on_key, &walk);
		assert_int_equal(walk.n, deletes ? KEYS : 2 * KEYS);
		close(walk.fd);
	}
}

static void test_map_walk__ends_at_its_limit(void **state)
{
	struct walk walk = { 0 };

	(void)state;
	need_root(PRIVILEGE_LOAD);
	walk.fd = full_map();
	map_walk(walk.fd, 10, on_key, &walk);
	assert_int_equal(walk.n, 10);
	close(walk.fd);
	map_walk(-1, 10, on_key, &walk);
	assert_int_equal(walk.n, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_walk__meets_each_key_once_though_it_is_deleted),
		cmocka_unit_test(test_map_walk__ends_at_its_limit),
	};

	return cmocka_run_group_tests_name("map_walk", tests, NULL, NULL);
}
