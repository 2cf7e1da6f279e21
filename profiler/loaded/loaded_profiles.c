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
#include "profiler/loaded/loaded_folder.h"

static int input_init(struct loaded_profiles *input)
{
	memset(input, 0, sizeof(*input));
	input->ledger = ledger_new(0);
	input->requests = request_rows_new();
	input->gpu_jobs = gpu_job_rows_new();
	input->checkpoints = checkpoint_rows_new();
	input->stamp = stamp_new();
	input->timeline = timeline_new(0);
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
		snprintf(err, err_size, "%s: its ledger could not be read: %s", name, strerror(-result));
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

static int fail(const char *path, int reason, char *err, size_t err_size)
{
	snprintf(err, err_size, "%s: %s", path, strerror(-reason));
	return reason;
}

/* Shows the file to whoever wants to see each by itself. */
static int show(const struct loaded_profiles *input, const struct profile *profile, const char *path,
                char *err, size_t err_size)
{
	struct loaded_profiles file;
	char why[256] = "";
	int result;

	if (!input->see)
		return 0;
	result = loaded_profiles_borrow(&file, profile, why, sizeof(why));
	if (!result) {
		result = input->see(input->see_context, &file);
		loaded_profiles_release(&file);
	}
	if (result)
		snprintf(err, err_size, "%s: %s", path, *why ? why : strerror(-result));
	return result;
}

static int refuse_to_merge(const char *path, const char *why, int reason, char *err, size_t err_size)
{
	snprintf(err, err_size, "%s: does not go together with the files before it: %s", path,
	         *why ? why : strerror(-reason));
	return reason;
}

/* Reads a file that can be added to those before it. */
static int read_fitting(const struct loaded_profiles *input, const char *path, struct profile **profile,
                        char *err, size_t err_size)
{
	int result = pprof_file_read(path, LOADED_BYTES_MAX, profile, err, err_size);
	char why[256] = "";

	if (result || !input->owned)
		return result;
	result = profile_merge_check(input->owned, *profile, why, sizeof(why));
	if (!result)
		return 0;
	profile_free(*profile);
	return refuse_to_merge(path, why, result, err, err_size);
}

/* Takes the profile over. */
static int add_profile(struct loaded_profiles *input, struct profile *profile, const char *path, char *err,
                       size_t err_size)
{
	char why[256] = "";
	int result = take_notes(input, profile, path, err, err_size);

	if (!result)
		result = show(input, profile, path, err, err_size);
	if (!result && input->owned) {
		result = profile_merge(input->owned, profile, why, sizeof(why));
		if (result)
			refuse_to_merge(path, why, result, err, err_size);
	} else if (!result) {
		input->profile = input->owned = profile;
		return 0;
	}
	profile_free(profile);
	return result;
}

static int add_file(struct loaded_profiles *input, const char *path, char *err, size_t err_size)
{
	struct profile *profile = NULL;
	int result = read_fitting(input, path, &profile, err, err_size);

	return result ? result : add_profile(input, profile, path, err, err_size);
}

/* One of a directory's files: if it cannot be read, or is of another program or version, the others can. */
static int add_window(struct loaded_profiles *input, const char *path, char *err, size_t err_size)
{
	struct profile *profile = NULL;
	int result = -EPROTONOSUPPORT;

	if (!read_fitting(input, path, &profile, err, err_size))
		result = add_profile(input, profile, path, err, err_size);
	if (result != -EPROTONOSUPPORT)
		return result;
	if (!input->unreadable_files++)
		snprintf(input->unreadable, sizeof(input->unreadable), "%s", err);
	return 0;
}

/* By its name, as record and the agent write them (window_dir.h). */
static bool is_window(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "stallprof-", strlen("stallprof-"));
}

static int add_directory(struct loaded_profiles *input, const char *path, char *err, size_t err_size)
{
	struct loaded_folder folder;
	int result = loaded_folder_list(&folder, path, err, err_size);

	if (result)
		return result;
	/* The windows first: what does not go together with them is left out, not the other way round. */
	for (size_t i = 0; i < folder.count && !result; i++)
		if (is_window(folder.paths[i]))
			result = add_window(input, folder.paths[i], err, err_size);
	for (size_t i = 0; i < folder.count && !result; i++)
		if (!is_window(folder.paths[i]))
			result = add_window(input, folder.paths[i], err, err_size);
	loaded_folder_release(&folder);
	return result;
}

int loaded_profiles_load(struct loaded_profiles *input, char *const *paths, size_t count, char *err,
                         size_t err_size)
{
	return loaded_profiles_load_each(input, paths, count, NULL, NULL, err, err_size);
}

int loaded_profiles_load_each(struct loaded_profiles *input, char *const *paths, size_t count, loaded_see see,
                              void *context, char *err, size_t err_size)
{
	int result = input_init(input);

	input->see = see;
	input->see_context = context;
	if (result)
		snprintf(err, err_size, "no memory left");
	else if (count == 1 && strcmp(paths[0], "-") != 0)
		input->path = paths[0];
	for (size_t i = 0; i < count && !result; i++) {
		struct stat info;

		if (!strcmp(paths[i], "-"))
			result = add_file(input, "/dev/stdin", err, err_size);
		else if (stat(paths[i], &info))
			result = fail(paths[i], -errno, err, err_size);
		else if (S_ISDIR(info.st_mode))
			result = add_directory(input, paths[i], err, err_size);
		else
			result = add_file(input, paths[i], err, err_size);
	}
	if (!result && !input->profile) {
		snprintf(err, err_size, "%s", input->unreadable);
		result = -EBADMSG;
	}
	if (result)
		loaded_profiles_release(input);
	return result;
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
