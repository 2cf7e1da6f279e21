/*
 * Follows given processes with all their descendants. Those that exist already are found in /proc; later ones are
 * reported by the BPF side, but only for processes that it follows already. So look, let the threads be adopted,
 * and look again until no new one is found.
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

/* Follows `pid` and its children with this tag from now on, or, with `from_exec`, from its next exec on. A child
 * that was started under a tag of its own keeps that. 0 or -errno. */
int families_add(struct families *families, uint32_t pid, uint64_t tag, bool from_exec);

/* Follows the children that exist and are not followed yet; returns how many, or -errno. */
int families_look(struct families *families);

#endif
