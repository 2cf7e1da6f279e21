/* Finds whose event one is, and makes rows. */

#include "profiler/session/checkpoint_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/config/config.h"
#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/session/checkpoint_names.h"
#include "profiler/session/checkpoint_sums.h"
#include "profiler/session/device_names.h"
#include "profiler/session/file_names.h"
#include "profiler/session/saved_files.h"
#include "profiler/tags/tag_class.h"
#include "symbolizer/base/clock.h"

struct checkpoint_files {
	struct checkpoint_files_deps deps;
	struct saved_files table;
	struct checkpoint_rows *finished; /* of files that went from the table in this window */
};

struct checkpoint_files *checkpoint_files_new(const struct checkpoint_files_deps *deps)
{
	struct checkpoint_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->deps = *deps;
	files->table.paths = deps->paths;
	files->table.asker = deps->asker;
	files->finished = checkpoint_rows_new();
	if (files->finished)
		return files;
	free(files);
	return NULL;
}

void checkpoint_files_free(struct checkpoint_files *files)
{
	struct saved_file *file, *next;

	if (!files)
		return;
	HASH_ITER (hh, files->table.files, file, next)
		saved_files_remove(&files->table, file);
	checkpoint_rows_free(files->finished);
	free(files);
}

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Makes times of CLOCK_MONOTONIC Unix time; 0 stays. */
static void to_unix(uint64_t *ns, uint64_t ahead)
{
	*ns = *ns ? *ns + ahead : 0;
}

static void times_to_unix(struct checkpoint_file *row, uint64_t ahead)
{
	uint64_t *const times[] = { &row->begun_ns,         &row->updated_ns,    &row->first_write_ns,
		                    &row->last_write_ns,    &row->first_done_ns, &row->last_done_ns,
		                    &row->sync_begin_ns,    &row->sync_end_ns,   &row->renamed_ns,
		                    &row->folder_synced_ns, &row->closed_ns };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		to_unix(times[i], ahead);
}

static const char *class_of(const struct checkpoint_files *files, const struct saved_file *file)
{
	char tag[ABI_TAG_NAME_LEN];

	if (file->source >= files->deps.n_entries)
		return "";
	snprintf(tag, sizeof(tag), "%s_write/%.180s", files->deps.entries[file->source].name,
	         checkpoint_names_base(file->place));
	return tag_classes_of(files->deps.classes, tag);
}

static int add_row(const struct checkpoint_files *files, const struct saved_file *file,
                   struct checkpoint_rows *rows)
{
	struct checkpoint_range ranges[CHECKPOINT_RANGES_MAX];
	struct checkpoint_file row = file->order.sums;

	row.path = file->path;
	row.renamed_from = file->from;
	row.device = device_names_of(files->deps.devices, file->dev, file->tgid);
	row.class = class_of(files, file);
	row.inode = file->number;
	row.begun_ns = file->begun_ns;
	row.synced = checkpoint_order_is_synced(&file->order);
	row.extents = file->order.n_ranges + file->order.ranges_refused;
	times_to_unix(&row, file->ahead_ns);
	row.sum = file->sum.state;
	row.sha256 = file->sum.sha256;
	row.sha256_said = file->sum.said;
	row.ranges = ranges;
	for (; row.n_ranges < file->order.n_ranges && row.n_ranges < CHECKPOINT_RANGES_MAX; row.n_ranges++) {
		struct checkpoint_range *range = &ranges[row.n_ranges];

		*range = file->order.ranges[row.n_ranges];
		to_unix(&range->first_done_ns, file->ahead_ns);
		to_unix(&range->last_done_ns, file->ahead_ns);
	}
	return checkpoint_rows_add(rows, &row);
}

/* It goes from the table: what was not told of it is kept until the window ends. A sum that is waited for is not taken, and why. */
static void retire(struct checkpoint_files *files, struct saved_file *file, enum checkpoint_sum why)
{
	if (file->sum.state == CHECKPOINT_SUM_WAITING) {
		files->table.sums_refused += why == CHECKPOINT_SUM_REFUSED;
		file->sum.state = why;
		file->told = false;
	}
	if (!file->told && saved_file_has_data(file) && add_row(files, file, files->finished))
		files->table.dropped++;
	saved_files_remove(&files->table, file);
}

/* --- the table ------------------------------------------------------------------------------------------ */

static void make_room(struct checkpoint_files *files)
{
	if (HASH_COUNT(files->table.files) >= CHECKPOINT_FILES_MAX)
		retire(files, files->table.files, CHECKPOINT_SUM_REFUSED);
}

static struct saved_file *begin_file(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct saved_file *file;

	make_room(files);
	file = calloc(1, sizeof(*file));
	if (!file) {
		files->table.dropped++;
		return NULL;
	}
	file->address = event->inode;
	file->number = event->number;
	file->generation = event->generation;
	file->dev = event->dev;
	file->source = event->source;
	file->tgid = event->tgid;
	file->begun_ns = event->begin_ns;
	file->ahead_ns = unix_ns() - monotonic_ns();
	return saved_files_append(&files->table, file);
}

/* --- events --------------------------------------------------------------------------------------------- */

/* Another save to the same file has a row of its own. */
static void opened(struct checkpoint_files *files, const struct abi_file_event *event)
{
	bool empty = event->flags & ABI_FILE_EMPTY;
	uint64_t address = event->inode;
	char place[PATH_MAX];
	struct saved_file *file;

	HASH_FIND(hh, files->table.files, &address, sizeof(address), file);
	if (file &&
	    (file != saved_files_find(&files->table, event) || (empty && saved_file_has_data(file)))) {
		retire(files, file, CHECKPOINT_SUM_CHANGED);
		file = NULL;
	}
	file = file ? saved_files_touch(&files->table, event) : begin_file(files, event);
	if (!file)
		return;
	file->order.sums.from_empty |= empty;
	if (!saved_file_has_data(file))
		file->order.lost_before = event->lost;
	file->order.sums.updated_ns = event->end_ns;
	file->tgid = event->tgid;
	if (!file_names_place(event, place, sizeof(place)))
		checkpoint_names_set(&files->table, file, place);
}

/* What is written to a file whose opening was not seen, or told of one, is counted without its name. */
static void changed(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct saved_file *file = saved_files_touch(&files->table, event);

	if (!file && event->kind == ABI_FILE_WROTE)
		file = begin_file(files, event);
	if (!file)
		return;
	checkpoint_order_add(&file->order, event);
	checkpoint_sums_follow(&files->table, file, event);
	file->order.sums.updated_ns = event->end_ns;
}

void checkpoint_files_add(struct checkpoint_files *files, const struct abi_file_event *event)
{
	static const struct {
		void (*files)(struct checkpoint_files *, const struct abi_file_event *);
		void (*table)(struct saved_files *, const struct abi_file_event *);
	} by_kind[] = {
		[ABI_FILE_OPENED] = { .files = opened },
		[ABI_FILE_WROTE] = { .files = changed },
		[ABI_FILE_SYNCED] = { .files = changed },
		[ABI_FILE_DONE] = { .files = changed },
		[ABI_FILE_CLOSED] = { .files = changed },
		[ABI_FILE_RENAMES] = { .table = checkpoint_names_begin_rename },
		[ABI_FILE_RENAMED] = { .table = checkpoint_names_end_rename },
		[ABI_FILE_DIR_SYNCED] = { .table = checkpoint_names_folder_synced },
	};

	if (event->kind >= sizeof(by_kind) / sizeof(by_kind[0]))
		return;
	if (by_kind[event->kind].files)
		by_kind[event->kind].files(files, event);
	if (by_kind[event->kind].table)
		by_kind[event->kind].table(&files->table, event);
}

/* --- sums ----------------------------------------------------------------------------------------------- */

void checkpoint_files_tick(struct checkpoint_files *files, uint64_t now_ns)
{
	if (files)
		checkpoint_sums_tick(&files->table, now_ns);
}

void checkpoint_files_answered(struct checkpoint_files *files, const struct file_answer *answer)
{
	if (files)
		checkpoint_sums_answered(&files->table, answer);
}

size_t checkpoint_files_unsummed(const struct checkpoint_files *files)
{
	return files ? checkpoint_sums_waiting(&files->table) : 0;
}

/* --- the end of a window -------------------------------------------------------------------------------- */

static int take_finished(struct checkpoint_files *files, struct checkpoint_rows *rows)
{
	struct checkpoint_rows *fresh = checkpoint_rows_new();
	int err = fresh ? 0 : -ENOMEM;

	for (size_t i = 0; i < checkpoint_rows_count(files->finished) && !err; i++)
		err = checkpoint_rows_add(rows, checkpoint_rows_at(files->finished, i));
	if (!fresh)
		return err;
	checkpoint_rows_free(files->finished);
	files->finished = fresh;
	return err;
}

static bool is_to_be_told(const struct saved_file *file)
{
	return !file->told && saved_file_has_data(file);
}

int checkpoint_files_rows(struct checkpoint_files *files, struct checkpoint_rows *rows)
{
	int err = take_finished(files, rows);
	struct saved_file *file, *next;

	HASH_ITER (hh, files->table.files, file, next) {
		if (err)
			break;
		if (!is_to_be_told(file))
			continue;
		err = add_row(files, file, rows);
		file->told = !err;
	}
	return err == -ENOSPC ? 0 : err;
}

/* How many files there are more than rows for them in this window. */
static uint64_t count_beyond_rows(const struct checkpoint_files *files)
{
	size_t n = checkpoint_rows_count(files->finished);
	struct saved_file *file, *next;

	HASH_ITER (hh, files->table.files, file, next)
		n += is_to_be_told(file);
	return n > CHECKPOINT_ROWS_MAX ? n - CHECKPOINT_ROWS_MAX : 0;
}

int checkpoint_files_describe(struct checkpoint_files *files, struct stamp *stamp)
{
	int err;

	if (!files)
		return 0;
	err = stamp_add_counter(stamp, "checkpoint_files_dropped",
	                        files->table.dropped + count_beyond_rows(files));
	if (!err)
		err = stamp_add_counter(stamp, "checkpoint_sums_refused", files->table.sums_refused);
	files->table.dropped = files->table.sums_refused = 0;
	return err;
}
