/* Compares the hooks and losses of two recordings. */

#include "profiler/diff/diff_sound.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "profiler/diff/diff_query.h"
#include "profiler/format/stamp.h"
#include "profiler/signals/signal_files.h"
#include "profiler/tracer/probe_table.h"

static const char *const side_names[] = { "BASE", "NEW" };

void diff_lines_add(struct diff_lines *lines, const char *format, ...)
{
	va_list arguments;

	if (lines->count == DIFF_LINES_MAX) {
		lines->more++;
		return;
	}
	va_start(arguments, format);
	vsnprintf(lines->text[lines->count++], DIFF_LINE_BYTES_MAX, format, arguments);
	va_end(arguments);
}

/* --- hooks ------------------------------------------------------------------------------------------------ */

/* NULL: the cause was looked for, as far as there was anything to look at. Else why not. */
static const char *not_looked_for(const struct stamp *stamp, const char *cause)
{
	const char *why = NULL;

	for (size_t i = 0; i < stamp_hook_count(stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (strcmp(hook.cause, cause) != 0)
			continue;
		if (hook.state == HOOK_MISSING ||
		    (hook.state == HOOK_UNUSED && !strcmp(hook.reason, PROBE_OFF)))
			why = *hook.reason ? hook.reason : "its hook was not attached";
	}
	return why;
}

static bool seen_before(const struct stamp *stamp, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!strcmp(stamp_hook_at(stamp, i).cause, stamp_hook_at(stamp, index).cause))
			return true;
	return false;
}

/* Signals of the host are no stalls: none of them is compared. */
static void compare_hooks(const struct diff_side side[2], struct diff_lines *against)
{
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < stamp_hook_count(side[s].stamp); i++) {
			const char *cause = stamp_hook_at(side[s].stamp, i).cause;
			const char *why = not_looked_for(side[s].stamp, cause);

			if (why && strcmp(cause, HOST_SIGNALS_CAUSE) != 0 && !seen_before(side[s].stamp, i) &&
			    !not_looked_for(side[!s].stamp, cause))
				diff_lines_add(against, "%s was looked for in %s alone; in %s: %s", cause,
				               side_names[!s], side_names[s], why);
		}
}

/* Some stalls have rows of subsystems alone: gpu_ring has gpu_ring_xe and others. */
static bool is_part_of(const char *cause, const char *stall)
{
	size_t length = strlen(stall);

	return !strncmp(cause, stall, length) && cause[length] == '_';
}

static bool has_hook(const struct stamp *stamp, const char *cause)
{
	for (size_t i = 0; i < stamp_hook_count(stamp); i++)
		if (!strcmp(stamp_hook_at(stamp, i).cause, cause))
			return true;
	return false;
}

/* Why none of its parts was looked for; NULL: one was, or the host had nothing that any would have been for, as no NVMe. */
static const char *no_part_looked_for(const struct stamp *stamp, const char *stall)
{
	const char *why = stamp_hook_count(stamp) ? NULL : "it has no stamp";

	for (size_t i = 0; i < stamp_hook_count(stamp); i++) {
		const char *cause = stamp_hook_at(stamp, i).cause;

		if (!is_part_of(cause, stall))
			continue;
		why = not_looked_for(stamp, cause);
		if (!why)
			return NULL;
	}
	return why;
}

bool diff_sound_looked_for(const struct stamp *stamp, const char *stall, char *text, size_t size)
{
	const char *why =
	        has_hook(stamp, stall) ? not_looked_for(stamp, stall) : no_part_looked_for(stamp, stall);

	snprintf(text, size, "%s", why ? why : "");
	return !why;
}

/* --- losses ----------------------------------------------------------------------------------------------- */

#define LOST_BYTES 64
#define LOST_MIN   30 /* waits: fewer make no difference that can be told */

/* What a loss is a part of. */
enum whole { OF_TIME, OF_WAITS, OF_ANY };

/* By how much the lost parts may differ: above that, a difference of a few percent would be the loss's own. */
static const struct {
	const char *counter, *what;
	enum whole whole;
	double limit;
} losses[] = {
	{ "windows_refused", "windows that were refused", OF_ANY, 0 },
	{ "windows_dropped", "windows that were dropped", OF_ANY, 0 },
	{ "ledger_full_ns", "time in no row of the ledger", OF_TIME, 0.005 },
	{ "rows_refused_ns", "time in no row of the profile", OF_TIME, 0.005 },
	{ "threads_failed", "tagged threads that were not followed", OF_ANY, 0 },
	{ "tag_classes_refused", "classes of tags summed as \"other\"", OF_ANY, 0 },
	{ "ring_full_ns", "stalls without a stack of their own (ring_full_ns)", OF_TIME, 0.01 },
	{ "samples_lost_ns", "stalls without a stack of their own (samples_lost_ns)", OF_TIME, 0.01 },
	{ "tag_changes_lost", "changes of tags that were not seen", OF_WAITS, 0.01 },
	{ "wakes_unseen", "waits whose wake-up was not seen", OF_WAITS, 0.1 },
	{ "device_unknown", "waits without a device", OF_WAITS, 0.1 },
	{ "programs_skipped", "hooks that the kernel left out", OF_WAITS, 0.1 },
	{ "threads_busy", "hooks that did not find their thread", OF_WAITS, 0.1 },
	{ "switch_ins_unseen", "waits without a stack (switch_ins_unseen)", OF_WAITS, 0.1 },
	{ "slots_exhausted", "waits without a user stack (slots_exhausted)", OF_WAITS, 0.1 },
	{ "stalls_without_user", "stalls without a user stack (stalls_without_user)", OF_WAITS, 0.2 },
	{ "stacks_truncated", "stacks that were cut", OF_WAITS, 0.2 },
};

/* The part of the whole that was lost: of the recording's, as counters know no filter. */
static double lost_part(const struct diff_side *side, const char *counter, enum whole whole)
{
	double value = (double)stamp_counter(side->stamp, counter), of = 1;

	if (whole == OF_TIME)
		of = side->tag_ns;
	else if (whole == OF_WAITS)
		of = side->stall_count;
	return value > 0 ? value / fmax(of, 1) : 0;
}

/* Of few waits a few are soon a large part, by chance. */
static bool is_chance(const struct diff_side side[2], const char *counter, enum whole whole,
                      const double part[2])
{
	double waits = fmax(fmin(side[0].stall_count, side[1].stall_count), 1);
	double both = fmin((part[0] + part[1]) / 2, 1), lost = 0;

	for (int s = 0; s < 2; s++)
		lost = fmax(lost, (double)stamp_counter(side[s].stamp, counter));
	return whole == OF_WAITS &&
	       (lost < LOST_MIN || fabs(part[1] - part[0]) < 4 * sqrt(2 * both * (1 - both) / waits));
}

/* Counters of waits count also those that are no stalls, so there may be more of them than stalls. */
static const char *lost_text(char text[LOST_BYTES], enum whole whole, double part)
{
	if (whole == OF_ANY)
		snprintf(text, LOST_BYTES, "%.0f", part);
	else if (whole == OF_WAITS && part > 1)
		snprintf(text, LOST_BYTES, "%.3g for each stall", part);
	else
		snprintf(text, LOST_BYTES, "%.4g %%", 100 * fmin(part, 1));
	return text;
}

static void compare_losses(const struct diff_side side[2], struct diff_lines *against)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		char base[LOST_BYTES], new[LOST_BYTES];
		double part[2];

		for (int s = 0; s < 2; s++)
			part[s] = lost_part(&side[s], losses[i].counter, losses[i].whole);
		if (fabs(part[1] - part[0]) > losses[i].limit &&
		    !is_chance(side, losses[i].counter, losses[i].whole, part))
			diff_lines_add(against, "%s: %s in BASE, %s in NEW", losses[i].what,
			               lost_text(base, losses[i].whole, part[0]),
			               lost_text(new, losses[i].whole, part[1]));
	}
}

/* --- files ------------------------------------------------------------------------------------------------ */

static bool has_stamp(const struct diff_side *side)
{
	return side->foreign_files + side->rewritten_files < side->files;
}

static void compare_files(const struct diff_side side[2], struct diff_lines *against,
                          struct diff_lines *remarks)
{
	for (int s = 0; s < 2; s++) {
		if (side[s].news.unreadable_files)
			diff_lines_add(against, "%s lacks %zu of its files: %s", side_names[s],
			               side[s].news.unreadable_files, side[s].news.unreadable);
		if (side[s].malformed_lines)
			diff_lines_add(against, "%s: %zu lines of its ledger or stamp could not be read",
			               side_names[s], side[s].malformed_lines);
		if (has_stamp(&side[s]) && !has_stamp(&side[!s]))
			diff_lines_add(against, "what %s did not see is not known: %s", side_names[!s],
			               diff_query_is(side[!s].place) ? "Pyroscope keeps no stamps"
			                                             : "stallprof did not write it, or "
			                                               "another program has written it anew");
	}
	if (!has_stamp(&side[0]) && !has_stamp(&side[1]))
		diff_lines_add(remarks,
		               "What was not seen is not known: neither side has a stamp of stallprof's.");
}

void diff_sound_check(const struct diff_side side[2], struct diff_lines *against, struct diff_lines *remarks)
{
	compare_files(side, against, remarks);
	if (!has_stamp(&side[0]) || !has_stamp(&side[1]))
		return;
	compare_hooks(side, against);
	compare_losses(side, against);
}

/* --- work ------------------------------------------------------------------------------------------------- */

/* When a side is said to have done more steps: by so many, and by such a part. */
#define STEPS_MORE 3
#define RATE_MORE  1.2

/* So many a window should have. */
#define STEPS_OF_WINDOW 2

static double steps_of(const struct diff_side *side, size_t class)
{
	double sum = 0;

	for (size_t i = 0; i < side->count; i++)
		sum += side->windows[i].of[class][DIFF_PER_STEP];
	return sum;
}

int diff_sound_ids(const struct diff_side side[2], struct diff_lines *remarks, char *err, size_t err_size)
{
	static const char *const names[] = { "BASE", "NEW" };
	const struct diff_classes *classes = side[0].classes;
	double most[2] = { 0, 0 };

	for (size_t c = 0; c < classes->count; c++) {
		double steps[2] = { steps_of(&side[0], c), steps_of(&side[1], c) };
		int few = steps[0] > steps[1];

		if (steps[few] > 0 && steps[!few] >= DIFF_STEPS_MANY && side[!few].several_tags[c] &&
		    (steps[few] < 2 || !side[few].several_tags[c])) {
			snprintf(err, err_size,
			         "%s cannot be normalised by step: it has one tag of %.100s, %s %.0f; give "
			         "each step its number as id",
			         names[few], classes->name[c], names[!few], steps[!few]);
			return -ENODATA;
		}
		most[0] = fmax(most[0], steps[0]);
		most[1] = fmax(most[1], steps[1]);
	}
	for (int s = 0; s < 2; s++)
		if (side[s].count > 1 && most[s] < STEPS_OF_WINDOW * (double)side[s].count)
			diff_lines_add(remarks,
			               "%s has %.2g steps in a window, so that bounds are wide: record with "
			               "longer windows.",
			               names[s], most[s] / (double)side[s].count);
	return 0;
}

void diff_sound_steps(const struct diff_side side[2], struct diff_lines *remarks)
{
	double wall[2] = { side[0].amount[DIFF_PER_WALL] / 1e9, side[1].amount[DIFF_PER_WALL] / 1e9 };
	double most = log(RATE_MORE), rate[2] = { 0, 0 };
	const struct diff_classes *classes = side[0].classes;
	const char *worst = NULL;

	for (size_t c = 0; c < classes->count; c++) {
		double base = steps_of(&side[0], c) / wall[0], new = steps_of(&side[1], c) / wall[1];

		if (!(base > 0) || !(new > 0) || fabs(new - base) * fmin(wall[0], wall[1]) < STEPS_MORE ||
		    fmin(steps_of(&side[0], c), steps_of(&side[1], c)) < STEPS_MORE ||
		    fabs(log(new / base)) <= most)
			continue;
		most = fabs(log(new / base));
		worst = classes->name[c];
		rate[0] = base;
		rate[1] = new;
	}
	if (worst)
		diff_lines_add(remarks,
		               "A second has not as much work in both: NEW did %.3g steps of %.100s in it, "
		               "BASE %.3g. To compare a step with a step, add --normalize step.",
		               rate[1], worst, rate[0]);
}
