/*
 * Where an interrupted function without rules was called from: assembler that has no tables (clone() of glibc behind
 * its system call, PLT entries of static programs, musl) and often has pushed nothing yet. x86-64.
 *
 * The word at the stack pointer is the return address if a call instruction stands before it, of which it can be told
 * that it led here. Other words that look like one may have been left there by earlier calls.
 */
#ifndef SYMBOLIZER_UNWIND_CALL_H
#define SYMBOLIZER_UNWIND_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_call {
	UNWIND_NO_CALL,       /* no call instruction ends there */
	UNWIND_CALL_OF_OTHER, /* a direct one, of something else */
	UNWIND_CALL_INDIRECT, /* one by register or memory: of anything */
	UNWIND_CALL_TO_HERE, /* a direct one, of a function that begins shortly before the pc, or by way of the PLT */
};

/* Reads code at a run-time address. False: it can't be had. */
typedef bool (*unwind_read_code)(void *context, uint64_t address, void *buffer, size_t len);

enum unwind_call unwind_call_before(uint64_t return_address, uint64_t pc, unwind_read_code read,
                                    void *context);

#endif
