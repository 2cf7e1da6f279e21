/*
 * Mappings that a process has made, and that its symbols are not told of yet: they learn of one when a stack comes that is not older. A stack
 * of before is of what was mapped there then, a library that has been unloaded for instance.
 *
 *	mapping_changes_add(&changes, sym, &mapping, at_ns);	as the feed tells of it (exec_maps.h)
 *	mapping_changes_apply(&changes, sym, event_ns);		before sym is used for a stack of that time
 *	mapping_changes_drop(&changes);				at an exec, or at the end
 */
#ifndef STALLPROF_PROFILER_MAPPING_CHANGES_H
#define STALLPROF_PROFILER_MAPPING_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/process/exec_mapping.h"

struct sym_process;

#define MAPPING_CHANGES_MAX 16 /* of more, all are told at once */

struct mapping_change {
	uint64_t at_ns;
	struct exec_mapping mapping; /* with a path of its own */
};

/* A zeroed one is empty. */
struct mapping_changes {
	struct mapping_change change[MAPPING_CHANGES_MAX]; /* in order of time */
	size_t n;
};

void mapping_changes_add(struct mapping_changes *changes, struct sym_process *sym,
                         const struct exec_mapping *mapping, uint64_t at_ns);

/* One that a later one covers is told as it was; the last one of a place is to be read from PROC/PID/maps
 * (symbolizer_process_is_stale()). */
void mapping_changes_apply(struct mapping_changes *changes, struct sym_process *sym, uint64_t until_ns);

void mapping_changes_drop(struct mapping_changes *changes);

#endif
