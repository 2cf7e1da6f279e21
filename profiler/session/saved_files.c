/* Finds files by their inodes, and keeps them in the order of their last events. */

#include "profiler/session/saved_files.h"

#include <stdlib.h>

static void free_file(struct saved_file *file)
{
	checkpoint_order_release(&file->order);
	free(file->place);
	free(file->path);
	free(file->from);
	free(file);
}

void saved_files_remove(struct saved_files *files, struct saved_file *file)
{
	HASH_DEL(files->files, file);
	free_file(file);
}

struct saved_file *saved_files_append(struct saved_files *files, struct saved_file *file)
{
	HASH_ADD(hh, files->files, address, sizeof(file->address), file);
	if (file->hh.tbl)
		return file;
	files->dropped++;
	free_file(file);
	return NULL;
}

struct saved_file *saved_files_find(struct saved_files *files, const struct abi_file_event *event)
{
	uint64_t address = event->inode;
	struct saved_file *file;

	HASH_FIND(hh, files->files, &address, sizeof(address), file);
	if (file && (file->number != event->number || file->generation != event->generation ||
	             file->dev != event->dev))
		return NULL;
	return file;
}

struct saved_file *saved_files_touch(struct saved_files *files, const struct abi_file_event *event)
{
	struct saved_file *file = saved_files_find(files, event);

	if (!file)
		return NULL;
	HASH_DEL(files->files, file);
	file->told = false;
	file->order.sums.updated_ns = event->end_ns;
	return saved_files_append(files, file);
}

bool saved_file_has_data(const struct saved_file *file)
{
	return file->order.sums.writes || file->order.sums.completions;
}
