/* Prints what was not seen: a sentence for each loss. */

#include "profiler/top/top_seen.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/top/top_hooks.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum unit { NUMBER, NS };

/*
 * Worst first. %s is the value, and of {one|many} the part that agrees with it is printed. A sentence may be for
 * one of two counters that count the same loss in two ways. Counters that are not here and not in `quiet` are
 * losses without a sentence yet: they are printed by name.
 */
static const struct {
	const char *counter;
	enum unit unit;
	const char *sentence;
} sentences[] = {
	{ "windows_refused", NUMBER,
	  "%s {window is|windows are} missing: record less at a time, or into a folder" },
	{ "windows_dropped", NUMBER,
	  "%s {window is|windows are} missing, as the disk was too slow or full, or failed" },
	{ "window_walks_failed", NUMBER,
	  "%s {window lacks|windows lack} what its end would have told, as the walk over the threads failed, "
	  "for want of memory or file descriptors: up to a second, and waits that went on; the next has it" },
	{ "ledger_full", NUMBER, "%s {row was|rows were} lost, as the table of rows was full" },
	{ "ledger_full_ns", NS, "%s of the time are in no row, as the table of rows was full" },
	{ "rows_refused_ns", NS, "%s of the time are in no row, as a window had too many tags" },
	{ "tags_too_deep", NUMBER,
	  "%s {tag was|tags were} pushed on 32 others: {its|their} time is in the tag at that depth" },
	{ "tag_names_cut", NUMBER, "%s {push has|pushes have} a name of over 255 bytes, which is cut" },
	{ "tag_pops_stray", NUMBER,
	  "%s {pop of a tag|pops of tags} had no push: the program's pushes and pops are not in pairs" },
	{ "tags_without_memory", NUMBER, "%s {push|pushes} had no memory for {its tag|their tags}" },
	{ "threads_failed", NUMBER, "%s tagged {thread was|threads were} not followed, for want of memory" },
	{ "tags_full", NUMBER, "%s {tag has|tags have} no name, as the table of names was full" },
	{ "ring_full", NUMBER,
	  "%s {sample was|samples were} lost, as the ring buffer was full: --ring-bytes" },
	{ "ring_full_ns", NS,
	  "%s of stalls have no stack of their own, as the ring buffer was full: --ring-bytes" },
	{ "samples_lost", NUMBER,
	  "%s {sample was|samples were} lost, as the profile was full, or there was no time to resolve them: "
	  "lower --budget" },
	{ "samples_lost_ns", NS,
	  "%s of stalls have no stack of their own, as the profile was full, or there was no time to resolve "
	  "them: lower --budget" },
	{ "tag_classes_refused", NUMBER,
	  "%s {class of tags is|classes of tags are} summed as \"other\": --max-classes" },
	{ "tag_files_refused", NUMBER,
	  "%s {file|files} with the tag library could not be attached to: stallprof doctor" },
	{ "tag_files_beyond", NUMBER,
	  "%s {time|times} a program file was left out, as its process has more than 64 that keep tags" },
	{ "tag_slots_unlocated", NUMBER,
	  "%s {process keeps its|processes keep their} tags where they were not found" },
	{ "contexts_unreadable", NUMBER, "%s thread {context|contexts} could not be read" },
	{ "tag_changes_lost", NUMBER, "%s {change of a tag was|changes of tags were} not seen" },
	{ "tag_logs_unreadable", NUMBER, "%s {time|times} a thread's log of its tags could not be read" },
	{ "process_contexts_bad", NUMBER,
	  "%s {process publishes|processes publish} an OpenTelemetry context that could not be read" },
	{ "cpus_not_covered", NUMBER, "%s {CPU was|CPUs were} not watched for new programs" },
	{ "cpus_covered_late", NUMBER,
	  "%s {time|times} a CPU came online: programs started there within its first second or so may not "
	  "be known" },
	{ "mapping_records_lost", NUMBER,
	  "%s {mapping of a program was|mappings of programs were} not reported by the kernel" },
	{ "mappings_refused", NUMBER, "%s {mapping was|mappings were} not kept, being too many" },
	{ "wakes_unseen", NUMBER,
	  "%s {wait for I/O has|waits for I/O have} the device of the thread's last request, as the wake-up "
	  "was not "
	  "seen" },
	{ "iowaits_unexplained", NUMBER,
	  "%s {sleep|sleeps} that the kernel calls I/O {is|are} blocked, as nothing says which I/O" },
	{ "late_copies_failed", NUMBER,
	  "%s {time|times} the stacks of long waits could not be copied, for want of memory or file "
	  "descriptors" },
	{ "programs_skipped", NUMBER,
	  "%s {time|times} the kernel left out a hook, as its program was running on that CPU already" },
	{ "threads_busy", NUMBER,
	  "%s {time|times} the kernel did not let a tagged thread be found, as it was at another's on that "
	  "CPU: "
	  "what it did may be under another tag or cause (Linux before 6.2)" },
	{ "slots_lost", NUMBER, "%s {place|places} for stacks {is|are} lost" },
	{ "device_unknown", NUMBER,
	  "%s {wait for I/O has|waits for I/O have} no device, as no request was seen" },
	{ "requests_unseen", NUMBER,
	  "%s {request|requests} of devices {is|are} nobody's or in no row: no end was seen, or another came "
	  "in "
	  "between" },
	{ "timeline_refused", NUMBER, "%s {value is|values are} not on the timeline, which is full" },
	{ "gpu_jobs_unseen", NUMBER,
	  "%s {job of a GPU is|jobs of GPUs are} in no row: too many at once, or the ring buffer was full" },
	{ "gpu_jobs_refused", NUMBER,
	  "%s {job of a GPU is|jobs of GPUs are} in no row, as there are too many rows" },
	{ "follow_full", NUMBER,
	  "%s {wake-up or request was|wake-ups or requests were} not followed, as a table was full" },
	{ "tagged_processes_refused", NUMBER,
	  "%s {time|times} there was no room for a process that keeps tags: its tags may not be seen" },
	{ "dirty_forgotten", NUMBER,
	  "%s {file was|files were} made dirty under a tag and pushed out of the table by others: what "
	  "writes {it|them} later has no tag" },
	{ "swiotlb_full", NUMBER,
	  "%s DMA {map|maps} found no room in the bounce buffers (swiotlb), and had to be tried again" },
	{ "iommu_faults", NUMBER, "An IOMMU refused %s {access|accesses} of devices to memory" },
	{ "switch_ins_unseen", NUMBER,
	  "%s {wait has|waits have} no stack, as the hook on the switch back to the thread was not called" },
	{ "waiters_dropped", NUMBER,
	  "%s {thread's waits were|threads' waits were} forgotten, as too many waited at once: what others "
	  "waited for through {it|them} is not known" },
	{ "slots_exhausted", NUMBER,
	  "%s {wait has|waits have} no user stack, as too many threads waited at once: --max-stalled" },
	{ "stacks_truncated", NUMBER,
	  "%s {stack was|stacks were} cut, being longer than what is copied (--stack-bytes, 64 KiB at "
	  "most)" },
	{ "stacks_pages_missing", NUMBER, "%s {stack was|stacks were} cut at pages that could not be read" },
	{ "stacks_read_too_late", NUMBER, "%s {stack was|stacks were} gone before being read" },
	{ "file_events_lost", NUMBER,
	  "%s {thing|things} done with checkpoint files {was|were} not seen, as the ring or the table was "
	  "full" },
	{ "checkpoint_files_dropped", NUMBER, "%s checkpoint {file has|files have} no row, being too many" },
	{ "file_xattrs_unasked", NUMBER,
	  "%s opened {file was|files were} not asked for {its xattr|their xattrs}, being too many at once, "
	  "or as the process that looks had ended" },
	{ "file_xattrs_refused", NUMBER,
	  "%s opened {file was|files were} not looked at for {its xattr|their xattrs}, as {its|their} file "
	  "system hangs, or the process that looks had ended" },
	{ "checkpoint_sums_refused", NUMBER,
	  "%s checkpoint {file was|files were} not read for {its|their} sha256, as too many waited, or "
	  "the process that reads them had ended" },
	{ "python_stacks_cut", NUMBER, "%s Python {stack was|stacks were} cut at 256 frames" },
	{ "python_stacks_faulted", NUMBER,
	  "%s {stack has|stacks have} Python frames that could not be read" },
	{ "python_threads_unseen", NUMBER,
	  "%s {stack has|stacks have} no Python frames, as the interpreter has too many threads" },
	{ "python_versions_unknown", NUMBER,
	  "%s {process runs|processes run} a Python whose version is not known: C frames stand for its own" },
	{ "python_processes_refused", NUMBER,
	  "%s Python {process is|processes are} shown by C frames, being too many" },
	{ "python_code_gone", NUMBER,
	  "%s Python {function was|functions were} gone before {its name was|their names were} read" },
	{ "file_systems_silent", NUMBER,
	  "%s {file system|file systems} did not answer: programs and libraries on {it|them} were not read "
	  "meanwhile" },
	{ "files_missing", NUMBER, "%s {file was|files were} gone before {its|their} symbols were read" },
	{ "files_corrupt", NUMBER, "%s {file has|files have} symbols that make no sense" },
	{ "files_too_large", NUMBER, "%s {file is|files are} too large for {its|their} symbols to be read" },
};

/* Counters that are no losses, or that a sentence above or the stack itself says. */
static const char *const quiet[] = {
	"samples",
	"samples_without_row",
	"tag_files_unread",   /* also those of processes that have ended */
	"file_xattrs_unread", /* also those below an overlay, which are no files of their own */
	"stacks_of_like_waits_ns",
	"rows_refused",
	"steal_ns", /* told when it is much, as the next three */
	"tag_probes_late_ns",
	"hooks_late_ns",
	"samples_skipped_ns",
	"cpu_samples_left_out",
	"python_frames",
	"python_unmatched",
	"stacks_incomplete",
	"stacks_not_copied",
	"stacks_without_user", /* told with its time */
	"stalls_without_user", /* a part of those */
	"stacks_by_registers",
	"stacks_as_sent",
	"stacks_read_late",
	"stacks_faulted", /* most of these are completed */
	"stacks_completed",
	"contexts_kept",
	"frames_without_symbol",
	"frames_dwarf",
	"frames_symtab",
	"frames_kallsyms",
	"frames_jitdump",
	"frames_perf_map",
	"dwarf_errors",
	"split_files_missing",
	"symbol_tables_evicted",
	"mappings_dropped",
	"symbol_names_refused",
	"symbol_indexes_loaded",
	"symbol_blocks_used",
	"symbol_blocks_refused",
	"symbol_blocks_saved",
	"symbol_indexes_evicted",
	"symbol_index_errors",
};

/* The part of "{one|many}" that agrees with the number. Gives what follows. */
static const char *print_agreeing(FILE *out, const char *at, bool one)
{
	const char *bar = strchr(at, '|'), *end = strchr(at, '}');
	const char *from = one ? at + 1 : bar + 1;

	fprintf(out, "%.*s", (int)((one ? bar : end) - from), from);
	return end + 1;
}

static void print_amount(FILE *out, const char *sentence, enum unit unit, uint64_t value)
{
	char text[TEXT_DURATION_BYTES];

	if (unit == NS)
		text_short_duration(text, value);
	else
		snprintf(text, sizeof(text), "%" PRIu64, value);
	for (const char *at = sentence; *at;) {
		if (*at == '{') {
			at = print_agreeing(out, at, value == 1);
		} else if (!strncmp(at, "%s", 2)) {
			fputs(text, out);
			at += 2;
		} else {
			fputc(*at++, out);
		}
	}
	fputs(".\n", out);
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < COUNT(quiet); i++)
		if (!strcmp(quiet[i], name))
			return true;
	for (size_t i = 0; i < COUNT(sentences); i++)
		if (!strcmp(sentences[i].counter, name))
			return true;
	return !strncmp(name, "debuginfod_", 11);
}

static void tell_counters(struct losses *losses, const struct stamp *stamp)
{
	for (size_t i = 0; i < COUNT(sentences); i++) {
		uint64_t value = stamp_counter(stamp, sentences[i].counter);

		if (value && losses_begin_line(losses))
			print_amount(losses->out, sentences[i].sentence, sentences[i].unit, value);
	}
	for (size_t i = 0; i < stamp_counter_count(stamp); i++) {
		struct stamp_counter counter = stamp_counter_at(stamp, i);

		if (!counter.value || is_known(counter.name) || !losses_begin_line(losses))
			continue;
		text_print_clean(losses->out, counter.name, 0);
		fprintf(losses->out, ": %" PRIu64 ".\n", counter.value);
	}
}

/* The time of the samples whose user stack was not copied, with that of the waits that they stand for. */
static uint64_t not_copied_ns(const struct loaded_profiles *input)
{
	int type = input->profile ? profile_find_type(input->profile, "delay") : -1;
	struct profile_sample_view view;
	int64_t sum = 0;

	for (size_t i = 0; type >= 0 && profile_get_sample(input->profile, i, &view); i++)
		if (loaded_stack_not_copied(input->profile, &view))
			sum = saturating_add(sum, view.values[type]);
	return sum > 0 ? (uint64_t)sum : 0;
}

static void tell_without_user(struct losses *losses, const struct loaded_profiles *input)
{
	uint64_t waits = stamp_counter(input->stamp, "stacks_without_user"), ns;
	char text[TEXT_DURATION_BYTES], told[64] = "", sentence[192];

	if (!waits || !losses_begin_line(losses))
		return;
	ns = not_copied_ns(input);
	if (ns)
		snprintf(told, sizeof(told), "; {it stands|they stand} for %s",
		         text_short_duration(text, ns));
	snprintf(sentence, sizeof(sentence),
	         "%%s {wait has|waits have} no user stack: {it was|they were} not expected to be "
	         "{a stall|stalls}%s",
	         told);
	print_amount(losses->out, sentence, NUMBER, waits);
}

/* What the ledger has of one state; LEDGER_STATES: of all. */
static uint64_t ledger_ns(struct ledger *ledger, enum ledger_state state)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		ns += row && (state == LEDGER_STATES || row->state == state) ? row->ns : 0;
	}
	return ns;
}

/* Times that are some on every host: told when they are above a hundredth of what they may have changed. */
static const struct share {
	const char *counter;
	enum ledger_state of;
	const char *sentence;
} shares[] = {
	/* The scheduler counts stolen time of a virtual machine as run queue, or as on-CPU time of whoever ran. */
	{ "steal_ns", LEDGER_RUNQUEUE,
	  "The host took %s of CPU time from this machine (steal): what fell on tagged threads is in "
	  "runqueue" },
	{ "tag_probes_late_ns", LEDGER_STATES,
	  "Programs had the tag library for %s before it was listened to: what they tagged then is not seen, "
	  "or "
	  "under another tag" },
	{ "hooks_late_ns", LEDGER_STATES,
	  "It took %s to attach the hooks once something was tagged: that time of the tagged threads is not "
	  "seen" },
	{ "samples_skipped_ns", LEDGER_ONCPU,
	  "Threads ran for %s without the samples that were due, as the kernel took them late or not at all: "
	  "the "
	  "stacks of on-CPU time lack it" },
};

static void tell_shares(struct losses *losses, const struct loaded_profiles *input)
{
	for (const struct share *share = shares; share < shares + COUNT(shares); share++) {
		uint64_t ns = stamp_counter(input->stamp, share->counter);

		if (ns > ledger_ns(input->ledger, share->of) / 100 && losses_begin_line(losses))
			print_amount(losses->out, share->sentence, NS, ns);
	}
}

static void tell_kernel(struct losses *losses, const struct stamp *stamp)
{
	struct stamp_kernel kernel = stamp_kernel(stamp);

	if (kernel.state < KERNEL_SYMBOLS_KALLSYMS || !*kernel.advice || !losses_begin_line(losses))
		return;
	fprintf(losses->out,
	        "Kernel frames have no %s: ", kernel.state == KERNEL_SYMBOLS_HIDDEN ? "names" : "lines");
	text_print_clean(losses->out, kernel.advice, 0);
	fputs(".\n", losses->out);
}

static void tell_files(struct losses *losses, const struct loaded_profiles *input)
{
	if (input->malformed_lines && losses_begin_line(losses))
		fprintf(losses->out,
		        "%zu lines of the ledger or the stamp could not be read and were left out.\n",
		        input->malformed_lines);
	if (input->overlaps.twice && losses_begin_line(losses))
		fprintf(losses->out, "%zu file%s left out, as %s what others have.\n", input->overlaps.twice,
		        input->overlaps.twice == 1 ? " is" : "s are",
		        input->overlaps.twice == 1 ? "it has" : "they have");
	if ((input->overlaps.hosts || input->overlaps.clock) && losses_begin_line(losses))
		loaded_overlaps_text(losses->out, &input->overlaps, "", "\n");
	if (timeline_refused(input->timeline) && losses_begin_line(losses))
		fprintf(losses->out,
		        "The timeline was full: %zu%s of its lanes are left out, "
		        "so when what they tell of was is not known.\n",
		        timeline_refused(input->timeline),
		        timeline_refused(input->timeline) == TIMELINE_REFUSED_MAX ? " or more" : "");
	if (ledger_folded(input->ledger) && losses_begin_line(losses))
		fprintf(losses->out,
		        "%" PRIu64 " rows of exact tags are summed by class, as there are more than %u: "
		        "their p50, p99 and worst are "
		        "of the others.\n",
		        ledger_folded(input->ledger), LEDGER_ROWS_MAX);
	if (input->rewritten_files && losses_begin_line(losses))
		fprintf(losses->out,
		        "Another program wrote %zu of %zu files anew: their exact tags and what was not seen "
		        "are lost.\n",
		        input->rewritten_files, input->files);
	if (input->foreign_files && losses_begin_line(losses))
		fprintf(losses->out, "%zu of %zu files have no ledger, as stallprof did not write them.\n",
		        input->foreign_files, input->files);
}

size_t top_text_losses(FILE *out, const struct loaded_profiles *input, size_t limit)
{
	struct losses losses = { .out = out, .limit = limit };

	tell_files(&losses, input);
	tell_shares(&losses, input);
	tell_counters(&losses, input->stamp);
	tell_without_user(&losses, input);
	top_hooks_tell(&losses, input->stamp);
	tell_kernel(&losses, input->stamp);
	if (losses.more) {
		fprintf(out, "And %zu more of this kind: stallprof top -v ", losses.more);
		text_print_clean(out, input->path ? input->path : "FILE", 0);
		fputs(".\n", out);
		losses.lines++;
	}
	return losses.lines;
}
