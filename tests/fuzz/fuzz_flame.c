/*
 * Fuzzes what `stallprof flame` makes of a profile: its tables must be sound, and each form must be written. Input: a
 * profile, plain or gzip'd.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/flame/flame_add.h"
#include "profiler/flame/flame_data.h"
#include "profiler/flame/flame_folded.h"
#include "profiler/flame/flame_json.h"
#include "profiler/flame/flame_page.h"
#include "profiler/flame/flame_svg.h"
#include "profiler/flame/flame_tree.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"

enum { MAX_BYTES = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_tables(const struct flame_data *data)
{
	for (uint32_t i = 0; i < data->nodes.n; i++) {
		const struct flame_node *node = flame_node(data, i);

		check(node->frame < data->frames.n && (node->parent == FLAME_NONE || node->parent < i));
	}
	for (size_t i = 0; i < data->samples.n; i++) {
		const struct flame_sample *sample = flame_sample(data, i);

		check(sample->node < data->nodes.n && sample->own < data->frames.n &&
		      sample->slice < data->slices.n);
		for (size_t d = 0; d < FLAME_DIMENSIONS; d++)
			check(sample->texts[d] < data->texts.n);
	}
}

static void write_forms(const struct flame_data *data, const struct loaded_profiles *input, FILE *out)
{
	struct flame_json json = { .data = data, .title = "</script>", .sides = { input, NULL } };
	int err = flame_page_write(out, &json);

	check(!err || !flame_page_is_there());
	check(!flame_json_write(out, &json));
	for (size_t type = 0; type < data->type_count; type++) {
		struct flame_tree_options options = { .type = type, .native = type % 2, .waits = true };
		struct flame_tree tree;

		check(!flame_tree_build(&tree, data, &options));
		check(!flame_svg_write(out, data, &tree, "a & b", data->types[type].unit));
		check(!flame_folded_write(out, data, &tree));
		flame_tree_free(&tree);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct loaded_filter all = { .waits = true };
	struct loaded_profiles input;
	struct profile *p;
	char err[256];

	if (profile_decode(bytes, size, MAX_BYTES, &p, err, sizeof(err)))
		return 0;
	if (!loaded_profiles_borrow(&input, p, err, sizeof(err))) {
		struct flame_data *data = flame_data_new();
		FILE *out = fopen("/dev/null", "we");

		check(data && out);
		check(!flame_add(data, &input, "", &all) && !flame_add(data, &input, FLAME_BASE_SIDE, &all));
		check_tables(data);
		write_forms(data, &input, out);
		fclose(out);
		flame_data_free(data);
		loaded_profiles_release(&input);
	}
	profile_free(p);
	return 0;
}
