/*
 * What a sample is counted under when samples are summed: each function or line of its stack, the stack as a whole, or
 * what a label says.
 */
#ifndef STALLPROF_PROFILER_TOP_NAMES_H
#define STALLPROF_PROFILER_TOP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/loaded/loaded_sample.h"

struct loaded_profiles;
struct loaded_stack;

enum top_by {
	TOP_BY_FUNCTION,
	TOP_BY_LINE,
	TOP_BY_STACK,
	TOP_BY_CLASS,
	TOP_BY_TAG,
	TOP_BY_STALL,
	TOP_BY_DEVICE,
	TOP_BY_PROCESS,
	TOP_BY_INHERITED, /* what waits for other threads were for (loaded_inherited_text()) */
	TOP_BYS
};

/* function, line, stack, class, tag, stall, device, process, inherited; false: none of them. */
const char *top_by_name(enum top_by by);
bool top_by_parse(const char *name, enum top_by *by);

/* is_leaf: the sample's time was spent there itself, not below it. Not 0: no more names are wanted. */
typedef int (*top_name_visitor)(void *context, const char *name, bool is_leaf);

/*
 * Calls `visit` for each name, leaf first; a function that recurs comes each time. The name of a stack is its stall,
 * device and class, then its frames, leaf first, one a line each; with `folding`, which is the sample's stack, without those
 * that loaded_stack_folds(). 0, -ENOMEM, or what `visit` said.
 */
int top_names_visit(const struct loaded_profiles *input, const struct loaded_sample *sample, enum top_by by,
                    const struct loaded_stack *folding, top_name_visitor visit, void *context);

/* The name of a frame in a table by function, or with its line in one by line. */
void top_frame_name(char *text, size_t size, const struct profile_frame *frame, bool with_line);

#endif
