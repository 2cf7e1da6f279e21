/* Compares the file that is written with those that are read; keeps what is written until all of it is there. */

#include "profiler/cli/output_file.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/pprof_file.h"
#include "profiler/cli/usage.h"
#include "profiler/loaded/loaded_folder.h"
#include "profiler/output/replaced_file.h"

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

int output_file_open(struct output_file *file, const char *output)
{
	*file = (struct output_file){ .path = is_stdout(output) ? NULL : output };
	file->in_memory = file->path && file_can_be_replaced(file->path);
	if (!file->path)
		file->out = stdout;
	else if (file->in_memory)
		file->out = open_memstream(&file->bytes, &file->size);
	else
		file->out = fopen(output, "we");
	return file->out ? 0 : -errno;
}

/* Beyond the limit on file sizes a write fails, and does not end the program, which would leave what it has begun. */
static int replace(const struct output_file *file)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;
	char why[1]; /* the callers' words fit their options */
	int err;

	sigaction(SIGXFSZ, &ignore, &before);
	err = pprof_file_write_bytes(file->path, file->bytes, file->size, why, sizeof(why));
	sigaction(SIGXFSZ, &before, NULL);
	return err;
}

int output_file_close(struct output_file *file, int err)
{
	if (!file->path)
		return err;
	if (fclose(file->out) && !err)
		err = -errno;
	if (file->in_memory && !err)
		err = replace(file);
	free(file->bytes);
	return err;
}
