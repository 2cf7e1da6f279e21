/*
 * profiles write FOLDER     profiles for other readers, NAME.pb.gz, with their content as text, NAME.txt
 * profiles list FILE        prints a profile's content, as our decoder sees it
 * profiles merge TO FROM... merges by our merge
 *
 * all: three types, each kind of frame, mapping and label. block, cpu: its types apart. big: 100,000 samples.
 * later: a second window of `all`, for merging.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/pprof_file.h"
#include "tests/unit/pprof_listing.h"

enum { MAX_BYTES = 1 << 30 };

static void die(const char *what)
{
	fprintf(stderr, "profiles: %s\n", what);
	exit(1);
}

static void must(bool holds, const char *what)
{
	if (!holds)
		die(what);
}

static struct profile *read_profile(const char *path)
{
	struct profile *p;
	char err[512];

	if (pprof_file_read(path, MAX_BYTES, &p, err, sizeof(err)) < 0)
		die(err);
	return p;
}

static void write_profile(const struct profile *p, const char *folder, const char *name, uint32_t types)
{
	char path[512], err[512];

	snprintf(path, sizeof(path), "%s/%s.pb.gz", folder, name);
	if (pprof_file_write(path, p, types, err, sizeof(err)) < 0)
		die(err);
}

static void write_listing(const struct profile *p, const char *folder, const char *name)
{
	char path[512], *listing = pprof_listing(p);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.txt", folder, name);
	f = fopen(path, "w");
	must(f && fputs(listing, f) >= 0 && fclose(f) == 0, path);
	free(listing);
}

static struct profile *new_profile(void)
{
	static const struct profile_value_type types[] = { { "contentions", "count" },
		                                           { "delay", "nanoseconds" },
		                                           { "cpu", "nanoseconds" } };
	struct profile *p = profile_new(types, 3, types[1], 1, MAX_BYTES);

	must(p && profile_set_default_type(p, "delay") == 0, "new profile");
	return p;
}

static void add(struct profile *p, const int64_t *ids, size_t n, int64_t count, int64_t delay, int64_t cpu,
                const struct profile_label *labels, size_t n_labels)
{
	int64_t values[] = { count, delay, cpu };

	must(profile_add_sample(p, ids, n, values, labels, n_labels) == 0, "sample");
}

/* `window` moves the main binary and the values, so that two of them have something to merge. */
static struct profile *all_kinds(int64_t window)
{
	struct profile *p = new_profile();
	uint64_t base = 0x400000 + (uint64_t)window * 0x10000;
	int64_t app = profile_mapping(p, base, base + 0x3000, 0x1000, "/usr/bin/train", "c0ffee", true, true);
	int64_t kernel = profile_mapping(p, 0xffffffff81000000, 0xffffffff82000000, 0,
	                                 "[kernel.kallsyms]_stext", "0badcafe", true, false);
	struct profile_frame inlined[] = { { "std::copy<int>", "_ZSt4copyIiE", "/src/copy.h", 12 },
		                           { "save_shard", "save_shard", "/src/save.cc", 80 } };
	struct profile_frame main_frame = { "main", NULL, "/src/main.cc", 20 },
	                     wait = { "io_schedule", NULL, NULL, 0 };
	struct profile_frame cut = { "[unwind truncated]", NULL, NULL, 0 };
	struct profile_label tagged[] = { { "ai_tag", "checkpoint_write", 0, NULL },
		                          { "stall", "block_io", 0, NULL },
		                          { "span_id", "00f067aa0ba902b7", 0, NULL },
		                          { "step", NULL, 80000, "steps" } };
	struct profile_label other[] = { { "ai_tag", "löschen \"x\"", 0, NULL },
		                         { "size", NULL, -4096, "bytes" } };
	int64_t blocked[] = { profile_location(p, kernel, 0xffffffff81001234, &wait, 1),
		              profile_location(p, app, base + 0x10, inlined, 2),
		              profile_location(p, app, base + 0x50, &main_frame, 1) };
	int64_t truncated[] = { blocked[1], profile_location(p, 0, 0, &cut, 1) };

	add(p, blocked, 3, 3, 1500000000 + window, 0, tagged, 4);
	add(p, blocked, 3, 1, 7, 0, other, 2);
	add(p, blocked + 1, 2, 0, 0, 20000000, tagged, 3);
	add(p, truncated, 2, 2, 40, 5, NULL, 0);
	add(p, blocked + 2, 1, 1 + window, 1000, 0, NULL, 0);
	profile_set_time(p, 1700000000000000000 + window * 15000000000, 15000000000);
	must(profile_add_comment(p, "stallprof ledger v1") == 0, "comment");
	for (int i = 0; i < 1000; i++)
		must(profile_add_note(p, "a line that only stallprof reads") == 0, "note");
	must(profile_add_comment(p, window ? "window 1" : "window 0") == 0, "comment");
	return p;
}

static struct profile *many_samples(int n)
{
	struct profile *p = new_profile();
	int64_t app = profile_mapping(p, 0x400000, 0x800000, 0, "/usr/bin/big", "b16", true, true), ids[8];
	char name[32], tag[32];

	for (int i = 0; i < n; i++) {
		struct profile_label label = { "ai_tag", tag, 0, NULL };

		snprintf(tag, sizeof(tag), "tag%d", i % 50);
		for (int depth = 0; depth < 8; depth++) {
			int f = (i * 31 + depth * (depth < 3 ? i % 97 : 7)) % 5000;
			struct profile_frame frame = { name, NULL, "/src/big.c", (uint32_t)f };

			snprintf(name, sizeof(name), "function_%d", f);
			ids[depth] = profile_location(p, app, 0x400000 + (uint64_t)f * 16, &frame, 1);
		}
		add(p, ids, 8, 1, i + 1, i % 2, &label, 1);
	}
	return p;
}

static void write_all(const char *folder)
{
	struct profile *all = all_kinds(0), *later = all_kinds(1), *big = many_samples(100000);

	write_profile(all, folder, "all", 0);
	write_listing(all, folder, "all");
	write_profile(all, folder, "block", 3);
	write_profile(all, folder, "cpu", 4);
	write_profile(later, folder, "later", 0);
	write_listing(later, folder, "later");
	write_profile(big, folder, "big", 0);
	write_listing(big, folder, "big");
	profile_free(all);
	profile_free(later);
	profile_free(big);
}

static void merge(const char *to, char **from)
{
	struct profile *into = read_profile(*from++);
	char err[512];

	while (*from) {
		struct profile *next = read_profile(*from++);

		if (profile_merge(into, next, err, sizeof(err)) < 0)
			die(err);
		profile_free(next);
	}
	if (pprof_file_write(to, into, 0, err, sizeof(err)) < 0)
		die(err);
	profile_free(into);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "write") == 0) {
		write_all(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "list") == 0) {
		struct profile *p = read_profile(argv[2]);
		char *listing = pprof_listing(p);

		fputs(listing, stdout);
		free(listing);
		profile_free(p);
	} else if (argc > 3 && strcmp(argv[1], "merge") == 0) {
		merge(argv[2], argv + 3);
	} else {
		die("write FOLDER | list FILE | merge TO FROM...");
	}
	return 0;
}
