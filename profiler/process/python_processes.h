/*
 * The CPython processes of the host: tells the BPF programs where each interpreter keeps the frames of a thread,
 * and names the frames that come back with a stack.
 *
 *	p = python_processes_new(tracer);
 *	python_processes_look(p, pid);			a process that is there already
 *	python_processes_mapped(p, pid, path);		it maps a file to execute from
 *	python_processes_asked(p, ask);			a thread waits whose code was not met before
 *	python_processes_forked(), _executed(), _exited()
 *	python_processes_frame(p, pid, &frame, &named);	as soon as a stack arrives: code objects may go
 *	python_processes_free(p);
 *
 * What was read of a process stays for 30 s after its exit, or until another one needs its room: the one that ended
 * first goes. If another process has the pid by then, the fingerprint of its frames does not match. Every call takes NULL for `p`:
 * Python is switched off.
 *
 * Costs a read of PROC/PID/maps for each process that maps a file which may be Python, and some 200 us for such a file
 * that was not seen before. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_PYTHON_PROCESSES_H
#define STALLPROF_PROFILER_PYTHON_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/python/python.h"

struct abi_python_ask;
struct abi_python_frame;
struct python_processes;
struct stamp;
struct sym_frame;
struct tracer;

#define PYTHON_PROCESSES_MAX 16384 /* as many as the BPF side's map has room for */

/* The tracer outlives it. NULL with errno ENOMEM. */
struct python_processes *python_processes_new(struct tracer *tracer);
void python_processes_free(struct python_processes *p);

/* Finds out whether the process is CPython, and where its frames are. Does nothing if that is known, or its version is not. */
void python_processes_look(struct python_processes *p, uint32_t pid);
/* As python_processes_look(), if a file of that name may be Python's; one of an unknown version is looked at again. */
void python_processes_mapped(struct python_processes *p, uint32_t pid, const char *path);

/*
 * Reads the code objects that a thread waits in just now. If the question has none: as python_processes_look(), and
 * it is remembered if the process is not CPython, as one of an unknown version always is.
 */
void python_processes_asked(struct python_processes *p, const struct abi_python_ask *ask);
/* Call it ten times a second or more often, with CLOCK_MONOTONIC. Bounds how often the BPF programs ask, and forgets those that ended long ago. */
void python_processes_tick(struct python_processes *p, uint64_t now_ns);

void python_processes_forked(struct python_processes *p, uint32_t child, uint32_t parent);
void python_processes_executed(struct python_processes *p, uint32_t pid);
void python_processes_exited(struct python_processes *p, uint32_t pid);
/* Looks at the next `n` processes in turn: writes the pids of those that have ended to `ended`, and returns how many; forgets
 * those whose pid is another's by now. */
size_t python_processes_sweep(struct python_processes *p, size_t n, uint32_t *ended);

/*
 * Names a frame whose code is not 0; "[python code gone]" when the code object no longer exists. False: the frame
 * is to be hidden, as Python hides it in tracebacks. Its texts live until the next call.
 */
bool python_processes_frame(struct python_processes *p, uint32_t pid, const struct abi_python_frame *frame,
                            struct sym_frame *out);

/* Whether a native frame is an evaluator, by its address (for a caller, that of the call) and its function. */
enum sym_python_native python_processes_native_kind(const struct python_processes *p, uint32_t pid,
                                                    uint64_t address, const char *function);

/* Adds to the stamp what could not be named or followed since the last call. 0 or -errno. */
int python_processes_describe(struct python_processes *p, struct stamp *stamp);

#endif
