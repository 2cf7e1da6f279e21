/*
 * Fuzzes what `stallprof top` makes of profiles: its screens, its tables and its JSON. Input: profile_set.h; what the second folder holds
 * is not looked at.
 */
#include "tests/fuzz/profile_mutator.h"
#include "tests/fuzz/profile_set.h"

#include "pprof/profile.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top.h"
#include "profiler/top/top_json.h"
#include "profiler/top/top_screen.h"
#include "profiler/top/top_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void write_table(FILE *out, struct top_json *what, size_t type, bool by_cum)
{
	struct top_table table;

	check(!top_table_build(&table, what->input, what->tags, &what->filter, what->by, type, by_cum));
	what->table = &table;
	check(!top_json_write(out, what));
	top_text_table(out, &table, what->by, what->type, what->limit);
	top_table_free(&table);
}

/* The choice: eight bits of options, the others by what a table is. */
static void write_all(FILE *out, const struct loaded_profiles *input, const struct loaded_tags *tags,
                      size_t type, uint16_t choice)
{
	const struct loaded_filter filter = { .waits = choice & 1,
		                              .stall = choice & 2 ? LOADED_BLOCKED : NULL };
	struct top_json what = { .input = input,
		                 .tags = tags,
		                 .filter = filter,
		                 .by = choice / 256 % TOP_BYS,
		                 .level = choice / 4 % 4 % 3,
		                 .type = profile_type(input->profile, type),
		                 .limit = choice & 16 ? 3 : 0 };
	const struct top_screen screen = { .input = input,
		                           .tags = tags,
		                           .filter = &filter,
		                           .level = what.level,
		                           .code = true,
		                           .native = choice & 32,
		                           .verbose = choice & 64,
		                           .type = type,
		                           .limit = choice & 128 ? TOP_FITS : what.limit };

	check(!top_screen_print(out, &screen));
	write_table(out, &what, type, choice & 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profile_folders folders;
	struct loaded_profiles input;
	struct profile_set set;
	char err[512] = "", *paths[1];

	profile_set_read(&set, data, size);
	if (!set.count)
		return 0;
	profile_folders_fill(&folders, &set);
	paths[0] = folders.path[0];
	if (!loaded_profiles_load(&input, paths, 1, err, sizeof(err))) {
		struct loaded_tags *tags = loaded_tags_new(&input);
		FILE *out = fopen("/dev/null", "we");
		int type = loaded_pick_type(&input, NULL);

		check(tags && out);
		if (set.choice == 0)
			top_print_summary(out, input.profile, NULL, TOP_FITS);
		if (type >= 0)
			write_all(out, &input, tags, (size_t)type, set.choice);
		fclose(out);
		loaded_tags_free(tags);
		loaded_profiles_release(&input);
	}
	profile_folders_empty(&folders);
	return 0;
}
