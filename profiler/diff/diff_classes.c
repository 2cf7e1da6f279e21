/* Numbers classes of tags. */

#include "profiler/diff/diff_classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int diff_classes_number(struct diff_classes *classes, const char *name)
{
	for (size_t i = 0; i < classes->count; i++)
		if (!strcmp(classes->name[i], name))
			return (int)i;
	if (classes->count == DIFF_CLASSES_MAX) {
		classes->too_many = true;
		return DIFF_CLASSES_MAX - 1;
	}
	classes->name[classes->count] = strdup(name);
	return classes->name[classes->count] ? (int)classes->count++ : -ENOMEM;
}

void diff_classes_free(struct diff_classes *classes)
{
	for (size_t i = 0; i < classes->count; i++)
		free(classes->name[i]);
	classes->count = 0;
}
