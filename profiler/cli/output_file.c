/* Compares the file that is written with those that are read; removes one that is not whole. */

#include "profiler/cli/output_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/cli/usage.h"
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

static bool is_stdout(const char *output)
{
	return !output || !strcmp(output, "-");
}

void output_file_check(const char *output, const char *const *inputs, size_t count)
{
	struct stat file;

	if (is_stdout(output) || stat(output, &file) || !S_ISREG(file.st_mode))
		return;
	for (size_t i = 0; i < count; i++)
		if (inputs[i] && is_read(&file, inputs[i]))
			usage_error(NULL, "-o %s would overwrite what is read: choose another file", output);
}

void output_file_remove(const char *output)
{
	int saved = errno;
	struct stat file;

	if (!is_stdout(output) && !stat(output, &file) && S_ISREG(file.st_mode))
		unlink(output);
	errno = saved;
}
