/*
 * CPython 3.8 - 3.14: from a process to where its interpreter keeps the frames of a thread, and from a frame
 * to function, file and line.
 *
 * Who walks what
 *	A thread's frames hang together: _PyRuntime -> interpreters -> thread states, of which the one whose
 *	thread_id is pthread_self() (the thread pointer, on x86-64 with glibc and musl alike) -> frames, each
 *	pointing to the one that called it. They may be read only while the thread is stopped. The walk needs
 *	nothing but a struct sym_python_layout, so that it can be done in the kernel at the moment the thread
 *	stops; sym_python_walk() is the same walk for a reader in user space. It copies each frame into a struct
 *	sym_python_step, which sym_python_frame() names later.
 *
 * Order of calls
 *	sym_python_find(pid, NULL, &layout);		once a process; again after exec, dlopen of libpython
 *	sym_python_open(&layout, read, context, &py);
 *	sym_python_walk(&layout, read, context, thread_id, steps, max, &n);	or the kernel's walk
 *	for each i: sym_python_frame(py, &steps[i], &frame);
 *	sym_python_close(py);
 *
 * How Python frames take the place of native ones
 *	Take the native stack and the steps, both innermost first. A native frame that is
 *	SYM_PYTHON_EVALUATOR is replaced by the next steps up to and including the first with is_entry; one that
 *	is SYM_PYTHON_EVALUATOR_PART is dropped, and so is a SYM_PYTHON_EVALUATOR_CALLER of one that was replaced. A step whose code is 0 shows nothing. That is the
 *	same in all versions; what is_entry means differs:
 *	3.8 - 3.10	each frame has an evaluator of its own: is_entry is always set
 *	3.11		the frame's is_entry: the evaluator was called for it. Frames it calls without leaving the
 *			evaluator have it clear. Generators and coroutines always have an evaluator of their own
 *	3.12 - 3.14	the evaluator puts a frame of its own, with owner >= shim_owner, before the one it was
 *			called for. It is not shown; the step before it (inner of it) gets is_entry. When there is
 *			none, because the last frame has just been taken down or no frame of this evaluator
 *			was pushed yet, a step of code 0 stands for it. Generators awaited or iterated by Python code
 *			share its evaluator
 *	3.14 with tail calls: the evaluator is on the native stack as _PyEval_EvalFrameDefault, or as a copy of it in
 *			any other function (python_tail_calls.h). Either is SYM_PYTHON_EVALUATOR_AND_CALLED: the
 *			frame that it calls is dropped with it
 *	A thread that stops on its way into the evaluator, or out of it, has one evaluator more than entries (or
 *	one less): when the native stack is complete, pair both from the outermost end; when it is cut, from the
 *	innermost. Frames that traceback leaves out, because nothing of the function has run yet (one that the
 *	interpreter calls __init__ by, from 3.12 on, is always such), are walked, but not shown.
 *	tests/unit/symbolizer/python/test_python_live.c checks all this against scripts' own tracebacks, and py-spy's dump --native.
 *
 * Limits: x86-64. Of free-threaded builds, 3.13 has been tried; 3.14 is followed by what its headers say.
 * Compiled frames of the JIT builds are not unwound through. Builds with Py_TRACE_REFS are refused. _PyRuntime
 * must be in .dynsym, as it is in every build that can load extensions, of a file called python* or libpython*,
 * or of the process's program. Of a thread that is in several interpreters (one runs code in another), the frames
 * follow each other, those of the interpreter made last first; up to 3.11 a thread state that was made for an
 * interpreter by another thread counts as that thread's.
 *
 * Errors: 0 or -errno.
 */
#ifndef SYMBOLIZER_PYTHON_H
#define SYMBOLIZER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/symbolizer.h"

#define SYM_PYTHON_ABSENT 0xffff /* there is no such field in this version */

#define SYM_PYTHON_EVALUATOR_RANGES 2
#define SYM_PYTHON_EVALUATOR_CALLS  64

struct sym_python_range {
	uint64_t start, end; /* both 0: none */
};

/*
 * Offsets and sizes in bytes. Up to 3.12 they are those that the headers of these versions have, which are the
 * same for all their micro versions (tests/unit/data/python_layout.c prints and checks the table); from 3.13 on
 * _Py_DebugOffsets of the file itself gives them.
 */
struct sym_python_layout {
	uint16_t version; /* 0x0308 ... 0x030e */
	bool free_threaded;
	bool is_lasti;      /* the frame's `instr` is an int of 4 bytes (up to 3.10), else a pointer */
	uint64_t runtime;   /* run-time address of _PyRuntime */
	uint64_t code_type; /* run-time address of PyCode_Type; 0: not known */
	/* Run-time addresses of _PyEval_EvalFrameDefault and of the part that the compiler put elsewhere. */
	struct sym_python_range evaluator[SYM_PYTHON_EVALUATOR_RANGES];
	/* Of an evaluator with tail calls: run-time return addresses of its calls, in all its copies. 0: no more. */
	uint64_t evaluator_calls[SYM_PYTHON_EVALUATOR_CALLS];
	uint64_t executable_mask; /* and-ed to what stands at frame_executable: the rest is a tag */

	uint16_t interpreters_head; /* in _PyRuntime: pointer to the first interpreter */
	uint16_t interp_next, interp_threads_head;
	uint16_t tstate_next;
	uint16_t tstate_thread_id;        /* unsigned long: pthread_self() */
	uint16_t tstate_native_thread_id; /* unsigned long: gettid(); absent before 3.11 */
	uint16_t tstate_frame;
	uint16_t
	        cframe_current_frame; /* 3.11, 3.12: tstate_frame is of a pointer to a struct that has the pointer
	                                  to the frame here; else absent: it is of that pointer itself */
	uint16_t frame_size;          /* bytes to read of a frame, from its beginning */
	uint16_t frame_previous, frame_executable, frame_instr;
	uint16_t frame_owner; /* one byte; absent before 3.12 */
	uint16_t shim_owner;  /* the least owner of a frame that is not shown */
	uint16_t frame_entry; /* one byte, 3.11: is_entry; else absent */

	uint16_t code_firstlineno;                         /* int */
	uint16_t code_filename, code_name, code_linetable; /* pointers; the last is co_lnotab before 3.10 */
	uint16_t code_qualname;                            /* absent before 3.11 */
	uint16_t code_adaptive;                            /* the instructions; absent before 3.11 */
	uint16_t code_firsttraceable;                      /* int; absent before 3.11 */
	uint16_t code_tlbc; /* free-threaded 3.14: pointer to the copies of the instructions; else absent */

	uint16_t ob_type;
	uint16_t bytes_size, bytes_value;
	uint16_t unicode_length, unicode_state;
	uint16_t unicode_ascii_size, unicode_compact_size; /* sizes of the headers before the characters */
};

/* What the walk copies of one frame. */
struct sym_python_step {
	uint64_t code;        /* the code object; 0: an evaluator that shows no frame */
	uint64_t instr;       /* as it stands in the frame; f_lasti sign-extended */
	uint64_t fingerprint; /* of the code object, see below; 0 with code 0 */
	bool is_entry;
};

/*
 * A hash of a code object's co_name, co_filename, co_linetable (co_lnotab), as pointers, and co_firstlineno: tells it
 * from another one that has the same address later. The walk in the kernel uses the same formula.
 */
static inline uint64_t sym_python_fingerprint(uint64_t name, uint64_t filename, uint64_t linetable,
                                              uint32_t firstlineno)
{
	const uint64_t odd = 0x9e3779b97f4a7c15ull; /* 2^64 divided by the golden ratio */
	uint64_t hash = name;

	hash = (hash ^ filename) * odd;
	hash = (hash ^ linetable) * odd;
	hash = (hash ^ firstlineno) * odd;
	return hash ^ hash >> 32;
}

/* Reads all of `len` bytes of the process's memory. 0, or -errno. */
typedef int (*sym_python_read)(void *context, uint64_t address, void *buffer, size_t len);

/*
 * By its path alone, can a mapped file be a Python? Cheap; false for a program of another name that has Python linked
 * in, which sym_python_find() finds, too.
 */
bool sym_python_may_be(const char *path);

/*
 * Looks for a Python in the process's executable mappings: in files that sym_python_may_be() and in its
 * program. Reads files and PROC/PID/maps only, so it can be called before the interpreter has started. Costs
 * about half a millisecond a Python, 10 to 25 ms one with tail calls, all of whose code is read; what the last 16 files
 * said is remembered as long as they do not change. Thread-safe. `proc` NULL:
 * /proc. -ENOENT: no Python; -ENOTSUP: an unknown version, or a file of another machine; -ESRCH, -EACCES,
 * -ENOMEM.
 */
int sym_python_find(pid_t pid, const char *proc, struct sym_python_layout *out);

/*
 * Walks the frames of the stopped thread whose pthread_self() is `thread_id`, innermost first. -ESRCH: it has
 * no thread state; -EFAULT and the like: memory could not be read; -ELOOP: more than `max` steps, of which
 * the innermost are given. In each case steps[0..*n) are valid.
 */
int sym_python_walk(const struct sym_python_layout *layout, sym_python_read read, void *context,
                    uint64_t thread_id, struct sym_python_step *steps, size_t max, size_t *n);

/* Code objects of one process that have been read. */
struct sym_python;

/*
 * `context` must live until sym_python_close(), or sym_python_detach(). The layout is copied. What is known of code
 * objects, with their names, takes at most 16 MiB.
 */
int sym_python_open(const struct sym_python_layout *layout, sym_python_read read, void *context,
                    struct sym_python **out);

/*
 * After it `read` is not called any more, and only frames of known code objects get names. For a process that has
 * exited.
 */
void sym_python_detach(struct sym_python *py);
void sym_python_close(struct sym_python *py);

/*
 * Names a frame: the function is co_qualname, before 3.11 co_name. Returns 0. -ESTALE: the code object is gone, or
 * another one has its place: the name is "[python code gone]", without file and line, and the frame is counted.
 * Its strings live until the next call on `py`. -ENODATA, *out unchanged: the frame is not shown (see above), as for a step of code 0.
 */
int sym_python_frame(struct sym_python *py, const struct sym_python_step *step, struct sym_frame *out);

struct sym_python_stats {
	uint64_t frames_named, frames_gone, frames_not_shown;
	uint64_t code_read;     /* code objects read out of the process */
	uint64_t code_evicted;  /* forgotten for want of room */
	uint64_t lines_unknown; /* frames named, whose line table makes no sense at that instruction */
	size_t memory_bytes;
};
void sym_python_stats(const struct sym_python *py, struct sym_python_stats *out);

enum sym_python_native {
	SYM_PYTHON_NOT_EVALUATOR,
	SYM_PYTHON_EVALUATOR, /* _PyEval_EvalFrameDefault, all of it or a part that the compiler split off */
	/* _TAIL_CALL_*: called by _PyEval_EvalFrameDefault, which is there as well. */
	SYM_PYTHON_EVALUATOR_PART,
	/* py::*, which python -X perf has call each evaluator, so that perf has a name for it. */
	SYM_PYTHON_EVALUATOR_CALLER,
	/* An evaluator; the frame that it calls is a part of it, too, unless that is an evaluator itself. */
	SYM_PYTHON_EVALUATOR_AND_CALLED
};

/*
 * `address` is the native frame's pc, less 1 if it is a return address; `function` its name (of inlined frames:
 * the one they were inlined into) or whatever is shown instead. Works without a symbol table, too, and
 * where an evaluator of tail calls was inlined into others.
 */
enum sym_python_native sym_python_native_kind(const struct sym_python_layout *layout, uint64_t address,
                                              const char *function);

#endif
