/* A folder of a test's own: made before it, removed with all that is in it after it. Static, since each test is one file. */
#ifndef STALLPROF_TESTS_OWN_FOLDER_H
#define STALLPROF_TESTS_OWN_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

static char dir[64];

/* `name`: a word for its path. 0 or -1. */
static inline int own_folder_make(const char *name)
{
	snprintf(dir, sizeof(dir), "/tmp/stallprof-%.24s-XXXXXX", name);
	return mkdtemp(dir) ? 0 : -1;
}

/* A test's end. */
static inline int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

#endif
