/* Names of frames that stand for no function, and by which readers of a profile find out what a stack lacks or is about. */
#ifndef STALLPROF_PROFILER_FRAME_NAMES_H
#define STALLPROF_PROFILER_FRAME_NAMES_H

/* The user stack, or what is behind the frames that registers tell, was not copied. */
#define FRAME_NOT_COPIED "[user stack not copied]"

/* What is inside of it waits for CPython's global interpreter lock (python_gil.h in session/). */
#define FRAME_GIL "[GIL]"

#endif
