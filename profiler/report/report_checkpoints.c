/* Puts into words what became of checkpoint files. */

#include "profiler/report/report_checkpoints.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"

#define FILES_SHOWN 12
#define MB          1e6

static const char *const durable_words[CHECKPOINT_DURABLES] = {
	[CHECKPOINT_NOT_RENAMED] = "it was not renamed",
	[CHECKPOINT_DURABLE] = "all of it was on the device before it had its name",
	[CHECKPOINT_NOT_DURABLE] =
	        "it had its name before all of it was on the device: a crash in between leaves a broken file",
	[CHECKPOINT_DURABLE_UNKNOWN] =
	        "whether all of it was on the device before it had its name is not known",
};

static const char *const reason_words[CHECKPOINT_REASONS] = {
	[CHECKPOINT_NO_REASON] = "",
	[CHECKPOINT_STILL_DIRTY] = " (pages of it were in memory alone)",
	[CHECKPOINT_WRITE_FAILED] = " (a write or an fsync had failed)",
	[CHECKPOINT_NEVER_SYNCED] = " (there was no fsync of it)",
	[CHECKPOINT_CHANGED_AFTER_SYNC] = " (it was written after its last fsync)",
	[CHECKPOINT_BEGUN_BEFORE] = " (it had data before the recording)",
	[CHECKPOINT_EVENTS_LOST] = " (events of it were lost)",
};

static const char *const sum_words[CHECKPOINT_SUMS] = {
	[CHECKPOINT_NO_SUM] = "",
	[CHECKPOINT_SUM_MATCHES] = "; its sha256 matches the xattr user.ai.checkpoint",
	[CHECKPOINT_SUM_DIFFERS] = "; its sha256 differs from the one in the xattr user.ai.checkpoint",
	[CHECKPOINT_SUM_ALONE] = "; its xattr user.ai.checkpoint holds no sha256 to compare with",
	[CHECKPOINT_SUM_WAITING] = "; its sha256 was not taken before the recording ended",
	[CHECKPOINT_SUM_CHANGED] = "; it has no sha256, as it was written to while it was read",
	[CHECKPOINT_SUM_UNREAD] = "; it has no sha256, as it was not found any more, or could not be read",
	[CHECKPOINT_SUM_REFUSED] = "; it has no sha256, as too many files waited for theirs, or the process "
	                           "that reads them had ended",
};

static void write_sum(FILE *out, const struct checkpoint_file *file)
{
	fputs(sum_words[file->sum], out);
	if (*file->sha256)
		fprintf(out, " (sha256 %s", file->sha256);
	if (file->sum == CHECKPOINT_SUM_DIFFERS)
		fprintf(out, ", the xattr says %s", file->sha256_said);
	if (*file->sha256)
		fputc(')', out);
}

static void write_count(FILE *out, uint64_t count, const char *what)
{
	if (count)
		fprintf(out, ", %" PRIu64 " %s%s", count, what, count == 1 ? "" : "s");
}

static void write_written(FILE *out, const struct checkpoint_file *file)
{
	uint64_t bytes = file->written_bytes ? file->written_bytes : file->completed_bytes;

	fprintf(out, "%.1f MB", (double)bytes / MB);
	write_count(out, file->writes, "write");
	write_count(out, file->short_writes, "short write");
	write_count(out, file->failed_writes, "failed write");
	write_count(out, file->failed_completions, "failed request");
	write_count(out, file->failed_syncs, "failed fsync");
	if (file->error)
		fprintf(out, " (%s)", strerror((int)file->error));
	write_count(out, file->extents, "extent");
	if (file->completions)
		fprintf(out, ", %" PRIu64 " of %" PRIu64 " completions out of order", file->out_of_order,
		        file->completions);
}

/* Times count from the first write's end. */
static void write_when(FILE *out, const struct checkpoint_file *file)
{
	const struct {
		const char *what;
		uint64_t ns;
	} moments[] = {
		{ "last write", file->last_write_ns },
		{ "last completion", file->last_done_ns },
		{ "fsync", file->sync_end_ns },
		{ "rename", file->renamed_ns },
		{ "folder's fsync", file->folder_synced_ns },
		{ "close", file->closed_ns },
	};
	const char *before = ". After the first write: ";
	char time[TEXT_DURATION_BYTES];

	for (size_t i = 0; file->first_write_ns && i < sizeof(moments) / sizeof(moments[0]); i++) {
		if (moments[i].ns < file->first_write_ns)
			continue;
		fprintf(out, "%s%s %s", before, moments[i].what,
		        text_short_duration(time, moments[i].ns - file->first_write_ns));
		before = ", ";
	}
}

static void tell_file(struct report_document *document, const struct checkpoint_file *file)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fprintf(out, "%s (%s): ", *file->path ? file->path : "a file whose name is not known",
	        *file->class ? file->class : "no tag");
	write_written(out, file);
	fprintf(out, "; %s%s", durable_words[file->durable_before_name], reason_words[file->reason]);
	if (!file->synced)
		fputs(file->syncs ? "; no fsync had all of it" : "; no fsync of it was seen", out);
	write_sum(out, file);
	write_when(out, file);
	if (!fclose(out))
		report_document_point(document, "%s.", text);
	free(text);
}

static size_t tell_files(struct report_document *document, const struct checkpoint_rows *rows, bool wrong,
                         size_t room)
{
	size_t told = 0;

	for (size_t i = 0; i < checkpoint_rows_count(rows) && told < room; i++) {
		const struct checkpoint_file *file = checkpoint_rows_at(rows, i);

		if (checkpoint_is_wrong(file) != wrong)
			continue;
		tell_file(document, file);
		told++;
	}
	return told;
}

void report_checkpoints(struct report_document *document, const struct loaded_profiles *input)
{
	size_t count = checkpoint_rows_count(input->checkpoints), wrong = 0, told;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		wrong += checkpoint_is_wrong(checkpoint_rows_at(input->checkpoints, i));
	report_document_section(document, "Checkpoint files");
	report_document_say(document, "%zu file%s written; with %zu of %s something is wrong.", count,
	                    count == 1 ? " was" : "s were", wrong, count == 1 ? "it" : "them");
	told = tell_files(document, input->checkpoints, true, FILES_SHOWN);
	told += tell_files(document, input->checkpoints, false, FILES_SHOWN - told);
	if (told < count)
		report_document_say(document, "%zu more are in `stallprof report --format json`.",
		                    count - told);
}
