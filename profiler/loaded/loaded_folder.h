/* The profiles of a folder of windows. */
#ifndef STALLPROF_PROFILER_LOADED_FOLDER_H
#define STALLPROF_PROFILER_LOADED_FOLDER_H

#include <stddef.h>

struct loaded_folder {
	char **paths; /* all *.pb.gz, in the order of their names, which is that of their times */
	size_t count; /* at least 1 */
};

/* 0; -EINVAL, -ENOENT with one line without newline in err; -ENOMEM. Only after 0 is there something to release. */
int loaded_folder_list(struct loaded_folder *folder, const char *path, char *err, size_t err_size);
void loaded_folder_release(struct loaded_folder *folder);

#endif
