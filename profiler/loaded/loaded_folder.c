/* Lists the profiles of a folder of windows. */

#include "profiler/loaded/loaded_folder.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

static int copy_paths(struct loaded_folder *folder, const glob_t *found)
{
	folder->paths = calloc(found->gl_pathc + 1, sizeof(*folder->paths));
	if (!folder->paths)
		return -ENOMEM;
	for (; folder->count < found->gl_pathc; folder->count++) {
		folder->paths[folder->count] = strdup(found->gl_pathv[folder->count]);
		if (!folder->paths[folder->count])
			return -ENOMEM;
	}
	return 0;
}

int loaded_folder_list(struct loaded_folder *folder, const char *path, char *err, size_t err_size)
{
	char pattern[PATH_BYTES + 16];
	glob_t found;
	int result;

	*folder = (struct loaded_folder){ .count = 0 };
	/* glob() would read * and the like in the directory's own name. */
	if (strpbrk(path, "*?[\\") || strlen(path) > PATH_BYTES) {
		snprintf(err, err_size, "%s: a directory with one of * ? [ \\ in its name; name its files",
		         path);
		return -EINVAL;
	}
	if (access(path, R_OK | X_OK)) {
		result = -errno;
		snprintf(err, err_size, "%s: %s%s", path, strerror(-result),
		         result == -EACCES ? ": you may not read it" : "");
		return result;
	}
	snprintf(pattern, sizeof(pattern), "%s/*.pb.gz", path);
	if (glob(pattern, 0, NULL, &found)) {
		snprintf(err, err_size, "%s: no *.pb.gz in this directory", path);
		return -ENOENT;
	}
	result = copy_paths(folder, &found);
	globfree(&found);
	if (!result)
		return 0;
	snprintf(err, err_size, "no memory left");
	loaded_folder_release(folder);
	return result;
}

void loaded_folder_release(struct loaded_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		free(folder->paths[i]);
	free(folder->paths);
	*folder = (struct loaded_folder){ .count = 0 };
}
