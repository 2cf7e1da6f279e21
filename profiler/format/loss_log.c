/* Logs each kind of loss the first time it occurs, and keeps the totals. */

#include "profiler/format/loss_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profiler/format/stamp.h"

/* Counters of what is missing from a profile. Other counters are of stacks and names, which say in their place that
 * something is missing. */
static const struct loss {
	const char *counter, *what, *advice;
} losses[] = {
	{ "ring_full", "samples lost: the ring buffer was full", "raise sampling.ring_bytes" },
	{ "ledger_full", "ledger rows lost: more tags at once than it holds",
	  "use fewer exact ids or names" },
	{ "tags_full", "tags without their name: more at once than are held", "use fewer names" },
	{ "threads_failed", "tagged threads not followed: the kernel had no storage for them",
	  "free memory if there is little; a few may be where it was busy" },
	{ "tag_changes_lost", "changes of tags lost: their threads' logs were overwritten", NULL },
	{ "events_without_memory", "samples lost: there was no memory", "free memory" },
	{ "ledger_without_memory_ns", "ns of the ledger lost: there was no memory", "free memory" },
	{ "window_walks_failed", "windows without the last second: their end could not walk over the threads",
	  "free memory, or allow more open files" },
	{ "timeline_refused", "parts of the timeline lost: it was full", NULL },
	{ "requests_refused", "requests in no row: the window had too many kinds", NULL },
	{ "gpu_jobs_refused", "GPU jobs in no row: the window had too many kinds", NULL },
	{ "requests_unseen", "requests in no device's row, or nobody's", NULL },
	{ "gpu_jobs_unseen", "GPU jobs in no row: too many at once, or the ring buffer was full", NULL },
	{ "follow_full", "wakes or requests not followed: more at once than are held", NULL },
	{ "slots_exhausted", "waits without a user stack: too many threads waited at once",
	  "raise sampling.max_stalled_threads" },
	{ "samples_lost", "samples lost: the profile was full, or there was no time to resolve them",
	  "lower sampling.budget_bytes_per_second" },
	{ "rows_refused", "ledger rows lost: the window had too many", "give tags fewer ids" },
	{ "tag_classes_refused", "classes of tags counted as \"other\"",
	  "raise tags.max_classes, or set tags.rules" },
	{ "mapping_records_lost", "records of mappings lost: names and tags may be missing", NULL },
	{ "mappings_refused", "mappings or processes beyond what is held: names may be missing", NULL },
	{ "mappings_dropped", "mappings beyond what is held: names may be missing", NULL },
	{ "symbol_tables_evicted", "symbol tables dropped for others", "raise symbolizer.max_memory_bytes" },
	{ "debuginfod_failed", "debug files could not be fetched", NULL },
	{ "file_events_lost", "events of checkpoint files lost: their ring was full", NULL },
	{ "checkpoint_files_dropped", "checkpoint files without a row: more at once than are held", NULL },
	{ "file_xattrs_unasked",
	  "opened files not asked for their xattr: too many at once, or nobody is left to look", NULL },
	{ "file_xattrs_refused",
	  "opened files not looked at for their xattr: their file system hangs, or nobody is left to look",
	  NULL },
	{ "checkpoint_sums_refused",
	  "checkpoint files without a sha256: too many waited, or nobody is left to read them", NULL },
	{ "python_processes_refused", "Python processes beyond what is held: their C frames stay", NULL },
	{ "tagged_processes_refused", "tagged processes beyond what is held: some tags are not seen", NULL },
};

#define N_LOSSES (sizeof(losses) / sizeof(losses[0]))
_Static_assert(N_LOSSES <= LOSS_KINDS_MAX, "every loss has its total");

const char *loss_log_counter(size_t index)
{
	return index < N_LOSSES ? losses[index].counter : NULL;
}

static void take_counters(struct loss_log *log, const struct stamp *stamp, say_fn say)
{
	char line[512];
	size_t i;

	for (i = 0; i < N_LOSSES; i++) {
		const struct loss *loss = &losses[i];
		uint64_t n = stamp_counter(stamp, loss->counter);

		if (n && !log->total[i]) {
			snprintf(line, sizeof(line),
			         "%" PRIu64 " %s%s%s (further ones are counted in the profiles: %s)", n,
			         loss->what, loss->advice ? ": " : "", loss->advice ? loss->advice : "",
			         loss->counter);
			say(line);
		}
		log->total[i] += n;
	}
}

/* Whether the hook is missing for that reason, and that is yet to be said. */
static bool is_new(const struct loss_log *log, const struct stamp *stamp, size_t i, const char *reason)
{
	struct stamp_hook hook = stamp_hook_at(stamp, i);

	return hook.state == HOOK_MISSING && !log->hooks_said[i] && !strcmp(hook.reason, reason);
}

/* Collects "a, b, c", each cause once, of the hooks from `first` on that miss for one reason. Returns how many causes. */
static size_t take_causes(struct loss_log *log, const struct stamp *stamp, size_t first, char *causes,
                          size_t size)
{
	size_t n = stamp_hook_count(stamp), n_causes = 0, length = 0;
	struct stamp_hook at_first = stamp_hook_at(stamp, first);
	const char *last = "";

	*causes = '\0';
	for (size_t i = first; i < n && i < LOSS_HOOKS_MAX; i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (!is_new(log, stamp, i, at_first.reason))
			continue;
		log->hooks_said[i] = 1;
		if (!strcmp(last, hook.cause))
			continue;
		last = hook.cause;
		length += (size_t)snprintf(causes + length, size - length, "%s%s", n_causes ? ", " : "",
		                           hook.cause);
		length = length < size ? length : size - 1;
		n_causes++;
	}
	return n_causes;
}

static void take_hooks(struct loss_log *log, const struct stamp *stamp, say_fn say)
{
	size_t n = stamp_hook_count(stamp), i;
	char line[512], causes[256];

	for (i = 0; i < n && i < LOSS_HOOKS_MAX; i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (!is_new(log, stamp, i, hook.reason))
			continue;
		if (take_causes(log, stamp, i, causes, sizeof(causes)) > 1)
			snprintf(line, sizeof(line), "not all is seen of %s: %s (see stallprof doctor)",
			         causes, hook.reason);
		else
			snprintf(line, sizeof(line), "%s is not seen by %s: %s (see stallprof doctor)",
			         hook.cause, hook.hook, hook.reason);
		say(line);
	}
}

void loss_log_take(struct loss_log *log, const struct stamp *stamp, say_fn say)
{
	take_counters(log, stamp, say);
	take_hooks(log, stamp, say);
}

void loss_log_totals(const struct loss_log *log, char *text, size_t size)
{
	size_t used = 0, i;

	text[0] = '\0';
	for (i = 0; i < N_LOSSES && used < size; i++) {
		uint64_t total = log->before[i] + log->total[i];

		if (total)
			used += snprintf(text + used, size - used, "%s%s=%" PRIu64, used ? " " : "",
			                 losses[i].counter, total);
	}
}

void loss_log_go_on(struct loss_log *log, const struct loss_log *old)
{
	for (size_t i = 0; i < N_LOSSES; i++)
		log->before[i] = old->before[i] + old->total[i];
}
