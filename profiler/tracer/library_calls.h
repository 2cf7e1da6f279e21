/*
 * Which functions of drivers' and communication libraries a thread waits in, for a GPU or for other ranks: the table of
 * library_calls.c. A library is known by the name of its file, wherever that lies.
 *
 * Not seen: a library that is linked into the program; functions that a program asks a driver for by name and that the
 * driver does not export (vkGetDeviceProcAddr); a launch that waits for room in the GPU's queue, as launches are too many to be
 * hooked; a call that began before its file was attached to, which is some 100 ms after it was mapped, or after the first tag.
 */
#ifndef STALLPROF_PROFILER_LIBRARY_CALLS_H
#define STALLPROF_PROFILER_LIBRARY_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIBRARY_CALLS_MAX 32 /* libraries */

struct library_calls {
	const char *hook;  /* its name in the probe table */
	const char *cause; /* likewise */
	const char *file;  /* names of its files, as a pattern for fnmatch() */
	/* The functions, as symbols; a '*' at the end stands for anything. The last is NULL. */
	const char *const *functions;
};

extern const struct library_calls library_calls[];
extern const size_t library_calls_len;

/* The libraries that a file may be by its name: bit i for the i-th of the table. `path` as /proc/PID/maps has it. */
uint32_t library_calls_of(const char *path);

/* Whether a symbol is one of the library's functions. */
bool library_calls_has(const struct library_calls *library, const char *symbol);

/* What a thread that is on a CPU in a function does there. */
enum library_call {
	LIBRARY_CALL_NONE, /* it is none of the table */
	LIBRARY_CALL_WAITS,
	LIBRARY_CALL_WORKS /* for much of its time: it copies to the GPU, makes memory ready, compiles, sets up */
};
/* Functions of C++ are none: those of the table wait. */
enum library_call library_calls_kind(const char *function);

#endif
