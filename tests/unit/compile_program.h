/* For tests that examine programs and libraries: builds those with the C compiler, in a folder of the test's own. */
#ifndef STALLPROF_TESTS_COMPILE_PROGRAM_H
#define STALLPROF_TESTS_COMPILE_PROGRAM_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char program_dir[64];

/* The folder of the build that this test belongs to. */
static inline const char *build_dir(void)
{
	static char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int cut;

	path[len > 0 ? len : 0] = 0;
	for (cut = 0; cut < 2 && strrchr(path, '/'); cut++)
		*strrchr(path, '/') = 0;
	return path;
}

static inline int program_dir_make(void **state)
{
	(void)state;
	snprintf(program_dir, sizeof(program_dir), "/tmp/stallprof-test-XXXXXX");
	return mkdtemp(program_dir) ? 0 : -1;
}

/* Makes the folder, and one file in it. */
static inline int program_dir_make_with(void **state, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	if (program_dir_make(state))
		return -1;
	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	file = fopen(path, "w");
	if (!file)
		return -1;
	fputs(text, file);
	return fclose(file);
}

__attribute__((format(printf, 1, 2))) static inline int shell(const char *format, ...)
{
	char command[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

static inline int program_dir_remove(void **state)
{
	(void)state;
	return shell("rm -rf '%s'", program_dir);
}

/* Runs `cc FLAGS` with %s replaced by the folder; returns whether that worked. */
__attribute__((format(printf, 1, 2))) static inline int compile_into(const char *format, ...)
{
	char arguments[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(arguments, sizeof(arguments), format, args);
	va_end(args);
	return shell("cc -I. -g -O1 -w %s", arguments) == 0;
}

#endif
