/* The classes of tags of a comparison, by number: rows know by them whose time they are. */
#ifndef STALLPROF_PROFILER_DIFF_CLASSES_H
#define STALLPROF_PROFILER_DIFF_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIFF_CLASSES_MAX 64 /* those beyond have the last number together */

struct diff_classes {
	char *name[DIFF_CLASSES_MAX];
	size_t count;
	bool too_many; /* some have the last number together */
};

/* The number of a class, which is added if it is new. -ENOMEM. */
int diff_classes_number(struct diff_classes *classes, const char *name);
void diff_classes_free(struct diff_classes *classes);

#endif
