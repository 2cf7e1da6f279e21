/*
 * A stack as people look at it: which of its frames are the kernel's, the language runtime's, a library's, and which
 * one is the line of the program's own code that the user can change.
 *
 * Frames of a Python stack are those of Python and the kernel: the C code between them is left out unless native
 * frames are wanted.
 */
#ifndef STALLPROF_PROFILER_LOADED_FRAMES_H
#define STALLPROF_PROFILER_LOADED_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "pprof/profile.h"

#define LOADED_FRAMES_MAX     1024
#define LOADED_FRAME_TEXT_MAX 1024

enum loaded_frame_kind { LOADED_FRAME_KERNEL, LOADED_FRAME_PYTHON, LOADED_FRAME_NATIVE };

struct loaded_frame {
	enum loaded_frame_kind kind;
	bool library;                      /* part of the language or system, or an installed package */
	bool inlined;                      /* in the code of the frame outside of it */
	bool module;                       /* of the kernel: in a module of it */
	const struct profile_frame *frame; /* NULL: only an address is known */
	struct profile_location_view location;
};

struct loaded_stack {
	size_t n;
	struct loaded_frame
	        frames[LOADED_FRAMES_MAX]; /* innermost first; the outermost are cut beyond the maximum */
	bool has_python;
};

/* Fills `stack`, which has about 100 KiB: too large for the C stack of a deep call. */
void loaded_stack_get(struct loaded_stack *stack, const struct profile *profile,
                      const struct profile_sample_view *view);

/* The innermost frame of the program's own code, else the one that says that the stack was not copied, else the
 * innermost of a library, else frame 0. */
size_t loaded_stack_own(const struct loaded_stack *stack);

/* Whether the stack ends so. Only the sample's outermost location is looked at. */
bool loaded_stack_not_copied(const struct profile *profile, const struct profile_sample_view *view);

/* Whether it is a wait for CPython's global interpreter lock. */
bool loaded_stack_gil(const struct loaded_stack *stack);

/* Whether the frame is left out unless native frames are wanted. */
bool loaded_stack_folds(const struct loaded_stack *stack, size_t index);

/* "function file:line". The file's path is relative if it is below the working directory; a long one is cut to its
 * end. */
void loaded_frame_text(char *text, size_t size, const struct profile *profile,
                       const struct loaded_frame *frame);

/* "read(): folio_wait_bit < filemap_get_pages": where in the kernel it waits; "" without kernel frames. */
void loaded_stack_kernel_text(char *text, size_t size, const struct loaded_stack *stack);

/* The text for a frame without a name, or a location without frames: "[0x12 in libfoo.so]". */
void loaded_address_text(char *text, size_t size, const struct profile *profile,
                         const struct profile_location_view *location);

#endif
