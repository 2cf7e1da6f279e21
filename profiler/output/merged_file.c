/* Merges windows into one profile, and writes its file. */

#include "profiler/output/merged_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pprof/pprof_file.h"
#include "pprof/profile.h"
#include "profiler/format/class_comments.h"
#include "profiler/format/stamp.h"
#include "profiler/output/replaced_file.h"
#include "profiler/output/sink_news.h"

struct merged_file {
	const char *output;
	struct sink_news *news;
	struct profile *whole;     /* the windows so far; NULL: none */
	uint64_t refused;          /* windows that it could not take */
	uint64_t lost, lost_noted; /* windows that never came; how many of them its notes tell */
	int64_t saved_ns;          /* the length of what the file has */
	bool save_fails;           /* which has been said */
};

struct merged_file *merged_file_new(const char *output, struct sink_news *news)
{
	struct merged_file *merged = calloc(1, sizeof(*merged));

	if (merged) {
		merged->output = output;
		merged->news = news;
	}
	return merged;
}

void merged_file_free(struct merged_file *merged)
{
	if (!merged)
		return;
	profile_free(merged->whole);
	free(merged);
}

/* A window that does not fit in leaves a part of itself there; no window after it is merged. */
void merged_file_add(struct merged_file *merged, struct profile *profile)
{
	char err[256];

	if (!merged->whole) {
		merged->whole = profile;
		return;
	}
	if (!merged->refused && !profile_merge(merged->whole, profile, err, sizeof(err))) {
		profile_free(profile);
		return;
	}
	if (!merged->refused++)
		sink_news_say(merged->news, "the profile takes no more windows: %s; record less at a time",
		              err);
	sink_news_failed(merged->news);
	profile_free(profile);
}

void merged_file_lose(struct merged_file *merged, uint64_t windows)
{
	merged->lost += windows;
}

/* A full profile may have no room for it. */
static int note(struct merged_file *merged, const char *counter, uint64_t windows)
{
	struct stamp *stamp = windows ? stamp_new() : NULL;
	int result = windows ? -ENOMEM : 0;

	if (stamp)
		result = stamp_add_counter(stamp, counter, windows);
	if (stamp && !result)
		result = stamp_to_notes(stamp, merged->whole);
	stamp_free(stamp);
	return result;
}

static void tell_missing(struct merged_file *merged, const char *counter, uint64_t windows, uint64_t noted)
{
	if (!windows)
		return;
	sink_news_say(merged->news, "%" PRIu64 " windows are missing in the profile", windows);
	if (note(merged, counter, windows - noted))
		sink_news_say(merged->news, "the profile has no room to say so");
}

/* Without the comments for other readers (class_comments.h): they are sums, and would stay beside those of the end. */
void merged_file_save(struct merged_file *merged)
{
	char err[PATH_MAX + 256];
	int64_t now_ns = merged->whole ? profile_duration_ns(merged->whole) : 0;
	bool failed;

	if (now_ns - merged->saved_ns < MERGED_FILE_SAVE_NS || !file_can_be_replaced(merged->output))
		return;
	merged->saved_ns = now_ns;
	if (!note(merged, "windows_dropped", merged->lost - merged->lost_noted))
		merged->lost_noted = merged->lost;
	failed = pprof_file_write(merged->output, merged->whole, 0, err, sizeof(err)) < 0;
	if (failed && !merged->save_fails)
		sink_news_say(merged->news, "%s; it is tried again", err);
	merged->save_fails = failed;
}

void merged_file_end(struct merged_file *merged)
{
	char err[PATH_MAX + 256];
	int result;

	if (!merged->whole)
		return;
	tell_missing(merged, "windows_refused", merged->refused, 0);
	tell_missing(merged, "windows_dropped", merged->lost, merged->lost_noted);
	result = class_comments_add(merged->whole);
	if (result)
		sink_news_say_error(merged->news, "other readers will not see all classes of tags", result);
	if (!pprof_file_write(merged->output, merged->whole, 0, err, sizeof(err))) {
		sink_news_file(merged->news, merged->output);
		return;
	}
	sink_news_say(merged->news, "%s", err);
	sink_news_failed(merged->news);
}

const struct profile *merged_file_profile(const struct merged_file *merged)
{
	return merged->whole;
}
