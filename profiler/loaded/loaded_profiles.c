/* Loads profiles from files, sums them, and reads their ledger and stamp. */

#include "profiler/loaded/loaded_profiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pprof/pprof_file.h"
#include "profiler/format/class_comments.h"
#include "profiler/format/gpu_job_rows.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/request_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_bound.h"
#include "profiler/loaded/loaded_folder.h"
#include "profiler/loaded/loaded_overlaps.h"

static int input_init(struct loaded_profiles *input)
{
	memset(input, 0, sizeof(*input));
	input->ledger = ledger_new(0);
	input->requests = request_rows_new();
	input->gpu_jobs = gpu_job_rows_new();
	input->checkpoints = checkpoint_rows_new();
	input->stamp = stamp_new();
	input->timeline = timeline_new(0);
	if (input->timeline)
		timeline_allow_many(input->timeline);
	if (input->ledger && input->requests && input->gpu_jobs && input->checkpoints && input->stamp &&
	    input->timeline)
		return 0;
	loaded_profiles_release(input);
	return -ENOMEM;
}

void loaded_profiles_release(struct loaded_profiles *input)
{
	profile_free(input->owned);
	ledger_free(input->ledger);
	request_rows_free(input->requests);
	gpu_job_rows_free(input->gpu_jobs);
	checkpoint_rows_free(input->checkpoints);
	stamp_free(input->stamp);
	timeline_free(input->timeline);
	memset(input, 0, sizeof(*input));
}

/* For a profile that another program wrote, or one of ours that a tool has rewritten, which leaves the classes. */
static int take_classes(struct loaded_profiles *input, const struct profile *profile)
{
	size_t found;
	int result = class_comments_read(input->ledger, profile, &found, &input->malformed_lines);

	if (found)
		input->rewritten_files++;
	else
		input->foreign_files++;
	return result;
}

/* Adds ledger and stamp of one profile. */
static int take_notes(struct loaded_profiles *input, const struct profile *profile, const char *name,
                      char *err, size_t err_size)
{
	int result = stamp_from_notes(input->stamp, profile, &input->malformed_lines);

	if (result == -EPROTONOSUPPORT) {
		snprintf(err, err_size,
		         "%s: written by another version of stallprof (this one reads format %d)", name,
		         STAMP_FORMAT);
		return result;
	}
	input->files++;
	if (result == -ENODATA)
		result = take_classes(input, profile);
	else if (!result)
		result = ledger_from_notes(input->ledger, profile, &input->malformed_lines);
	if (!result)
		result = request_rows_from_notes(input->requests, profile, &input->malformed_lines);
	if (!result)
		result = checkpoint_rows_from_notes(input->checkpoints, profile, &input->malformed_lines);
	if (!result)
		result = timeline_from_notes(input->timeline, profile, &input->malformed_lines);
	if (!result)
		result = gpu_job_rows_from_notes(input->gpu_jobs, profile, &input->malformed_lines);
	if (result)
		snprintf(err, err_size, "%s: its ledger could not be read: %s", name,
		         result == -ENOSPC ? "with it there are more rows than are kept" : strerror(-result));
	return result;
}

int loaded_profiles_borrow(struct loaded_profiles *input, const struct profile *profile, char *err,
                           size_t err_size)
{
	int result = input_init(input);

	if (result) {
		snprintf(err, err_size, "no memory left");
		return result;
	}
	input->profile = profile;
	result = take_notes(input, profile, "profile", err, err_size);
	if (result)
		loaded_profiles_release(input);
	return result;
}

/* --- files ------------------------------------------------------------------------------------------------
 */

/* Files while they are loaded. */
struct loading {
	struct loaded_profiles *input;
	const struct loaded_options *options;
	size_t max_bytes;
	double share;                  /* of each directory's files, the newest, that are loaded */
	struct loaded_windows windows; /* those that are loaded */
	size_t listed, begun;          /* directories' files: all, and those that were begun */
	const char *outgrown;          /* what another one was too much of; NULL: nothing */
	char *err;
	size_t err_size;
};

static int fail(struct loading *loading, const char *path, int reason)
{
	snprintf(loading->err, loading->err_size, "%s: %s", path, loaded_reason(-reason));
	return reason;
}

/* Shows the file to whoever wants to see each by itself. */
static int show(struct loading *loading, const struct profile *profile, const char *path)
{
	const struct loaded_options *options = loading->options;
	struct loaded_profiles file;
	char why[256] = "";
	int result;

	if (!options->see)
		return 0;
	result = loaded_profiles_borrow(&file, profile, why, sizeof(why));
	if (!result) {
		result = options->see(options->context, &file);
		loaded_profiles_release(&file);
	}
	if (result)
		snprintf(loading->err, loading->err_size, "%s: %s", path,
		         *why ? why : loaded_reason(-result));
	return result;
}

static int refuse_to_merge(struct loading *loading, const char *path, const char *why, int reason)
{
	if (reason == -ENOSPC)
		return fail(loading, path, reason);
	snprintf(loading->err, loading->err_size, "%s: does not go together with the files before it: %s",
	         path, *why ? why : strerror(-reason));
	return reason;
}

/* Reads a file that can be added to those before it. */
static int read_fitting(struct loading *loading, const char *path, struct profile **profile)
{
	int result = pprof_file_read(path, loading->max_bytes, profile, loading->err, loading->err_size);
	char why[256] = "";

	if (result || !loading->input->owned)
		return result;
	result = profile_merge_check(loading->input->owned, *profile, why, sizeof(why));
	if (!result)
		return 0;
	profile_free(*profile);
	return refuse_to_merge(loading, path, why, result);
}

/* Takes the profile over. */
static int add_profile(struct loading *loading, struct profile *profile, const char *path)
{
	struct loaded_profiles *input = loading->input;
	char why[256] = "";
	int result = loaded_windows_add(&loading->windows, profile, &input->overlaps);

	if (result) { /* it is there already */
		profile_free(profile);
		return result > 0 ? 0 : fail(loading, path, result);
	}
	result = take_notes(input, profile, path, loading->err, loading->err_size);
	loading->outgrown = result == -ENOSPC
	                            ? "have more rows of requests, GPU jobs or checkpoints than are kept"
	                            : NULL;
	if (!result)
		result = show(loading, profile, path);
	if (!result && input->owned) {
		profile_drop_notes(profile); /* a third of the memory, and they are read */
		result = profile_merge(input->owned, profile, why, sizeof(why));
		if (result)
			refuse_to_merge(loading, path, why, result);
	} else if (!result) {
		input->profile = input->owned = profile;
		return 0;
	}
	profile_free(profile);
	if (result == -ENOSPC && !loading->outgrown)
		loading->outgrown = "take more memory than profiles may";
	return result;
}

static int add_file(struct loading *loading, const char *path)
{
	struct profile *profile = NULL;
	int result = read_fitting(loading, path, &profile);

	return result ? result : add_profile(loading, profile, path);
}

/* One of a directory's files: if it cannot be read, or is of another program or version, the others can. */
static int add_window(struct loading *loading, const char *path)
{
	struct loaded_profiles *input = loading->input;
	struct profile *profile = NULL;
	int result = -EPROTONOSUPPORT;

	loading->begun++;
	if (!read_fitting(loading, path, &profile))
		result = add_profile(loading, profile, path);
	if (result != -EPROTONOSUPPORT)
		return result;
	if (!input->unreadable_files++)
		snprintf(input->unreadable, sizeof(input->unreadable), "%s", loading->err);
	return 0;
}

/* By its name, as record and the agent write them (window_dir.h). */
static bool is_window(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "stallprof-", strlen("stallprof-"));
}

static int add_directory(struct loading *loading, const char *path)
{
	struct loaded_folder folder;
	int result = loaded_folder_list(&folder, path, loading->err, loading->err_size);
	size_t skipped;

	if (result)
		return result;
	skipped = folder.count - (size_t)((double)folder.count * loading->share);
	loading->listed += folder.count;
	/* The windows first: what does not go together with them is left out, not the other way round. */
	for (int windows = 1; windows >= 0; windows--)
		for (size_t i = 0; i < folder.count && !result; i++) {
			if (is_window(folder.paths[i]) != windows)
				continue;
			if (skipped)
				skipped--;
			else
				result = add_window(loading, folder.paths[i]);
		}
	loaded_folder_release(&folder);
	return result;
}

static int add_paths(struct loading *loading, char *const *paths, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && !result; i++) {
		struct stat info;

		if (!strcmp(paths[i], "-"))
			result = add_file(loading, "/dev/stdin");
		else if (stat(paths[i], &info))
			result = fail(loading, paths[i], -errno);
		else if (S_ISDIR(info.st_mode))
			result = add_directory(loading, paths[i]);
		else
			result = add_file(loading, paths[i]);
	}
	if (!result && !loading->input->profile && loading->share < 1)
		return -ENOSPC; /* and err still says what was too much */
	if (!result && !loading->input->profile) {
		snprintf(loading->err, loading->err_size, "%s", loading->input->unreadable);
		result = -EBADMSG;
	}
	return result;
}

static int load(struct loading *loading, char *const *paths, size_t count)
{
	int result = input_init(loading->input);

	loaded_windows_free(&loading->windows);
	loading->listed = loading->begun = 0;
	loading->outgrown = NULL;
	if (result)
		snprintf(loading->err, loading->err_size, "no memory left");
	else if (count == 1 && strcmp(paths[0], "-") != 0)
		loading->input->path = paths[0];
	if (!result)
		result = add_paths(loading, paths, count);
	if (result)
		loaded_profiles_release(loading->input);
	return result;
}

/*
 * Whether fewer of the directories' files can be tried, after all were too much. What was merged cannot be taken out again, so all begins
 * anew: with as many files as there was room for, the newest ones, less a tenth in case that these are larger. Standard input
 * is not there a second time.
 */
static bool take_fewer(struct loading *loading, char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(paths[i], "-"))
			return false;
	if (!loading->outgrown || !loading->listed)
		return false;
	loading->share = 0.9 * (double)loading->begun / (double)loading->listed;
	return loading->share * (double)loading->listed >= 1;
}

/* Loads fewer files until they are not too much. */
static int load_fewer(struct loading *loading, char *const *paths, size_t count)
{
	const struct loaded_options *options = loading->options;
	const char *outgrown = "";
	int result = -ENOSPC, err = 0;

	while (result && take_fewer(loading, paths, count)) {
		outgrown = loading->outgrown;
		if (options->see)
			err = options->see(options->context, NULL);
		if (err)
			return fail(loading, paths[0], err);
		result = load(loading, paths, count);
	}
	if (!result)
		snprintf(loading->input->left_out, sizeof(loading->input->left_out),
		         "the oldest %zu of %zu files are left out, as all %s; to see those, name some of "
		         "them",
		         loading->listed - loading->begun, loading->listed, outgrown);
	return result;
}

int loaded_profiles_load_as(struct loaded_profiles *input, char *const *paths, size_t count,
                            const struct loaded_options *options, char *err, size_t err_size)
{
	struct loading loading = { .input = input,
		                   .options = options,
		                   .max_bytes =
		                           options->max_bytes ? options->max_bytes : loaded_bytes_max(""),
		                   .share = 1,
		                   .err = err,
		                   .err_size = err_size };
	int result = load(&loading, paths, count);

	if (result && loading.outgrown)
		result = load_fewer(&loading, paths, count);
	loaded_windows_free(&loading.windows);
	return result;
}

int loaded_profiles_load(struct loaded_profiles *input, char *const *paths, size_t count, char *err,
                         size_t err_size)
{
	return loaded_profiles_load_as(input, paths, count, &(struct loaded_options){ .see = NULL }, err,
	                               err_size);
}

static bool has_values(const struct profile *profile, size_t type)
{
	struct profile_sample_view view;

	for (size_t i = 0; profile_get_sample(profile, i, &view); i++)
		if (view.values[type])
			return true;
	return false;
}

int loaded_pick_type(const struct loaded_profiles *input, const char *wanted)
{
	const char *const order[] = { "delay", "cpu", profile_default_type(input->profile) };
	int fallback = -ENOENT;

	if (wanted)
		return profile_find_type(input->profile, wanted);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		int type = profile_find_type(input->profile, order[i]);

		if (type >= 0 && has_values(input->profile, (size_t)type))
			return type;
		fallback = fallback < 0 ? type : fallback;
	}
	return fallback;
}
