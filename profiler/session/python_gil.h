/*
 * Tells a wait for CPython's global interpreter lock (GIL) from one for any other lock, by the stack: the innermost frames are a wait for a
 * condition variable (pthread_cond_timedwait(), and what it calls), and those outside of it are the interpreter's. Since its other locks
 * are semaphores or futexes of their own, the interpreter waits for a condition variable only there: to take the GIL, and to
 * see that another thread has taken it.
 *
 * Names decide where the interpreter's are known. Where they are not, as in a stripped one, it does that the caller is in the same file as an
 * evaluator, and that this is an interpreter's by its name (python3.11, libpython3.11.so): a program that has the interpreter linked in waits
 * for condition variables of its own, too.
 */
#ifndef STALLPROF_PROFILER_PYTHON_GIL_H
#define STALLPROF_PROFILER_PYTHON_GIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a function's name says. */
enum python_gil_kind { PYTHON_GIL_NOTHING, PYTHON_GIL_CONDITION, PYTHON_GIL_LOCK };

enum python_gil_kind python_gil_kind(const char *function);

struct python_gil_frame {
	uint64_t file; /* one number a mapped file; 0: none, or not an interpreter's by its name */
	uint8_t kind;  /* enum python_gil_kind */
	bool named;    /* the function's name is known */
	bool evaluator;
};

/* Whether a file with that path is an interpreter's. */
bool python_gil_file(const char *path);

/* How many of the innermost frames are the wait itself, 0: it is not for the GIL. */
size_t python_gil_find(const struct python_gil_frame *frames, size_t n);

#endif
