/* Compares the file that is written with those that are read. */

#include "profiler/cli/output_check.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/loaded/loaded_folder.h"

#define SAME_FILE(a, b) ((a).st_dev == (b).st_dev && (a).st_ino == (b).st_ino)

static bool is_file(const struct stat *file, const char *path)
{
	struct stat other;

	return !strcmp(path, "-") ? !fstat(STDIN_FILENO, &other) && SAME_FILE(*file, other)
	                          : !stat(path, &other) && SAME_FILE(*file, other);
}

/* Of a folder each window. */
static bool is_read(const struct stat *file, const char *place)
{
	struct loaded_folder folder;
	struct stat info;
	char why[512];
	bool found = is_file(file, place);

	if (found || stat(place, &info) || !S_ISDIR(info.st_mode) ||
	    loaded_folder_list(&folder, place, why, sizeof(why)))
		return found;
	for (size_t i = 0; i < folder.count && !found; i++)
		found = is_file(file, folder.paths[i]);
	loaded_folder_release(&folder);
	return found;
}

bool output_is_input(const char *output, const char *input)
{
	struct stat file;

	return !stat(output, &file) && S_ISREG(file.st_mode) && is_read(&file, input);
}
