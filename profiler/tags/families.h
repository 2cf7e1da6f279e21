/*
 * The processes that were given to be followed, with all that comes from them: what was there before is found in /proc, what
 * comes later is told by the BPF side, for those that it follows already. So look, let the threads be adopted, and look again
 * until nobody new is found.
 */
#ifndef STALLPROF_PROFILER_FAMILIES_H
#define STALLPROF_PROFILER_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct families;
struct tag_watch;
struct tracer;

/* Both outlive it. NULL without memory. */
struct families *families_new(struct tag_watch *watch, struct tracer *tracer);
void families_free(struct families *families);

/* From now on `pid` and its children are followed with this tag; a child that was started under one of its own keeps it.
 * `from_exec`: from its next exec on. 0 or -errno. */
int families_add(struct families *families, uint32_t pid, uint64_t tag, bool from_exec);

/* Follows the children that are there and are not followed yet: how many, or -errno. */
int families_look(struct families *families);

#endif
