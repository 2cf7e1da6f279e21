/* Tests of map_room.h, with the object of the BPF programs, which is not loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>

#include "bpf/stallprof.skel.h"
#include "profiler/tracer/map_room.h"

#define CPUS 64

static unsigned int entries_of(const struct stallprof_bpf *bpf, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(bpf->obj, name);

	assert_non_null(map);
	return bpf_map__max_entries(map);
}

static void test_map_room__is_made_in_each_table_that_forgets(void **state)
{
	static const struct {
		const char *name;
		unsigned int entries;
	} in_use[] = { { "works", 8192 },        { "helpers", 4096 },      { "python_told", 16384 },
		       { "known_stacks", 2048 }, { "held_back", 1024 },    { "befallen", 1024 },
		       { "faults", 1024 },       { "dirty_files", 16384 }, { "file_syncs", 4096 } };
	struct stallprof_bpf *bpf = stallprof_bpf__open();

	(void)state;
	assert_non_null(bpf);
	assert_int_equal(bpf_map__set_max_entries(bpf->maps.file_syncs, 4096), 0);
	map_room_for_cpus(bpf->obj, CPUS);
	for (size_t i = 0; i < sizeof(in_use) / sizeof(in_use[0]); i++)
		assert_int_equal(entries_of(bpf, in_use[i].name), in_use[i].entries + 128 * CPUS);
	stallprof_bpf__destroy(bpf);
}

static void test_map_room__leaves_other_tables_alone(void **state)
{
	struct stallprof_bpf *bpf = stallprof_bpf__open(), *made = stallprof_bpf__open();
	struct bpf_map *map;
	unsigned int n = 0;

	(void)state;
	assert_non_null(bpf);
	assert_non_null(made);
	map_room_for_cpus(made->obj, CPUS);
	bpf_object__for_each_map(map, bpf->obj)
	{
		if (bpf_map__type(map) == BPF_MAP_TYPE_LRU_HASH && bpf_map__max_entries(map) > 1)
			continue;
		assert_int_equal(entries_of(made, bpf_map__name(map)), bpf_map__max_entries(map));
		n++;
	}
	assert_true(n > 20);
	assert_int_equal(entries_of(made, "tagged_files"), 1);
	stallprof_bpf__destroy(made);
	stallprof_bpf__destroy(bpf);
}

static void test_map_room__owners_have_more_on_large_hosts(void **state)
{
	(void)state;
	assert_int_equal(map_room_owner_bits(1), 15);
	assert_int_equal(map_room_owner_bits(16), 15);
	assert_int_equal(map_room_owner_bits(32), 16);
	assert_int_equal(map_room_owner_bits(128), 18);
	assert_int_equal(map_room_owner_bits(8192), 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_room__is_made_in_each_table_that_forgets),
		cmocka_unit_test(test_map_room__leaves_other_tables_alone),
		cmocka_unit_test(test_map_room__owners_have_more_on_large_hosts),
	};

	return cmocka_run_group_tests_name("map_room", tests, NULL, NULL);
}
