/* Finds whose event one is, follows renames of files and of their folders, and makes rows. */

#include "profiler/session/checkpoint_files.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/config/config.h"
#include "profiler/format/checkpoint_rows.h"
#include "profiler/format/stamp.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/checkpoint_order.h"
#include "profiler/session/device_names.h"
#include "profiler/session/file_names.h"
#include "profiler/tags/tag_class.h"
#include "symbolizer/base/clock.h"

#define RENAMES_KEPT 64

struct file {
	uint64_t address; /* of its inode: the key */
	uint64_t number, parent;
	uint32_t generation, dev, tgid, source;
	bool told;                   /* nothing became of it since its last row */
	uint64_t begun_ns, ahead_ns; /* CLOCK_MONOTONIC, and how far Unix time was ahead of it then */
	char *place, *path, *from;
	struct checkpoint_order order;
	UT_hash_handle hh; /* by address, in the order of their last events */
};

/* A rename whose end has not come yet. */
struct renaming {
	uint32_t tid;
	bool dirty;
	uint64_t inode; /* 0: void */
	char place[PATH_MAX];
};

struct checkpoint_files {
	struct checkpoint_files_deps deps;
	struct file *files;
	struct checkpoint_rows *finished; /* of files that went from the table in this window */
	struct renaming renaming[RENAMES_KEPT];
	size_t next_renaming;
	uint64_t dropped; /* files of which something was not told yet when they had to go */
};

struct checkpoint_files *checkpoint_files_new(const struct checkpoint_files_deps *deps)
{
	struct checkpoint_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->deps = *deps;
	files->finished = checkpoint_rows_new();
	if (files->finished)
		return files;
	free(files);
	return NULL;
}

static void file_free(struct checkpoint_files *files, struct file *file)
{
	HASH_DEL(files->files, file);
	checkpoint_order_release(&file->order);
	free(file->place);
	free(file->path);
	free(file->from);
	free(file);
}

void checkpoint_files_free(struct checkpoint_files *files)
{
	struct file *file, *next;

	if (!files)
		return;
	HASH_ITER (hh, files->files, file, next)
		file_free(files, file);
	checkpoint_rows_free(files->finished);
	free(files);
}

/* --- names --------------------------------------------------------------------------------------------- */

static void set_text(char **text, const char *to)
{
	char *copy = strdup(to);

	if (!copy)
		return;
	free(*text);
	*text = copy;
}

static void set_place(struct checkpoint_files *files, struct file *file, const char *place)
{
	char path[PATH_MAX];

	set_text(&file->place, place);
	mounted_paths_of(files->deps.paths, file->tgid, file->dev, place, path, sizeof(path));
	set_text(&file->path, path);
}

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Whether there is anything to tell: it was written to. */
static bool has_data(const struct file *file)
{
	return file->order.sums.writes || file->order.sums.completions;
}

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

static const char *class_of(const struct checkpoint_files *files, const struct file *file)
{
	char tag[ABI_TAG_NAME_LEN];

	if (file->source >= files->deps.n_entries)
		return "";
	snprintf(tag, sizeof(tag), "%s_write/%.180s", files->deps.entries[file->source].name,
	         base_of(file->place));
	return tag_classes_of(files->deps.classes, tag);
}

static int add_row(const struct checkpoint_files *files, const struct file *file,
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
	row.ranges = ranges;
	for (; row.n_ranges < file->order.n_ranges && row.n_ranges < CHECKPOINT_RANGES_MAX; row.n_ranges++) {
		struct checkpoint_range *range = &ranges[row.n_ranges];

		*range = file->order.ranges[row.n_ranges];
		to_unix(&range->first_done_ns, file->ahead_ns);
		to_unix(&range->last_done_ns, file->ahead_ns);
	}
	return checkpoint_rows_add(rows, &row);
}

/* It goes from the table: what was not told of it is kept until the window ends. */
static void retire(struct checkpoint_files *files, struct file *file)
{
	if (!file->told && has_data(file) && add_row(files, file, files->finished))
		files->dropped++;
	file_free(files, file);
}

/* --- the table ------------------------------------------------------------------------------------------ */

static void make_room(struct checkpoint_files *files)
{
	if (HASH_COUNT(files->files) >= CHECKPOINT_FILES_MAX)
		retire(files, files->files);
}

/* Puts it behind all others; NULL, and it is freed: there is no memory. */
static struct file *append(struct checkpoint_files *files, struct file *file)
{
	HASH_ADD(hh, files->files, address, sizeof(file->address), file);
	if (file->hh.tbl)
		return file;
	files->dropped++;
	checkpoint_order_release(&file->order);
	free(file->place);
	free(file->path);
	free(file->from);
	free(file);
	return NULL;
}

static struct file *begin_file(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct file *file;

	make_room(files);
	file = calloc(1, sizeof(*file));
	if (!file) {
		files->dropped++;
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
	return append(files, file);
}

static struct file *find(struct checkpoint_files *files, const struct abi_file_event *event)
{
	uint64_t address = event->inode;
	struct file *file;

	HASH_FIND(hh, files->files, &address, sizeof(address), file);
	if (file && (file->number != event->number || file->generation != event->generation ||
	             file->dev != event->dev))
		return NULL;
	return file;
}

/* The file that the event is of, at the end of the table; NULL: it is not known. */
static struct file *touch(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct file *file = find(files, event);

	if (!file)
		return NULL;
	HASH_DEL(files->files, file);
	file->told = false;
	file->order.sums.updated_ns = event->end_ns;
	return append(files, file);
}

/* --- events --------------------------------------------------------------------------------------------- */

/* Another save to the same file has a row of its own. */
static void opened(struct checkpoint_files *files, const struct abi_file_event *event)
{
	bool empty = event->flags & ABI_FILE_EMPTY;
	uint64_t address = event->inode;
	char place[PATH_MAX];
	struct file *file;

	HASH_FIND(hh, files->files, &address, sizeof(address), file);
	if (file && (file != find(files, event) || (empty && has_data(file)))) {
		retire(files, file);
		file = NULL;
	}
	file = file ? touch(files, event) : begin_file(files, event);
	if (!file)
		return;
	file->order.sums.from_empty |= empty;
	file->order.sums.updated_ns = event->end_ns;
	file->tgid = event->tgid;
	if (!file_names_place(event, place, sizeof(place)))
		set_place(files, file, place);
}

/* What is written to a file whose opening was not seen, or told of one, is counted without its name. */
static void changed(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct file *file = touch(files, event);

	if (!file && event->kind == ABI_FILE_WROTE)
		file = begin_file(files, event);
	if (!file)
		return;
	checkpoint_order_add(&file->order, event);
	file->order.sums.updated_ns = event->end_ns;
}

static void renames(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct renaming *renaming = &files->renaming[files->next_renaming++ % RENAMES_KEPT];

	*renaming = (struct renaming){ .tid = event->tid,
		                       .inode = event->inode,
		                       .dirty = event->flags & ABI_FILE_DIRTY };
	if (file_names_place(event, renaming->place, sizeof(renaming->place)))
		renaming->place[0] = '\0';
}

/* The begin of the rename whose end this is; NULL: it was not seen. */
static struct renaming *take_renaming(struct checkpoint_files *files, const struct abi_file_event *event)
{
	for (size_t i = 0; i < RENAMES_KEPT; i++) {
		struct renaming *renaming = &files->renaming[i];

		if (renaming->inode != event->inode || renaming->tid != event->tid)
			continue;
		renaming->inode = 0;
		return renaming;
	}
	return NULL;
}

static void rename_file(struct checkpoint_files *files, struct file *file, const char *place, uint64_t now_ns,
                        bool dirty)
{
	struct checkpoint_judgement judgement = checkpoint_order_judge(&file->order, dirty);

	checkpoint_order_renamed(&file->order, now_ns, judgement);
	set_text(&file->from, file->path ? file->path : "");
	set_place(files, file, place);
	file->order.sums.updated_ns = now_ns;
	file->told = false;
}

/* The folder `from` is `to` now: so are all files in it. Whether they are dirty was not asked. */
static void rename_in_folder(struct checkpoint_files *files, const struct abi_file_event *event,
                             const char *from, const char *to)
{
	size_t n = strlen(from);
	struct file *file, *next;
	char place[PATH_MAX];

	HASH_ITER (hh, files->files, file, next) {
		if (file->dev != event->dev || !file->place || strncmp(file->place, from, n) != 0 ||
		    file->place[n] != '/')
			continue;
		if ((size_t)snprintf(place, sizeof(place), "%s%s", to, file->place + n) < sizeof(place))
			rename_file(files, file, place, event->end_ns, false);
	}
}

static void renamed(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct renaming *renaming = take_renaming(files, event);
	struct file *file;
	char place[PATH_MAX];

	if (event->result || file_names_place(event, place, sizeof(place)))
		return;
	if (event->flags & ABI_FILE_FOLDER) {
		if (renaming && *renaming->place)
			rename_in_folder(files, event, renaming->place, place);
		return;
	}
	file = touch(files, event);
	if (!file)
		return;
	file->parent = event->parent;
	rename_file(files, file, place, event->end_ns,
	            renaming ? renaming->dirty : event->flags & ABI_FILE_DIRTY);
}

/* A folder was synced: the names in it are on the device from now on. */
static void folder_synced(struct checkpoint_files *files, const struct abi_file_event *event)
{
	struct file *file, *next;

	if (event->result)
		return;
	HASH_ITER (hh, files->files, file, next) {
		struct checkpoint_file *sums = &file->order.sums;

		if (file->dev != event->dev || file->parent != event->number || !sums->renamed_ns ||
		    sums->folder_synced_ns || event->begin_ns < sums->renamed_ns)
			continue;
		sums->folder_synced_ns = event->end_ns;
		sums->updated_ns = event->end_ns;
		file->told = false;
	}
}

void checkpoint_files_add(struct checkpoint_files *files, const struct abi_file_event *event)
{
	static void (*const by_kind[])(struct checkpoint_files *, const struct abi_file_event *) = {
		[ABI_FILE_OPENED] = opened,   [ABI_FILE_WROTE] = changed,
		[ABI_FILE_SYNCED] = changed,  [ABI_FILE_DONE] = changed,
		[ABI_FILE_CLOSED] = changed,  [ABI_FILE_RENAMES] = renames,
		[ABI_FILE_RENAMED] = renamed, [ABI_FILE_DIR_SYNCED] = folder_synced,
	};

	if (event->kind < sizeof(by_kind) / sizeof(by_kind[0]) && by_kind[event->kind])
		by_kind[event->kind](files, event);
}

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

int checkpoint_files_rows(struct checkpoint_files *files, struct checkpoint_rows *rows)
{
	int err = take_finished(files, rows);
	struct file *file, *next;

	HASH_ITER (hh, files->files, file, next) {
		if (err)
			break;
		if (file->told || !has_data(file))
			continue;
		err = add_row(files, file, rows);
		file->told = !err;
	}
	if (err != -ENOSPC)
		return err;
	files->dropped++;
	return 0;
}

int checkpoint_files_describe(struct checkpoint_files *files, struct stamp *stamp)
{
	int err = files ? stamp_add_counter(stamp, "checkpoint_files_dropped", files->dropped) : 0;

	if (files)
		files->dropped = 0;
	return err;
}
