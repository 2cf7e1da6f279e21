/* Reads the configuration's file into memory, up to 1 MiB. */

#include "profiler/config/config_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (1024 * 1024)

static bool is_pipe(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

int config_file_read(const char *path, char **text, size_t *size, char *err, size_t err_size)
{
	FILE *file;
	int result = 0;

	*size = 0;
	*text = NULL;
	if (is_pipe(path)) { /* to open it would wait for a writer, with the signals that end us blocked */
		snprintf(err, err_size, "%s: a pipe; give a file", path);
		return -EINVAL;
	}
	file = fopen(path, "re");
	*text = file ? malloc(FILE_BYTES_MAX + 1) : NULL;
	if (*text)
		*size = fread(*text, 1, FILE_BYTES_MAX + 1, file);
	if (!*text || ferror(file))
		result = -errno;
	else if (*size > FILE_BYTES_MAX)
		result = -EFBIG;
	if (result) {
		snprintf(err, err_size, "%s: %s", path, strerror(-result));
		free(*text);
		*text = NULL;
	} else {
		(*text)[*size] = '\0';
	}
	if (file)
		fclose(file);
	return result;
}
