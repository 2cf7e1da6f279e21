/*
 * Names of code that a process compiled at run time, from its jitdump, else from its perf map.
 *
 *	jit-PID.dump	anywhere; the compiler maps a page of it as executable to say where. Of several, as
 *			a child has its parent's, the one with its own PID, as in its own PID namespace
 *	perf-PID.map	in the process's own /tmp, PID as above
 *
 * Both are read only if they are regular files of the process's user or of root, as anyone may put a file into /tmp. A perf map that was
 * last written before the process began is another's, that had its pid.
 * They are checked for news at most once a second.
 */
#ifndef SYMBOLIZER_JIT_NAMES_H
#define SYMBOLIZER_JIT_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/types.h"

/* The process whose code it is. */
struct jit_process {
	const char *proc; /* where /proc is */
	uint32_t pid;
	bool exited;
	uint64_t start_ns; /* CLOCK_BOOTTIME; 0: not known */
	struct symbolizer_stats
	        *stats; /* files_too_large counts perf maps of which the newest names are missing */

	/*
	 * Opens the jitdump that the process has mapped (of several, that of `inner_pid`) and sets *inode. Returns a
	 * descriptor. Negative: there is none, or it has the inode *known (NULL: none is known).
	 */
	int (*open_jitdump)(void *context, uint32_t inner_pid, const uint64_t *known, uint64_t *inode);
	void *context;
};

/* Of one process; a zeroed one is empty. */
struct jit_names {
	struct perf_map *perf_map;
	uint64_t perf_map_size;
	int64_t perf_map_changed_ns;
	struct jitdump *jitdump;
	uint64_t jitdump_inode;
	int64_t checked_ns; /* CLOCK_MONOTONIC; 0: never; in the future: they are not read before that */
	int64_t asked_ns;
	bool has_grown; /* jit_names_memory() has, at the last question */
	bool too_large; /* the perf map is, and that was counted */

	bool knows_user; /* the next two are set: they stay known when the process has gone */
	uid_t user;
	uint32_t inner_pid;
};

struct jit_name {
	const char *function, *file; /* live until the next call for the process; file NULL: unknown */
	uint32_t line;
	enum sym_source source; /* JITDUMP or PERF_MAP */
};

/* Is that the path of a jitdump? *number becomes the pid in its name. */
bool jit_names_is_jitdump(const char *path, unsigned long *number);

/* False: the code has no name. */
bool jit_names_find(struct jit_names *j, const struct jit_process *of, uint64_t pc, struct jit_name *out);
void jit_names_forget(struct jit_names *j);

/* Frees the names of both, to make room for those of other processes: none are read for a minute. */
void jit_names_drop(struct jit_names *j);

/* Bytes of both tables; 0: none have been read. */
size_t jit_names_memory(const struct jit_names *j);

#endif
