/*
 * The first screen: where the time of each class of tags went, which share of their loop each is, which lines of
 * code waited for what, and what was not seen. Lines are cut to the terminal, or to 140 columns where there is
 * none; sentences are not.
 */
#ifndef STALLPROF_PROFILER_TOP_SCREEN_H
#define STALLPROF_PROFILER_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "profiler/loaded/loaded_classes.h"

struct loaded_profiles;
struct loaded_tags;

#define TOP_SCREEN_LINES 60

struct top_screen {
	const struct loaded_profiles *input;
	const struct loaded_tags *tags;
	const struct loaded_filter *filter;
	enum loaded_level level;
	bool code;    /* with lines of code, not the table alone */
	bool native;  /* with whole stacks */
	bool verbose; /* with all of the stamp */
	size_t type;  /* the value type that the lines of code sum */
	size_t limit; /* of classes, and of lines of code for each cause; 0: all; TOP_FITS (top.h) */
};

/* 0, -ENOMEM, -EIO. */
int top_screen_print(FILE *out, const struct top_screen *what);

#endif
