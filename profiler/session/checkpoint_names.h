/* Names of checkpoint files: what they are when one is opened, renamed, or a folder above it is; and whether they are on the device. */
#ifndef STALLPROF_PROFILER_CHECKPOINT_NAMES_H
#define STALLPROF_PROFILER_CHECKPOINT_NAMES_H

#include "profiler/session/saved_files.h"

/* The file is at that place of its file system now (file_names.h). */
void checkpoint_names_set(struct saved_files *files, struct saved_file *file, const char *place);

/* "step-1.pt" of "/mnt/step-1.pt"; "" for NULL. */
const char *checkpoint_names_base(const char *path);

/* An ABI_FILE_RENAMES, the ABI_FILE_RENAMED that follows it, an ABI_FILE_DIR_SYNCED. */
void checkpoint_names_begin_rename(struct saved_files *files, const struct abi_file_event *event);
void checkpoint_names_end_rename(struct saved_files *files, const struct abi_file_event *event);
void checkpoint_names_folder_synced(struct saved_files *files, const struct abi_file_event *event);

#endif
