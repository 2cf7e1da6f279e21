/* The configuration's file as a text. Only for config*.c. */
#ifndef STALLPROF_PROFILER_CONFIG_FILE_H
#define STALLPROF_PROFILER_CONFIG_FILE_H

#include <stddef.h>

/* The whole file, up to 1 MiB, ended by a NUL that *size doesn't count; the caller frees it. 0, or -errno with a
 * line in `err`: -EFBIG; -EINVAL for a pipe, because opening it would wait for a writer. */
int config_file_read(const char *path, char **text, size_t *size, char *err, size_t err_size);

#endif
