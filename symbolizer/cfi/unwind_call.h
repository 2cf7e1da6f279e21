/*
 * Where an interrupted function without rules was called from: assembler that has no tables (clone() of glibc behind
 * its system call, PLT entries of static programs, musl) and often has pushed nothing yet. x86-64.
 *
 * The word at the stack pointer is the return address if a call instruction ends there, and that call can be shown to
 * have led here. Other words that look like one may have been left there by earlier calls.
 */
#ifndef SYMBOLIZER_UNWIND_CALL_H
#define SYMBOLIZER_UNWIND_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_call {
	UNWIND_NO_CALL,       /* no call instruction ends there */
	UNWIND_CALL_OF_OTHER, /* a direct call of another function */
	UNWIND_CALL_INDIRECT, /* a call by register or memory, of any function */
	UNWIND_CALL_TO_HERE, /* a direct call of a function that begins shortly before the pc, or through the PLT */
};

/* Reads code at a run-time address. False: it can't be had. */
typedef bool (*unwind_read_code)(void *context, uint64_t address, void *buffer, size_t len);

enum unwind_call unwind_call_before(uint64_t return_address, uint64_t pc, unwind_read_code read,
                                    void *context);

#endif
