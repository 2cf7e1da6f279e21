/* Looks for incidents while the agent records, and writes a report of each. */

#include "profiler/cli/agent_reports.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/cli/agent_log.h"
#include "profiler/config/config.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/output/outbox.h"
#include "profiler/report/report.h"
#include "profiler/report/report_forms.h"
#include "profiler/report/report_live.h"
#include "profiler/session/session.h"
#include "symbolizer/base/clock.h"

#define LOOK_EVERY_NS 1000000000ULL
#define WAITING_MAX   16
#define LAST_NS       2000000000ULL /* for what is being written at the end */
#define PAUSE_US      10000
#define AHEAD_MS      60000
#define PREFIX        "report-"
#define PARTIAL       ".tmp" /* behind the name of one that is being written */

struct agent_reports {
	char *folder;
	enum report_format format;
	uint64_t max_bytes;
	struct report_live *live;
	struct outbox *box;
	uint64_t looked_ns;      /* CLOCK_MONOTONIC */
	struct report_hint hint; /* of an incident that waits for its window; begin_ns is 0: there is none */
};

/* A report on its way to the disk. */
struct letter {
	char *text;
	size_t size;
	bool again; /* in place of one of the same incident that named another cause */
	char path[PATH_MAX];
};

/* --- in the thread ------------------------------------------------------------------------------------------ */

static void letter_free(struct letter *letter)
{
	free(letter->text);
	free(letter);
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	struct letter *letter = item;

	(void)ctx;
	agent_log(AGENT_WARNING, "%s: not written: %s", letter->path,
	          why == OUTBOX_LEFT ? "the folder did not answer in time"
	                             : "too many reports wait for the folder");
	letter_free(letter);
}

/* By what a file of each format is called. */
static const char *const endings[REPORT_FORMATS] = { ".txt", ".md", ".json", ".html" };

bool agent_reports_wrote(const char *name)
{
	size_t digits;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	name += strlen(PREFIX);
	digits = strspn(name, "0123456789");
	for (size_t i = 0; digits && i < REPORT_FORMATS; i++) {
		size_t length = strlen(endings[i]);

		if (!strncmp(name + digits, endings[i], length) &&
		    (!name[digits + length] || !strcmp(name + digits + length, PARTIAL)))
			return true;
	}
	return false;
}

static int is_report(const struct dirent *entry)
{
	return agent_reports_wrote(entry->d_name);
}

/* Whether its time is to come; clocks of hosts that share a folder may differ a little. */
static bool is_to_come(const char *name, uint64_t now_ms)
{
	return strtoull(name + strlen(PREFIX), NULL, 10) > now_ms + AHEAD_MS;
}

/* The bytes that the file takes, which is removed if that is more than `left`. */
static uint64_t take_or_remove(const char *path, uint64_t left)
{
	struct stat seen;

	if (lstat(path, &seen) || !S_ISREG(seen.st_mode))
		return 0;
	if ((uint64_t)seen.st_size > left)
		unlink(path);
	return (uint64_t)seen.st_size;
}

void agent_reports_trim(const char *folder, uint64_t max_bytes, const char *written)
{
	uint64_t now_ms = unix_ns() / 1000000, sum = take_or_remove(written, UINT64_MAX);
	struct dirent **found = NULL;
	int n = max_bytes ? scandir(folder, &found, is_report, alphasort) : 0;
	char path[PATH_MAX];

	/* Their names sort by time: the newest first, but those of a time to come last. */
	for (int i = 2 * n - 1; i >= 0; i--) {
		const char *name = found[i % n]->d_name;

		if (is_to_come(name, now_ms) != (i < n) ||
		    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path) ||
		    !strcmp(path, written))
			continue;
		sum += take_or_remove(path, sum < max_bytes ? max_bytes - sum : 0);
	}
	for (int i = 0; i < n; i++)
		free(found[i]);
	free(found);
}

/* Under another name first, so that nobody reads half a report. */
static int write_letter(const struct letter *letter)
{
	char partial[PATH_MAX + 8];
	FILE *out;
	int err = 0;

	snprintf(partial, sizeof(partial), "%s" PARTIAL, letter->path);
	unlink(partial); /* of a run that was ended; "x": nobody else's file or link is written to */
	out = fopen(partial, "wxe");
	if (!out)
		return -errno;
	if (fwrite(letter->text, 1, letter->size, out) != letter->size)
		err = -EIO;
	if (!err && (fflush(out) || fsync(fileno(out))))
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	if (!err && rename(partial, letter->path))
		err = -errno;
	if (err)
		unlink(partial);
	return err;
}

static enum outbox_result deliver(void *ctx, void *item, bool last)
{
	struct agent_reports *reports = ctx;
	struct letter *letter = item;
	int err = write_letter(letter);

	(void)last;
	if (err)
		agent_log(AGENT_WARNING, "%s: %s", letter->path, strerror(-err));
	else
		agent_log(AGENT_INFO, "%s: %s",
		          letter->again ? "an incident has another cause than was reported" : "an incident",
		          letter->path);
	agent_reports_trim(reports->folder, reports->max_bytes, letter->path);
	letter_free(letter);
	return OUTBOX_DONE;
}

/* --- in the loop -------------------------------------------------------------------------------------------- */

/* 0 or -errno. With the slash behind it nothing but a folder will do. */
static int open_folder(const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/", folder);
	/* A mkdir() of what is there waits for a file system that is frozen; to look does not. */
	if (access(path, F_OK) && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return access(path, W_OK) ? -errno : 0;
}

int agent_reports_new(struct agent_reports **out, const struct config *config, char *err, size_t err_len)
{
	struct agent_reports *reports;
	int result;

	*out = NULL;
	if (!config->output.reports[0])
		return 0;
	result = open_folder(config->output.reports);
	if (result) {
		snprintf(err, err_len, "output.reports: %s: %s", config->output.reports, strerror(-result));
		return result;
	}
	reports = calloc(1, sizeof(*reports));
	if (reports) {
		const struct outbox_opts opts = { .name = "stallprof-rep",
			                          .max_items = WAITING_MAX,
			                          .max_bytes = SIZE_MAX,
			                          .ctx = reports,
			                          .deliver = deliver,
			                          .drop = drop };

		reports->folder = strdup(config->output.reports);
		reports->max_bytes = config->output.reports_max_bytes;
		reports->live = report_live_new(config->output.reports_rest_seconds * 1000000000ULL);
		reports->box = outbox_new(&opts);
		report_format_parse(config->output.report_format, &reports->format);
	}
	if (reports && reports->folder && reports->live && reports->box) {
		*out = reports;
		return 0;
	}
	agent_reports_free(reports);
	snprintf(err, err_len, "out of memory");
	return -ENOMEM;
}

/* What the thread needs. */
static void on_gone(void *ctx, struct outbox *box)
{
	struct agent_reports *reports = ctx;

	outbox_free(box);
	free(reports->folder);
	free(reports);
}

void agent_reports_free(struct agent_reports *reports)
{
	uint64_t until_ns = monotonic_ns() + LAST_NS;

	if (!reports)
		return;
	if (reports->box && outbox_has_begun(reports->box)) {
		outbox_end(reports->box);
		while (!outbox_has_ended(reports->box) && monotonic_ns() < until_ns)
			usleep(PAUSE_US);
	}
	if (reports->box && outbox_has_begun(reports->box) && !outbox_has_ended(reports->box))
		agent_log(AGENT_WARNING, "%s does not answer: %zu reports may not be written",
		          reports->folder, outbox_count(reports->box));
	report_live_free(reports->live);
	reports->live = NULL;
	if (reports->box && outbox_leave(reports->box, on_gone))
		return;
	on_gone(reports, reports->box);
}

bool agent_reports_look(struct agent_reports *reports, const struct session *session)
{
	uint64_t now_ns = monotonic_ns(), rest_ns;
	bool found;

	if (!reports || now_ns - reports->looked_ns < LOOK_EVERY_NS)
		return false;
	reports->looked_ns = now_ns;
	found = report_live_look(reports->live, session_lanes(session), &reports->hint);
	rest_ns = report_live_passed_over(reports->live);
	if (rest_ns)
		agent_log(AGENT_INFO,
		          "another incident: no report of it, nor of others that are not much worse, for "
		          "%" PRIu64 " s",
		          (rest_ns + 999999999) / 1000000000);
	return found;
}

static void send_report(struct agent_reports *reports, const struct report *report,
                        const struct report_hint *hint)
{
	struct letter *letter = calloc(1, sizeof(*letter));
	FILE *out = letter ? open_memstream(&letter->text, &letter->size) : NULL;
	int err = out ? report_write(out, report, reports->format) : -ENOMEM;

	if (out && fclose(out) && !err)
		err = -ENOMEM;
	if (err) {
		agent_log(AGENT_WARNING, "no report of an incident: %s", strerror(-err));
		if (letter)
			letter_free(letter);
		return;
	}
	letter->again = !reports->hint.begin_ns;
	snprintf(letter->path, sizeof(letter->path), "%s/" PREFIX "%" PRIu64 "%s", reports->folder,
	         hint->begin_ns / 1000000, endings[reports->format]);
	outbox_put(reports->box, letter, sizeof(*letter) + letter->size, false);
}

/* Its ledger has a row for each step, and is read only where it is needed. */
static bool keep_timeline(struct agent_reports *reports, const struct profile *profile)
{
	struct timeline *timeline = timeline_new(0);

	if (timeline && !timeline_from_notes(timeline, profile, NULL) &&
	    report_live_keep(reports->live, timeline))
		return true;
	timeline_free(timeline);
	return false;
}

/* Whether it shows where its cause was; of the run queue there are no samples. */
static bool has_evidence(const struct report *report)
{
	const struct report_cause *primary = report->ranking.primary;

	return primary && (primary->kind == TIMELINE_RUNQUEUE || (report->paths && report->paths->count));
}

/* 0 or -errno. */
static int look_at_window(struct agent_reports *reports, struct loaded_profiles *input)
{
	int err = report_live_window(reports->live, input);
	struct report_hint hint = reports->hint;
	struct report report;

	if (err || (!hint.begin_ns && !report_live_again(reports->live, input, &hint)))
		return err;
	err = report_make(&report, input, NULL, NULL, &hint);
	if (err)
		return err;
	if ((reports->hint.begin_ns || has_evidence(&report)) &&
	    report_live_settle(reports->live, &report.ranking))
		send_report(reports, &report, &hint);
	report_release(&report);
	return 0;
}

void agent_reports_window(struct agent_reports *reports, const struct profile *profile)
{
	struct loaded_profiles input;
	char text[256];
	int err;

	if (!reports ||
	    (!reports->hint.begin_ns && !report_live_wants(reports->live) && keep_timeline(reports, profile)))
		return;
	err = loaded_profiles_borrow(&input, profile, text, sizeof(text));
	if (!err) {
		err = look_at_window(reports, &input);
		snprintf(text, sizeof(text), "%s", strerror(-err));
		loaded_profiles_release(&input);
	}
	if (err && reports->hint.begin_ns)
		agent_log(AGENT_WARNING, "no report of an incident: %s", text);
	reports->hint.begin_ns = 0;
}
