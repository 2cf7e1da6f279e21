/*
 * Where an interrupted function without rules was called from: assembler that has no tables (clone() of glibc behind
 * its system call, PLT entries of static programs, musl) and often has pushed nothing yet. x86-64.
 *
 * The word at the stack pointer is the return address if a call instruction ends there, and that call can be shown to
 * have led here. Other words that look like one may have been left there by earlier calls.
 *
 * And whether a word that a frame pointer leads to can be a return address at all: x86-64 and aarch64.
 */
#ifndef SYMBOLIZER_UNWIND_CALL_H
#define SYMBOLIZER_UNWIND_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/cfi/cfi_arch.h"

enum unwind_call {
	UNWIND_UNREADABLE,    /* the code before it can't be had */
	UNWIND_NO_CALL,       /* no call instruction ends there */
	UNWIND_CALL_OF_OTHER, /* a direct call of another function */
	UNWIND_CALL_INDIRECT, /* a call by register or memory, of any function */
	UNWIND_CALL_TO_HERE, /* a direct call of a function that begins shortly before the pc, or through the PLT */
};

/* Reads code at a run-time address. False: it can't be had. */
typedef bool (*unwind_read_code)(void *context, uint64_t address, void *buffer, size_t len);

enum unwind_call unwind_call_before(uint64_t return_address, uint64_t pc, unwind_read_code read,
                                    void *context);

/* Whether a call instruction ends there: UNWIND_UNREADABLE, UNWIND_NO_CALL or more. */
enum unwind_call unwind_call_ends_at(const struct cfi_arch *arch, uint64_t return_address,
                                     unwind_read_code read, void *context);

#endif
