/* Prints rows of checkpoint files. */

#include "profiler/top/top_checkpoints.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/json_writer.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"

#define PATH_COLUMNS 60

/* --- text ------------------------------------------------------------------------------------------------- */

static void write_name(FILE *out, const struct checkpoint_file *file)
{
	static const char *const words[CHECKPOINT_DURABLES] = {
		[CHECKPOINT_NOT_RENAMED] = "; was not renamed",
		[CHECKPOINT_DURABLE] = "; was on the device before it had its name",
		[CHECKPOINT_NOT_DURABLE] = "; had its name before its data was on the device",
		[CHECKPOINT_DURABLE_UNKNOWN] = "; may have had its name before its data was on the device",
	};

	fputs(words[file->durable_before_name], out);
	if (file->reason)
		fprintf(out, " (%s)", checkpoint_reason_name(file->reason));
	if (!file->synced)
		fputs(file->syncs ? "; no fsync had all of it" : "; no fsync of it was seen", out);
}

static void write_sum(FILE *out, const struct checkpoint_file *file)
{
	static const char *const words[CHECKPOINT_SUMS] = {
		[CHECKPOINT_NO_SUM] = "",
		[CHECKPOINT_SUM_MATCHES] = "; its sha256 is its xattr's",
		[CHECKPOINT_SUM_DIFFERS] = "; its sha256 is not its xattr's",
		[CHECKPOINT_SUM_ALONE] = "; its sha256 is known, its xattr has none",
		[CHECKPOINT_SUM_WAITING] = "; its sha256 was not taken before the end",
		[CHECKPOINT_SUM_CHANGED] = "; it was written to while its sha256 was taken",
		[CHECKPOINT_SUM_UNREAD] = "; it could not be read for its sha256",
		[CHECKPOINT_SUM_REFUSED] =
		        "; too many files waited for their sha256, or who reads them had ended",
	};

	fputs(words[file->sum], out);
}

static void write_count(FILE *out, uint64_t count, const char *what)
{
	if (count)
		fprintf(out, "; %" PRIu64 " %s%s", count, what, count == 1 ? "" : "s");
}

static void write_file(FILE *out, const struct checkpoint_file *file)
{
	uint64_t bytes = file->written_bytes ? file->written_bytes : file->completed_bytes;

	fputs("  ", out);
	text_print_clean(out, *file->path ? file->path : "(a file whose name is not known)", PATH_COLUMNS);
	fprintf(out, "  %.1f MiB", (double)bytes / (1 << 20));
	write_count(out, file->short_writes, "short write");
	write_count(out, file->failed_writes, "failed write");
	write_count(out, file->failed_completions, "failed request");
	write_count(out, file->failed_syncs, "failed sync");
	if (file->error)
		fprintf(out, ": %s", strerror((int)file->error));
	write_name(out, file);
	write_sum(out, file);
}

/* Without memory the row is left out. */
static void print_file(FILE *out, const struct checkpoint_file *file, size_t columns)
{
	char *line = NULL;
	size_t size;
	FILE *memory = open_memstream(&line, &size);

	if (!memory)
		return;
	write_file(memory, file);
	if (!fclose(memory)) {
		text_print_clean(out, line, columns);
		fputc('\n', out);
	}
	free(line);
}

size_t top_text_checkpoints(FILE *out, const struct loaded_profiles *input, bool all, size_t limit,
                            size_t columns)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < checkpoint_rows_count(input->checkpoints); i++) {
		const struct checkpoint_file *file = checkpoint_rows_at(input->checkpoints, i);

		if (!all && !checkpoint_is_wrong(file))
			continue;
		if (limit && shown == limit) {
			more++;
			continue;
		}
		if (!shown++)
			fputs(all ? "Checkpoint files:\n" : "Checkpoint files with something wrong:\n", out);
		print_file(out, file, columns);
	}
	if (more)
		fprintf(out, "  and %zu more: stallprof top -v FILE\n", more);
	return shown ? shown + 1 + (more != 0) : 0;
}

/* --- JSON ------------------------------------------------------------------------------------------------- */

static void json_flag(struct json_writer *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

static void json_ranges(struct json_writer *json, const struct checkpoint_file *file)
{
	json_member_u64(json, "extents", file->extents);
	json_key(json, "ranges");
	json_array_begin(json);
	for (size_t i = 0; i < file->n_ranges; i++) {
		json_object_begin(json);
		json_member_u64(json, "offset", file->ranges[i].offset);
		json_member_u64(json, "length", file->ranges[i].length);
		json_member_u64(json, "first_done_ns", file->ranges[i].first_done_ns);
		json_member_u64(json, "last_done_ns", file->ranges[i].last_done_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_what_was_done(struct json_writer *json, const struct checkpoint_file *file)
{
	json_member_u64(json, "writes", file->writes);
	json_member_u64(json, "written_bytes", file->written_bytes);
	json_member_u64(json, "short_writes", file->short_writes);
	json_member_u64(json, "failed_writes", file->failed_writes);
	json_member_u64(json, "first_write_ns", file->first_write_ns);
	json_member_u64(json, "last_write_ns", file->last_write_ns);
	json_member_u64(json, "completions", file->completions);
	json_member_u64(json, "completed_bytes", file->completed_bytes);
	json_member_u64(json, "failed_completions", file->failed_completions);
	json_member_u64(json, "out_of_order", file->out_of_order);
	json_member_u64(json, "scattered", file->scattered);
	json_member_u64(json, "first_done_ns", file->first_done_ns);
	json_member_u64(json, "last_done_ns", file->last_done_ns);
	json_member_u64(json, "syncs", file->syncs);
	json_member_u64(json, "failed_syncs", file->failed_syncs);
	json_member_u64(json, "sync_begin_ns", file->sync_begin_ns);
	json_member_u64(json, "sync_end_ns", file->sync_end_ns);
	json_member_u64(json, "renames", file->renames);
	json_member_u64(json, "renamed_ns", file->renamed_ns);
	json_member_u64(json, "folder_synced_ns", file->folder_synced_ns);
	json_member_u64(json, "closes", file->closes);
	json_member_u64(json, "closed_ns", file->closed_ns);
	json_member_u64(json, "events_lost", file->lost);
	json_member_i64(json, "error", file->error);
}

static void json_file(struct json_writer *json, const struct checkpoint_file *file)
{
	json_object_begin(json);
	json_member_string(json, "path", *file->path ? file->path : NULL);
	json_member_string(json, "renamed_from", *file->renamed_from ? file->renamed_from : NULL);
	json_member_string(json, "device", file->device);
	json_member_string(json, "class", file->class);
	json_member_u64(json, "inode", file->inode);
	json_member_u64(json, "begun_ns", file->begun_ns);
	json_member_u64(json, "updated_ns", file->updated_ns);
	json_flag(json, "from_empty", file->from_empty);
	json_what_was_done(json, file);
	json_flag(json, "synced", file->synced);
	json_member_string(json, "durable_before_name", checkpoint_durable_name(file->durable_before_name));
	json_member_string(json, "reason", file->reason ? checkpoint_reason_name(file->reason) : NULL);
	json_member_string(json, "sha256", *file->sha256 ? file->sha256 : NULL);
	json_member_string(json, "sha256_said", *file->sha256_said ? file->sha256_said : NULL);
	json_member_string(json, "sum", file->sum ? checkpoint_sum_name(file->sum) : NULL);
	json_flag(json, "wrong", checkpoint_is_wrong(file));
	json_ranges(json, file);
	json_object_end(json);
}

void top_json_checkpoints(struct json_writer *json, const struct loaded_profiles *input)
{
	json_key(json, "checkpoints");
	json_array_begin(json);
	for (size_t i = 0; i < checkpoint_rows_count(input->checkpoints); i++)
		json_file(json, checkpoint_rows_at(input->checkpoints, i));
	json_array_end(json);
}
