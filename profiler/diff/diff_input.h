/*
 * What is compared, window by window: a file, the files of a folder, or what a Pyroscope has.
 */
#ifndef STALLPROF_PROFILER_DIFF_INPUT_H
#define STALLPROF_PROFILER_DIFF_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/diff/query_client.h"

struct loaded_profiles;

struct diff_input {
	const char *place;                 /* a path, - for standard input, or pyroscope://... */
	const char *type;                  /* the sample type that is asked of Pyroscope; NULL: delay */
	const struct query_access *access; /* for Pyroscope */
};

/* What an input was. */
struct diff_input_news {
	size_t windows;          /* that were visited */
	size_t unreadable_files; /* of a folder; the others were visited */
	char unreadable[512];    /* what is wrong with the first of them */
};

/* lone: the input has this one window. Not 0 ends the visit and is returned; a line is then in the err of
 * diff_input_visit(). */
typedef int (*diff_window_visitor)(void *context, const struct loaded_profiles *window, bool lone, char *err,
                                   size_t err_size);

/* Visits the windows in the order of their time; each is gone after its visit. 0 or -errno with one line in err. */
int diff_input_visit(const struct diff_input *input, diff_window_visitor visit, void *context,
                     struct diff_input_news *news, char *err, size_t err_size);

#endif
