/* The text of a name in the making, bounded: what a mangled name stands for may be longer than any memory. */
#ifndef SYMBOLIZER_NAME_OUTPUT_H
#define SYMBOLIZER_NAME_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_OUTPUT_MAX ((size_t)1 << 20)

/* Zeroed, it is empty; `text` is the owner's to free, and has a NUL behind it once anything was put there. */
struct name_output {
	char *text;
	size_t len, size;
};

/* False: it would become longer than NAME_OUTPUT_MAX, or memory is short; nothing has been added. */
bool name_output_put(struct name_output *out, const char *text, size_t len);

#endif
