/* Follows renames of files and of their folders. */

#include "profiler/session/checkpoint_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/process/mounted_paths.h"
#include "profiler/session/file_names.h"

static void set_text(char **text, const char *to)
{
	char *copy = strdup(to);

	if (!copy)
		return;
	free(*text);
	*text = copy;
}

void checkpoint_names_set(struct saved_files *files, struct saved_file *file, const char *place)
{
	char path[PATH_MAX];

	set_text(&file->place, place);
	mounted_paths_of(files->paths, file->tgid, file->dev, place, path, sizeof(path));
	set_text(&file->path, path);
}

const char *checkpoint_names_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

void checkpoint_names_begin_rename(struct saved_files *files, const struct abi_file_event *event)
{
	struct renaming *renaming = &files->renaming[files->next_renaming++ % RENAMES_KEPT];

	*renaming = (struct renaming){ .tid = event->tid,
		                       .inode = event->inode,
		                       .begin_ns = event->end_ns,
		                       .dirty = event->flags & ABI_FILE_DIRTY };
	if (file_names_place(event, renaming->place, sizeof(renaming->place)))
		renaming->place[0] = '\0';
}

/* The begin of the rename whose end this is; NULL: it was not seen. */
static struct renaming *take_renaming(struct saved_files *files, const struct abi_file_event *event)
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

static void rename_file(struct saved_files *files, struct saved_file *file, const char *place,
                        uint64_t now_ns, bool dirty)
{
	struct checkpoint_judgement judgement = checkpoint_order_judge(&file->order, dirty);

	checkpoint_order_renamed(&file->order, now_ns, judgement);
	set_text(&file->from, file->path ? file->path : "");
	checkpoint_names_set(files, file, place);
	file->order.sums.updated_ns = now_ns;
	file->told = false;
}

/* The folder is `to` now: so are all files in it, but for those that have come there since: two folders may have got each other's names.
 * Whether they are dirty was not asked. */
static void rename_in_folder(struct saved_files *files, const struct abi_file_event *event,
                             const struct renaming *renaming, const char *to)
{
	const char *from = renaming->place;
	size_t n = strlen(from);
	struct saved_file *file, *next;
	char place[PATH_MAX];

	HASH_ITER (hh, files->files, file, next) {
		if (file->dev != event->dev || !file->place || strncmp(file->place, from, n) != 0 ||
		    file->place[n] != '/' || file->order.sums.renamed_ns > renaming->begin_ns)
			continue;
		file->parent = event->parent; /* to sync that makes the new name last */
		if ((size_t)snprintf(place, sizeof(place), "%s%s", to, file->place + n) < sizeof(place))
			rename_file(files, file, place, event->end_ns, false);
	}
}

void checkpoint_names_end_rename(struct saved_files *files, const struct abi_file_event *event)
{
	struct renaming *renaming = take_renaming(files, event);
	struct saved_file *file;
	char place[PATH_MAX];

	if (event->result || file_names_place(event, place, sizeof(place)))
		return;
	if (event->flags & ABI_FILE_FOLDER) {
		if (renaming && *renaming->place)
			rename_in_folder(files, event, renaming, place);
		return;
	}
	file = saved_files_touch(files, event);
	if (!file)
		return;
	file->parent = event->parent;
	rename_file(files, file, place, event->end_ns,
	            renaming ? renaming->dirty : event->flags & ABI_FILE_DIRTY);
}

/* A folder was synced: the names in it are on the device from now on. */
void checkpoint_names_folder_synced(struct saved_files *files, const struct abi_file_event *event)
{
	struct saved_file *file, *next;

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
