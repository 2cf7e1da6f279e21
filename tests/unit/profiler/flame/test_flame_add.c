/* Tests of flame_add.h: samples and ledger rows of a file as records of a flame graph's tables. */

#include "tests/unit/loaded_fixture.h"

#include <errno.h>

#include "profiler/flame/flame_add.h"
#include "profiler/flame/flame_data.h"
#include "profiler/flame/flame_tree.h"
#include "profiler/format/host_note.h"
#include "profiler/loaded/loaded_frames.h"

static const struct loaded_filter all;

static struct flame_data *added(const struct loaded_profiles *input, const char *side,
                                const struct loaded_filter *filter)
{
	struct flame_data *data = flame_data_new();

	assert_non_null(data);
	assert_int_equal(flame_add(data, input, side, filter), 0);
	return data;
}

static const char *text_of(const struct flame_data *data, size_t sample, enum flame_dimension dimension)
{
	return flame_text(data, flame_sample(data, sample)->texts[dimension]);
}

static const struct flame_frame *leaf_of(const struct flame_data *data, size_t sample)
{
	return flame_frame(data, flame_node(data, flame_sample(data, sample)->node)->frame);
}

static void test_flame_add__samples_with_what_they_are_filtered_by(void **state)
{
	const struct fixture *fixture = *state;
	struct flame_data *data = added(&fixture->input, FLAME_BASE_SIDE, &all);
	int delay = flame_type(data, "delay");

	assert_int_equal(data->samples.n, 4);
	assert_int_equal(data->type_count, 3);
	assert_string_equal(text_of(data, 0, FLAME_CLASS), "checkpoint_write");
	assert_string_equal(text_of(data, 0, FLAME_STALL), "block_io");
	assert_string_equal(text_of(data, 0, FLAME_DEVICE), "vda");
	assert_string_equal(text_of(data, 0, FLAME_SIDE), FLAME_BASE_SIDE);
	assert_string_equal(text_of(data, 0, FLAME_HOST), "");
	assert_int_equal(flame_value(data, 0, (size_t)delay), 50 * MS);
	assert_int_equal(flame_type(data, "wishes"), -ENOENT);
	flame_data_free(data);
}

static void test_flame_add__stacks_share_their_outer_nodes(void **state)
{
	const struct fixture *fixture = *state;
	struct flame_data *data = added(&fixture->input, "", &all);

	/* main; in it write_shard with flush inlined; in that io_schedule, or both again; io_schedule in main. */
	assert_int_equal(data->nodes.n, 7);
	for (uint32_t i = 0; i < data->nodes.n; i++)
		assert_true(flame_node(data, i)->parent == FLAME_NONE || flame_node(data, i)->parent < i);
	assert_string_equal(flame_text(data, leaf_of(data, 0)->name), "io_schedule");
	assert_string_equal(flame_text(data, leaf_of(data, 1)->name), "flush");
	assert_int_equal(leaf_of(data, 1)->kind & FLAME_INLINED, FLAME_INLINED);
	assert_int_equal(leaf_of(data, 0)->kind & FLAME_INLINED, 0);
	flame_data_free(data);
}

static void test_flame_add__equal_samples_of_two_files_are_one(void **state)
{
	const struct fixture *fixture = *state;
	struct flame_data *data = added(&fixture->input, "", &all);
	size_t nodes = data->nodes.n, rows = data->rows.n;

	assert_int_equal(flame_add(data, &fixture->input, "", &all), 0);
	assert_int_equal(data->samples.n, 4);
	assert_int_equal(data->nodes.n, nodes);
	assert_int_equal(data->rows.n, rows);
	assert_int_equal(flame_value(data, 0, 1), 100 * MS);
	assert_int_equal(flame_add(data, &fixture->input, FLAME_BASE_SIDE, &all), 0);
	assert_int_equal(data->samples.n, 8);
	flame_data_free(data);
}

static int64_t sum_of(const struct flame_data *data, const char *class, const char *stall)
{
	int64_t sum = 0;

	for (size_t i = 0; i < data->rows.n; i++) {
		const struct flame_row *row = flame_row(data, i);

		if (!strcmp(flame_text(data, row->texts[FLAME_CLASS]), class) &&
		    !strcmp(flame_text(data, row->texts[FLAME_STALL]), stall))
			sum += data->sums[i].ns;
	}
	return sum;
}

static void test_flame_add__the_ledger_by_class(void **state)
{
	const struct fixture *fixture = *state;
	const struct loaded_filter step = { .tag = "step" };
	struct flame_data *data = added(&fixture->input, "", &all);

	assert_int_equal(sum_of(data, "checkpoint_write", "block_io"), 60 * MS);
	assert_int_equal(sum_of(data, "step", "throttle"), 10 * MS);
	flame_data_free(data);
	data = added(&fixture->input, "", &step);
	assert_int_equal(sum_of(data, "checkpoint_write", "block_io"), 0);
	assert_int_equal(sum_of(data, "step", "throttle"), 10 * MS);
	assert_int_equal(data->samples.n, 2);
	flame_data_free(data);
}

/* A profile of one sample with this stack; the innermost frame's mapping is `file`. */
static struct profile *profile_of(const char *file, const char *function, int64_t at)
{
	struct profile *p = profile_new(types, 3, types[CPU], 1, 1 << 20);
	const struct profile_frame inner = { .function = function, .file = "/srv/x", .line = 3 };
	const struct profile_frame outer = { .function = "outer", .file = "/srv/y", .line = 4 };
	const struct profile_frame python = { .function = "train", .file = "/srv/train.py", .line = 5 };
	const int64_t values[] = { 1, 7, 0 };
	int64_t ids[3], mapping, kernel, code;
	const struct profile_label labels[] = {
		{ .key = "at", .num = at, .unit = "unix_seconds" },
	};

	code = profile_mapping(p, 0x1000, 0x2000, 0, "/bin/train", NULL, true, true);
	kernel = profile_mapping(p, 0x3000, 0x4000, 0, "[python]", NULL, true, true);
	mapping = profile_mapping(p, 0x5000, 0x6000, 0, file, NULL, true, true);
	ids[0] = profile_location(p, mapping, 0x5100, &inner, 1);
	ids[1] = profile_location(p, code, 0x1100, &outer, 1);
	ids[2] = profile_location(p, kernel, 0x3100, &python, 1);
	assert_int_equal(profile_add_sample(p, ids, 3, values, labels, at ? 1 : 0), 0);
	profile_set_time(p, 5 * (int64_t)1000000000, 1000000000);
	return p;
}

static void test_flame_add__kinds_slices_and_hosts(void **state)
{
	static const struct {
		const char *file;
		uint32_t kind;
		int64_t at, begin_ns, end_ns;
	} cases[] = {
		{ "[nvme]", LOADED_FRAME_KERNEL | FLAME_MODULE, 9, 9000000000, 0 },
		{ "[kernel.kallsyms]_stext", LOADED_FRAME_KERNEL, 0, 5000000000, 6000000000 },
		{ "/lib/libc.so.6", LOADED_FRAME_NATIVE | FLAME_LIBRARY, 0, 5000000000, 6000000000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct profile *p = profile_of(cases[i].file, "inner", cases[i].at);
		struct loaded_profiles input;
		struct flame_data *data;
		char err[256];

		assert_int_equal(host_note_add(p, "node17"), 0);
		assert_int_equal(loaded_profiles_borrow(&input, p, err, sizeof(err)), 0);
		data = added(&input, "", &all);
		assert_int_equal(leaf_of(data, 0)->kind & ~FLAME_LIBRARY, cases[i].kind & ~FLAME_LIBRARY);
		assert_true(flame_slice(data, 0)->begin_ns == cases[i].begin_ns);
		assert_true(flame_slice(data, 0)->end_ns == cases[i].end_ns);
		assert_string_equal(text_of(data, 0, FLAME_HOST), "node17");
		assert_string_equal(flame_text(data, flame_frame(data, flame_sample(data, 0)->own)->name),
		                    "train");
		flame_data_free(data);
		loaded_profiles_release(&input);
		profile_free(p);
	}
}

static void test_flame_add__other_types_are_refused(void **state)
{
	const struct fixture *fixture = *state;
	struct flame_data *data = added(&fixture->input, "", &all);
	struct profile *p = profile_new(&types[DELAY], 1, types[DELAY], 1, 1 << 20);
	struct loaded_profiles input;
	char err[256];

	assert_int_equal(loaded_profiles_borrow(&input, p, err, sizeof(err)), 0);
	assert_int_equal(flame_add(data, &input, FLAME_BASE_SIDE, &all), -EINVAL);
	loaded_profiles_release(&input);
	profile_free(p);
	flame_data_free(data);
}

/* --- flame_tree.h ----------------------------------------------------------------------------------------- */

static int64_t total_of(const struct flame_tree *tree, const struct flame_data *data, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < tree->nodes.n; i++)
		if (!strcmp(flame_text(data, flame_tree_node(tree, i)->name), name))
			sum += tree->sums[i].total_ns;
	return sum;
}

static void test_flame_tree__native_frames_below_python_are_folded(void **state)
{
	struct profile *p = profile_of("[nvme]", "inner", 0);
	struct flame_tree_options options = { .type = DELAY };
	struct loaded_profiles input;
	struct flame_tree tree;
	struct flame_data *data;
	char err[256];

	(void)state;
	assert_int_equal(loaded_profiles_borrow(&input, p, err, sizeof(err)), 0);
	data = added(&input, "", &all);
	assert_int_equal(flame_tree_build(&tree, data, &options), 0);
	assert_int_equal(total_of(&tree, data, "outer"), 0);
	assert_int_equal(total_of(&tree, data, "inner"), 7);
	assert_int_equal(total_of(&tree, data, "train"), 7);
	flame_tree_free(&tree);
	options.native = true;
	assert_int_equal(flame_tree_build(&tree, data, &options), 0);
	assert_int_equal(total_of(&tree, data, "outer"), 7);
	flame_tree_free(&tree);
	flame_data_free(data);
	loaded_profiles_release(&input);
	profile_free(p);
}

static void test_flame_tree__stacks_merge_by_function(void **state)
{
	const struct fixture *fixture = *state;
	const struct flame_tree_options options = { .type = DELAY };
	struct flame_data *data = added(&fixture->input, "", &all);
	struct flame_tree tree;

	assert_int_equal(flame_tree_build(&tree, data, &options), 0);
	assert_int_equal(tree.total, 70 * MS);
	assert_int_equal(total_of(&tree, data, "main"), 70 * MS);
	assert_int_equal(total_of(&tree, data, "io_schedule"), 60 * MS);
	flame_tree_free(&tree);
	flame_data_free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_flame_add__samples_with_what_they_are_filtered_by,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flame_add__stacks_share_their_outer_nodes, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_flame_add__equal_samples_of_two_files_are_one, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_flame_add__the_ledger_by_class, set_up, tear_down),
		cmocka_unit_test(test_flame_add__kinds_slices_and_hosts),
		cmocka_unit_test_setup_teardown(test_flame_add__other_types_are_refused, set_up, tear_down),
		cmocka_unit_test(test_flame_tree__native_frames_below_python_are_folded),
		cmocka_unit_test_setup_teardown(test_flame_tree__stacks_merge_by_function, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
