/*
 * What a JIT compiler tells of its code in a jit-PID.dump, in the format of Linux's
 * tools/perf/Documentation/jitdump-specification.txt: names, and source lines where it knows any. V8 (node
 * --perf-prof), OpenJDK, CPython, LLVM and others write it.
 *
 * The file only grows while the program runs, and is read as far as it goes. Where two functions overlap, the later
 * one counts; code that was moved has its name at both places until something else is there.
 *
 * Hostile files: numbers are checked, at most 2^18 records are read in one go, at most a million functions or 64 MiB
 * of names are kept (then all of them are dropped), and looking up a source line, which is done in the file, reads 1
 * MiB at most.
 */
#ifndef SYMBOLIZER_JITDUMP_H
#define SYMBOLIZER_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitdump;

struct jitdump_hit {
	const char *function, *file; /* live until the next call; file NULL: unknown */
	uint32_t line;
};

/* Takes `fd`, a regular file, in any case. -EBADMSG: no such file, or one of another machine; -ENOMEM. */
int jitdump_new(int fd, struct jitdump **out);
void jitdump_free(struct jitdump *j);

size_t jitdump_memory(const struct jitdump *j);

/* Reads what was added to the file. -EBADMSG: malformed from here on, what is known stays; -ENOMEM. */
int jitdump_refresh(struct jitdump *j);

/* False: no function there, or one whose name is empty. */
bool jitdump_find(struct jitdump *j, uint64_t address, struct jitdump_hit *out);

#endif
