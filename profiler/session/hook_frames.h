/* Frames of a kernel stack that are there only because a function on it is hooked: the hook's trampoline, and behind that the hooked
 * function once more, at the place where it called the trampoline. */
#ifndef STALLPROF_PROFILER_HOOK_FRAMES_H
#define STALLPROF_PROFILER_HOOK_FRAMES_H

#include <stdbool.h>

struct hook_frames {
	char inner[128]; /* the function of the frame before, "" in front of the first */
	bool hooked;     /* a trampoline came behind it */
};

/* To be asked of each frame of a stack in turn, from the innermost on, with a zeroed `frames`. True: it is to be left out. */
bool hook_frames_skips(struct hook_frames *frames, const char *function);

#endif
