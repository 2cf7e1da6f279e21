/*
 * Puts Python frames in the place of the C frames that evaluated them: decides which of both a stack shows, in
 * which order.
 *
 * The native stack is a row of frames of which some are evaluators (symbolizer/python/python.h); the Python frames
 * fall into groups, one an evaluator, each up to and including a frame that is an entry. Leaf first:
 *
 *     native   write  os_write  EVAL  _PyObject_Call  qsort  EVAL  main
 *     python                    compare level*                shard thread*         * an entry
 *     shown    write  os_write  compare level  _PyObject_Call  qsort  shard thread  main
 *
 * Other frames of the interpreter stay as they are: what calls what between Python's frames is C code that takes
 * time, and to hide it is a reader's choice (pprof -hide). Evaluators and groups are paired one by one. When their
 * numbers differ, from the outermost end if both rows are whole: a thread may be on its way into an evaluator or
 * out of it. Else from the innermost: the native stack was cut (its end is named, and the groups left over follow
 * it), or there were too many Python frames (their end is named, and the evaluators left over stay). Python frames
 * without any evaluator follow the native stack: it has evaluators that were not recognised by their names.
 */
#ifndef STALLPROF_PROFILER_PYTHON_MERGE_H
#define STALLPROF_PROFILER_PYTHON_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct abi_python_frame;

enum python_shown {
	PYTHON_SHOWN_NATIVE,     /* native frame `index` */
	PYTHON_SHOWN_PYTHON,     /* Python frame `index` */
	PYTHON_SHOWN_NATIVE_CUT, /* here the native stack was cut */
	PYTHON_SHOWN_PYTHON_CUT, /* here the Python frames were cut */
};

struct python_shown_frame {
	enum python_shown what;
	uint32_t index;
};

struct python_stacks {
	const uint8_t *kinds; /* enum sym_python_native of each native frame */
	size_t n_native;
	bool native_cut;
	const struct abi_python_frame *frames;
	size_t n_frames;
	bool python_cut;
};

/* Room that python_merge() needs at most. */
#define PYTHON_MERGED_MAX(n_native, n_frames) ((n_native) + (n_frames) + 2)

/*
 * Fills out[0 … n), leaf first, and returns n. *unmatched: evaluators that stayed and groups that had no evaluator,
 * beyond what a cut explains.
 */
size_t python_merge(const struct python_stacks *stacks, struct python_shown_frame *out, size_t *unmatched);

#endif
