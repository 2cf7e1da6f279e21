#include "profiler/output/sink.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/pprof_file.h"
#include "profiler/format/class_comments.h"
#include "pprof/profile.h"
#include "profiler/config/config.h"
#include "profiler/output/push.h"
#include "profiler/output/series.h"
#include "profiler/format/stamp.h"
#include "profiler/output/window_folder.h"

/* Pyroscope's defaults: 16,000 samples and 4 MiB a profile, and never a burst of over 2 MB. */
#define PUSH_SAMPLES_MAX 16000
#define PUSH_BYTES_MAX   (1800 * 1024)
#define PROFILE_BYTES    (1ULL << 30)
#define LABELS_MAX       (CONFIG_LABELS_MAX + 4)

struct sink {
	const struct config *config;
	sink_say_fn say;
	struct push_client *push;
	bool folder;
	char output[PATH_MAX];
	char last_file[PATH_MAX + 64];
	char host[256];
	char push_error[1024]; /* the last one, since a window was pushed */
	bool keeping_fails;    /* the last window was not kept */
	struct sink_counts counts;
	struct profile *whole;    /* of one file: the windows so far */
	uint64_t windows_refused; /* that it could not take */
};

static bool is_folder(const char *path)
{
	struct stat st;
	size_t n = strlen(path);

	return (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) || (n && path[n - 1] == '/');
}

static int prepare_folder(const char *path, char *err, size_t err_len)
{
	if (mkdir(path, 0755) == 0 || errno == EEXIST)
		return access(path, W_OK) == 0
		               ? 0
		               : (snprintf(err, err_len, "%s: %s: choose a folder you may write to", path,
		                           strerror(errno)),
		                  -EACCES);
	snprintf(err, err_len, "%s: %s: make the folder above it first", path, strerror(errno));
	return -EACCES;
}

/* Better now than after an hour of recording. */
static int check_file(const char *path, char *err, size_t err_len)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	/* With the slash at its end it is found only if it is a folder. */
	if (slash)
		slash[1] = '\0';
	if (access(slash ? folder : ".", W_OK) == 0)
		return 0;
	snprintf(err, err_len, "cannot write %s: %s: choose another place with -o", path, strerror(errno));
	return -EACCES;
}

static int open_output(struct sink *sink, const char *output, char *err, size_t err_len)
{
	size_t n;

	if (!output || !output[0])
		return 0;
	if (strlen(output) >= sizeof(sink->output)) {
		snprintf(err, err_len, "the output's path is too long");
		return -ENAMETOOLONG;
	}
	snprintf(sink->output, sizeof(sink->output), "%s", output);
	sink->folder = is_folder(output);
	if (!sink->folder)
		return check_file(output, err, err_len);
	for (n = strlen(sink->output); n > 1 && sink->output[n - 1] == '/'; n--)
		sink->output[n - 1] = '\0';
	window_folder_clean(output);
	return prepare_folder(output, err, err_len);
}

static int open_push(struct sink *sink, char *err, size_t err_len)
{
	const struct config_push *push = &sink->config->push;
	struct push_opts opts = {
		.url = push->url,
		.tenant = push->tenant[0] ? push->tenant : NULL,
		.basic_user = push->basic_user[0] ? push->basic_user : NULL,
		.basic_password_file = push->basic_password_file[0] ? push->basic_password_file : NULL,
		.bearer_token_file = push->bearer_token_file[0] ? push->bearer_token_file : NULL,
		.timeout_ms = (long)push->timeout_seconds * 1000,
	};

	if (!push->url[0])
		return 0;
	sink->push = push_client_new(&opts, err, err_len);
	return sink->push ? 0 : -EINVAL;
}

struct sink *sink_new(const struct config *config, const char *output, sink_say_fn say, char *err,
                      size_t err_len)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	int result;

	if (!sink) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	sink->config = config;
	sink->say = say;
	if (gethostname(sink->host, sizeof(sink->host) - 1))
		snprintf(sink->host, sizeof(sink->host), "unknown");
	result = open_output(sink, output, err, err_len);
	if (!result)
		result = open_push(sink, err, err_len);
	if (result) {
		sink_free(sink);
		errno = -result;
		return NULL;
	}
	return sink;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	push_client_free(sink->push);
	profile_free(sink->whole);
	free(sink);
}

int sink_wants_windows(const struct sink *sink)
{
	return sink->folder || sink->push;
}

static void say_failure(const struct sink *sink, const char *what, int error)
{
	char line[256];

	snprintf(line, sizeof(line), "%s: %s", what, strerror(-error));
	sink->say(line);
}

static int write_profile(struct sink *sink, const char *path, struct profile *profile)
{
	char err[PATH_MAX + 256];
	int result = class_comments_add(profile);

	if (result && !sink->keeping_fails)
		say_failure(sink, "other readers will not see all classes of tags", result);
	if (pprof_file_write(path, profile, 0, err, sizeof(err))) {
		if (!sink->keeping_fails)
			sink->say(err);
		return -EIO;
	}
	snprintf(sink->last_file, sizeof(sink->last_file), "%s", path);
	return 0;
}

static int write_window(struct sink *sink, struct profile *profile)
{
	char path[sizeof(sink->last_file)];
	int result = window_folder_path(sink->output, profile_time_ns(profile), path, sizeof(path));

	if (result) {
		if (!sink->keeping_fails)
			say_failure(sink, "cannot name a file for the window", result);
		return result;
	}
	result = write_profile(sink, path, profile);
	if (!result)
		window_folder_trim(sink->output, sink->config->output.max_bytes);
	return result;
}

/*
 * One file for the whole run: its windows are merged, and written when the last has come. A window that does not
 * fit in leaves a part of itself there, and none after it is tried.
 */
static int add_window(struct sink *sink, struct profile *profile)
{
	char err[256], line[512];

	if (!sink->whole) {
		sink->whole = profile;
		return 0;
	}
	if (!sink->windows_refused && !profile_merge(sink->whole, profile, err, sizeof(err))) {
		profile_free(profile);
		return 0;
	}
	if (!sink->windows_refused++) {
		snprintf(line, sizeof(line), "the profile takes no more windows: %s; record less at a time",
		         err);
		sink->say(line);
	}
	profile_free(profile);
	return -EIO;
}

static void note_refused_windows(struct sink *sink)
{
	struct stamp *stamp = stamp_new();
	char line[128];

	snprintf(line, sizeof(line), "%llu windows are missing in the profile",
	         (unsigned long long)sink->windows_refused);
	sink->say(line);
	/* A full profile may have no room for this either. */
	if (stamp && !stamp_add_counter(stamp, "windows_refused", sink->windows_refused) &&
	    stamp_to_notes(stamp, sink->whole))
		sink->say("the profile has no room to say so");
	stamp_free(stamp);
}

static size_t series_labels(const struct sink *sink, const struct series *series, struct push_label *labels)
{
	const struct config *config = sink->config;
	size_t n = 0, i;

	labels[n++] = (struct push_label){ "__name__", series->name };
	labels[n++] = (struct push_label){ "service_name", config->service_name };
	labels[n++] = (struct push_label){ "host", sink->host };
	for (i = 0; i < config->label_count && n < LABELS_MAX; i++)
		labels[n++] = (struct push_label){ config->labels[i].name, config->labels[i].value };
	return n;
}

/* A server that refuses one series mostly refuses them all, in the same words, and the next window's, too: once is
 * enough. */
static void say_push_error(struct sink *sink, const char *err)
{
	if (!strcmp(err, sink->push_error))
		return;
	snprintf(sink->push_error, sizeof(sink->push_error), "%s", err);
	sink->say(err);
}

static void say_push_failure(struct sink *sink, const char *what, int error)
{
	char line[256];

	snprintf(line, sizeof(line), "%s: %s", what, strerror(-error));
	say_push_error(sink, line);
}

static int push_part(struct sink *sink, const struct series *series, const struct profile *part)
{
	struct push_label labels[LABELS_MAX];
	size_t n = series_labels(sink, series, labels), len;
	char err[1024];
	void *body;
	int result = profile_encode(part, 0, true, &body, &len);

	if (result) {
		say_push_failure(sink, "cannot encode a profile to push", result);
		return result;
	}
	result = push_client_send(sink->push, labels, n, body, len, err, sizeof(err));
	free(body);
	if (result) {
		say_push_error(sink, err);
		return result;
	}
	sink->counts.pushed++;
	sink->counts.pushed_bytes += len;
	return 0;
}

static int push_parts(struct sink *sink, const struct series *series, const struct profile *cut)
{
	struct profile **parts = NULL;
	size_t n = 0, i;
	int result = profile_split(cut, 0, PUSH_SAMPLES_MAX, PUSH_BYTES_MAX, &parts, &n);

	if (result) {
		say_push_failure(sink, "cannot cut a profile into parts that the server takes", result);
		return result;
	}
	for (i = 0; i < n && !result; i++)
		result = push_part(sink, series, parts[i]);
	profile_parts_free(parts, n);
	return result;
}

static int push_series(struct sink *sink, const struct series *series, const struct profile *profile)
{
	uint64_t hz = config_clock_hz(sink->config);
	int64_t period = hz && series->types[1] == NULL ? 1000000000 / hz : 1;
	struct profile *cut;
	int result = series_extract(profile, series, period, PROFILE_BYTES, &cut);

	if (result)
		say_push_failure(sink, "cannot make the profile to push", result);
	if (result || !cut)
		return result;
	result = push_parts(sink, series, cut);
	profile_free(cut);
	return result;
}

/*
 * A server that does not answer costs one timeout a window, not one for each series: nothing else is done
 * meanwhile, and SIGTERM waits.
 */
static int push_window(struct sink *sink, const struct profile *profile)
{
	int result = 0, failed = 0;
	unsigned int i;

	for (i = 0; i < series_table_len && result != -EAGAIN; i++) {
		result = push_series(sink, &series_table[i], profile);
		failed |= result;
	}
	if (!failed)
		sink->push_error[0] = '\0';
	return failed;
}

static int keep_window(struct sink *sink, struct profile *profile)
{
	struct stat st;
	int result = write_window(sink, profile);

	sink->keeping_fails = result;
	if (result) {
		sink->counts.not_kept++;
		return result;
	}
	sink->counts.kept++;
	sink->counts.kept_bytes += stat(sink->last_file, &st) ? 0 : st.st_size;
	return 0;
}

int sink_deliver(struct sink *sink, struct profile *profile)
{
	int result = 0;

	if (sink->push && push_window(sink, profile)) {
		sink->counts.not_pushed++;
		result = -EIO;
	}
	if (sink->output[0] && !sink->folder)
		return add_window(sink, profile) ? -EIO : result;
	if (sink->folder && keep_window(sink, profile))
		result = -EIO;
	profile_free(profile);
	return result;
}

int sink_finish(struct sink *sink)
{
	if (sink->whole && sink->windows_refused)
		note_refused_windows(sink);
	return sink->whole ? write_profile(sink, sink->output, sink->whole) : 0;
}

const struct profile *sink_whole(const struct sink *sink)
{
	return sink->whole;
}

const char *sink_last_file(const struct sink *sink)
{
	return sink->last_file;
}

const char *sink_folder(const struct sink *sink)
{
	return sink->folder ? sink->output : NULL;
}

struct sink_counts sink_counts(const struct sink *sink)
{
	return sink->counts;
}
