/*
 * The names that are most like one that is not there, for whoever mistyped it.
 *
 *     struct near_names near = { .wanted = "blockio" };
 *     near_names_look(&near, name, name)     each that there is
 *     near_names_text(text, &near)           "block_io"
 */
#ifndef STALLPROF_PROFILER_NEAR_NAMES_H
#define STALLPROF_PROFILER_NEAR_NAMES_H

#include <stddef.h>

#define NEAR_NAMES_MAX   3
#define NEAR_NAMES_BYTES 512 /* of their text */

struct near_names {
	const char *wanted;
	const char *name[NEAR_NAMES_MAX]; /* the nearest first; the caller's */
	size_t distance[NEAR_NAMES_MAX];
	size_t count;
};

/* `compared` is held against what is wanted, `name` is what is shown. Names of which more than half is different are none.
 * Costs the product of both lengths, of which 64 bytes are looked at. */
void near_names_look(struct near_names *near, const char *compared, const char *name);

/* "a, b, c", or "" where none is near. Returns text. */
const char *near_names_text(char text[NEAR_NAMES_BYTES], const struct near_names *near);

#endif
