/* A name while it is printed, with a bound: the name that a mangled one stands for may not fit into memory. */
#ifndef SYMBOLIZER_NAME_OUTPUT_H
#define SYMBOLIZER_NAME_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_OUTPUT_MAX ((size_t)1 << 20)

/* A zeroed one is empty. The owner frees `text`, which ends with a NUL once anything was put there. */
struct name_output {
	char *text;
	size_t len, size;
};

/* False: it would become longer than NAME_OUTPUT_MAX, or memory is short; nothing has been added. */
bool name_output_put(struct name_output *out, const char *text, size_t len);

#endif
