/* Writes windows to a folder, or merges them into one file, in a thread of its own. */

#include "profiler/output/sink_files.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/class_comments.h"
#include "profiler/config/config.h"
#include "profiler/output/merged_file.h"
#include "profiler/output/outbox.h"
#include "profiler/output/sink_news.h"
#include "profiler/format/stamp.h"
#include "profiler/output/window_dir.h"

/* The longest that a thread that does not hang takes to notice that it must stop. */
#define STOP_NS (200 * 1000000ULL)

struct sink_files {
	struct outbox *box;
	struct sink_news *news;
	bool dir;
	char output[SINK_PATH_MAX];
	/* Of the thread: */
	struct window_dir *windows; /* NULL: they go into one file */
	bool fails;                 /* the last window was not kept */
	bool makes_room;            /* which has been said */
	struct merged_file *merged; /* NULL: each has a file of its own */
	/* Of all: */
	atomic_bool full; /* which has been said, since nothing waited */
	atomic_size_t left;
	_Atomic uint64_t dropped;
	pthread_mutex_t lock; /* of the next two */
	size_t open;          /* windows that were taken over, and are neither kept nor lost yet */
	bool given_up;        /* they have been counted as lost, whatever becomes of them */
};

struct parcel {
	struct profile *profile; /* NULL: there is none */
	bool last;
};

/* --- writing: in the thread ------------------------------------------------------------------------------ */

static void add_comments(struct sink_files *files, struct profile *profile)
{
	int result = class_comments_add(profile);

	if (result && !files->fails)
		sink_news_say_error(files->news, "other readers will not see all classes of tags", result);
}

static void tell_written(struct sink_files *files, int result, const struct window_dir_file *file)
{
	if (file->made_room && !files->makes_room)
		sink_news_say(
		        files->news,
		        "%s: the disk is full: the oldest windows are removed to keep new ones; free some "
		        "space, or lower output.max_bytes",
		        files->output);
	files->makes_room |= file->made_room != 0;
	if (!result)
		sink_news_file(files->news, file->path);
	else if (!files->fails)
		sink_news_say(files->news, "%s", file->err);
}

/* Counts it in `counts`, too. */
static int write_window(struct sink_files *files, struct profile *profile, struct sink_counts *counts)
{
	struct window_dir_file file;
	void *bytes;
	size_t len;
	int result;

	add_comments(files, profile);
	result = profile_encode(profile, 0, true, &bytes, &len);
	if (result) {
		if (!files->fails)
			sink_news_say_error(files->news, "cannot encode a window", result);
		counts->not_kept = 1;
		return result;
	}
	result = window_dir_write(files->windows, profile_time_ns(profile), bytes, len, &file);
	free(bytes);
	tell_written(files, result, &file);
	*counts = (struct sink_counts){ .kept = !result,
		                        .kept_bytes = result ? 0 : len,
		                        .not_kept = result != 0,
		                        .made_room = file.made_room };
	return result;
}

/* Notes in the profile how many windows were not kept since the last one that was. */
static uint64_t note_dropped(struct sink_files *files, struct profile *profile)
{
	uint64_t dropped = atomic_exchange(&files->dropped, 0);
	struct stamp *stamp = dropped ? stamp_new() : NULL;

	if (stamp && !stamp_add_counter(stamp, "windows_dropped", dropped))
		stamp_to_notes(stamp, profile);
	stamp_free(stamp);
	return dropped;
}

/* Counts what became of a window that was taken over. */
static void settle(struct sink_files *files, const struct sink_counts *counts)
{
	pthread_mutex_lock(&files->lock);
	files->open--;
	if (files->dir && !files->given_up) {
		sink_news_keeping(files->news, counts->not_kept);
		sink_news_count(files->news, counts);
	}
	pthread_mutex_unlock(&files->lock);
}

static void lose(struct sink_files *files)
{
	atomic_fetch_add(&files->dropped, 1);
	settle(files, &(struct sink_counts){ .not_kept = 1 });
	sink_news_failed(files->news);
}

static void keep_window(struct sink_files *files, struct profile *profile)
{
	uint64_t dropped = note_dropped(files, profile);
	struct sink_counts counts = { 0 };

	files->fails = write_window(files, profile, &counts);
	if (files->fails)
		atomic_fetch_add(&files->dropped, dropped + 1); /* the next one tells it */
	else if (outbox_count(files->box) <= 1)
		atomic_store(&files->full, false);
	settle(files, &counts);
	profile_free(profile);
}

static void merge_window(struct sink_files *files, struct parcel *parcel)
{
	merged_file_lose(files->merged, atomic_exchange(&files->dropped, 0));
	if (parcel->profile)
		merged_file_add(files->merged, parcel->profile);
	if (parcel->last)
		merged_file_end(files->merged);
	else
		merged_file_save(files->merged);
}

static enum outbox_result deliver(void *ctx, void *item, bool last_try)
{
	struct sink_files *files = ctx;
	struct parcel *parcel = item;

	(void)last_try;
	if (!files->dir)
		merge_window(files, parcel);
	else if (parcel->profile)
		keep_window(files, parcel->profile);
	free(parcel);
	return OUTBOX_DONE;
}

static size_t max_windows(const struct sink_files *files)
{
	return files->dir ? SINK_FILES_WINDOWS : SINK_FILES_MERGED;
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	struct sink_files *files = ctx;
	struct parcel *parcel = item;
	bool empty = !parcel->profile;

	profile_free(parcel->profile);
	free(parcel);
	if (empty) {
		/* The one file was to be written now (sink_files_put()). */
		if (!files->dir)
			atomic_fetch_add(&files->left, 1);
		return;
	}
	lose(files);
	if (why == OUTBOX_LEFT)
		atomic_fetch_add(&files->left, 1);
	else if (!atomic_exchange(&files->full, true))
		sink_news_say(
		        files->news,
		        "%s: the disk is too slow: more windows wait than there is room for (%zu, %zu MiB); "
		        "the oldest are dropped and counted",
		        files->output, max_windows(files), SINK_FILES_BYTES >> 20);
}

static void ended(void *ctx)
{
	struct sink_files *files = ctx;

	sink_news_wake(files->news);
}

/* --- making ---------------------------------------------------------------------------------------------- */

static bool is_dir(const char *path)
{
	struct stat st;
	size_t n = strlen(path);

	return (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) || (n && path[n - 1] == '/');
}

static int prepare_dir(const char *path, char *err, size_t err_len)
{
	/* A mkdir() of what is there waits for a file system that is frozen; to look does not. */
	if (access(path, F_OK) == 0 || mkdir(path, 0755) == 0 || errno == EEXIST)
		return access(path, W_OK) == 0
		               ? 0
		               : (snprintf(err, err_len, "%s: %s: choose a folder you may write to", path,
		                           strerror(errno)),
		                  -EACCES);
	snprintf(err, err_len, "%s: %s: make the folder above it first", path, strerror(errno));
	return -EACCES;
}

/* Finds out now that it cannot be written, not after an hour of recording. */
static int check_file(const char *path, char *err, size_t err_len)
{
	char target[PATH_MAX];
	char *slash;

	if (!realpath(path, target)) /* there is none yet */
		snprintf(target, sizeof(target), "%s", path);
	slash = strrchr(target, '/');
	/* With the slash at its end it is found only if it is a folder. */
	if (slash)
		slash[1] = '\0';
	/* What is there may be written to as it is (pprof_file.h). */
	if (access(path, W_OK) == 0 || access(slash ? target : ".", W_OK) == 0)
		return 0;
	snprintf(err, err_len, "cannot write %s: %s: choose another place with -o", path, strerror(errno));
	return -EACCES;
}

static int open_output(struct sink_files *files, const char *output, uint64_t max_bytes, char *err,
                       size_t err_len)
{
	size_t n;

	if (strlen(output) >= PATH_MAX) {
		snprintf(err, err_len, "the output's path is too long");
		return -ENAMETOOLONG;
	}
	snprintf(files->output, sizeof(files->output), "%s", output);
	files->dir = is_dir(output);
	if (!files->dir) {
		files->merged = merged_file_new(files->output, files->news);
		return files->merged ? check_file(output, err, err_len) : -ENOMEM;
	}
	for (n = strlen(files->output); n > 1 && files->output[n - 1] == '/'; n--)
		files->output[n - 1] = '\0';
	window_dir_clean(output);
	files->windows = window_dir_new(files->output, max_bytes);
	return files->windows ? prepare_dir(output, err, err_len) : -ENOMEM;
}

struct sink_files *sink_files_new(const struct config *config, const char *output, struct sink_news *news,
                                  char *err, size_t err_len)
{
	struct sink_files *files = calloc(1, sizeof(*files));
	struct outbox_opts opts = { .name = "stallprof-files",
		                    .max_bytes = SINK_FILES_BYTES,
		                    .ctx = files,
		                    .deliver = deliver,
		                    .drop = drop,
		                    .ended = ended };
	int result = -ENOMEM;

	snprintf(err, err_len, "out of memory");
	if (files) {
		pthread_mutex_init(&files->lock, NULL);
		files->news = sink_news_share(news);
		result = open_output(files, output, config->output.max_bytes, err, err_len);
		opts.max_items = max_windows(files);
		files->box = outbox_new(&opts);
	}
	if (!result && !files->box)
		result = -ENOMEM;
	if (!result)
		return files;
	sink_files_free(files);
	errno = -result;
	return NULL;
}

void sink_files_free(struct sink_files *files)
{
	if (!files)
		return;
	outbox_free(files->box);
	sink_news_free(files->news);
	merged_file_free(files->merged);
	window_dir_free(files->windows);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* --- who hands over -------------------------------------------------------------------------------------- */

static void take_over(struct sink_files *files)
{
	pthread_mutex_lock(&files->lock);
	files->open++;
	pthread_mutex_unlock(&files->lock);
}

void sink_files_lose(struct sink_files *files)
{
	take_over(files);
	lose(files);
}

void sink_files_put(struct sink_files *files, struct profile *profile, bool last)
{
	/* Without a profile there is something to do only if there was one. */
	bool needed = profile || (!files->dir && outbox_has_begun(files->box));
	struct parcel *parcel = needed ? malloc(sizeof(*parcel)) : NULL;

	if (!parcel) {
		if (profile)
			sink_files_lose(files);
		profile_free(profile);
		if (last)
			outbox_end(files->box);
		return;
	}
	if (profile)
		take_over(files);
	*parcel = (struct parcel){ .profile = profile, .last = last };
	outbox_put(files->box, parcel, profile ? profile_bytes(profile) : 0, last);
}

size_t sink_files_count(struct sink_files *files)
{
	return outbox_count(files->box);
}

bool sink_files_has_ended(struct sink_files *files)
{
	return outbox_has_ended(files->box);
}

bool sink_files_give_up(struct sink_files *files)
{
	size_t left = outbox_count(files->box);
	bool has_ended = outbox_stop_within(files->box, STOP_NS);

	pthread_mutex_lock(&files->lock);
	files->given_up = !has_ended; /* the thread may come too late to count */
	if (has_ended)
		left = atomic_load(&files->left);
	else if (files->dir)
		left = files->open;
	pthread_mutex_unlock(&files->lock);
	if (left)
		sink_news_failed(files->news);
	if (left && files->dir && !has_ended) {
		sink_news_count(files->news, &(struct sink_counts){ .not_kept = left });
		sink_news_keeping(files->news, true);
	}
	if (left && files->dir)
		sink_news_say(files->news, "%s: %zu window%s not written: the disk took too long",
		              files->output, left, left == 1 ? " is" : "s are");
	else if (left)
		sink_news_say(files->news, "%s is not written: %s", files->output,
		              has_ended ? "no time was left for it" : "the disk took too long");
	return has_ended;
}

static void on_gone(void *ctx, struct outbox *box)
{
	(void)box; /* it is that of the ctx */
	sink_files_free(ctx);
}

void sink_files_leave(struct sink_files *files)
{
	if (!outbox_leave(files->box, on_gone))
		sink_files_free(files);
}

const char *sink_files_output(const struct sink_files *files)
{
	return files->output;
}

bool sink_files_is_dir(const struct sink_files *files)
{
	return files->dir;
}

const struct profile *sink_files_whole(const struct sink_files *files)
{
	return files->merged ? merged_file_profile(files->merged) : NULL;
}
