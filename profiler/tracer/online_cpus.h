/*
 * Which CPUs have come online, or gone, since the last look.
 *
 *	cpus = online_cpus_new(NULL);		before anything is opened for each CPU
 *	once a second:
 *		online_cpus_look(cpus, changed, ctx);
 *
 * The kernel takes a CPU's perf events off it for good when it goes offline: those of a CPU that is back are dead and say
 * nothing of it, so they have to be opened anew. That a CPU was away is seen also when it is back by the next look, as after
 * a suspend, during which nobody could look: the folder "topology" of its own in sysfs is made anew each time, and so is
 * another inode.
 *
 * A look reads a file and asks for one inode a CPU that is online: 2 us each at most.
 */
#ifndef STALLPROF_PROFILER_ONLINE_CPUS_H
#define STALLPROF_PROFILER_ONLINE_CPUS_H

#include <stdbool.h>

struct online_cpus;

/* What was opened for this CPU before is dead. `online`: it can be opened anew. */
typedef void (*online_cpus_fn)(void *ctx, unsigned int cpu, bool online);

/* Looks for the first time, and calls nobody. `folder`: NULL for /sys/devices/system/cpu. NULL without memory, or when the
 * folder tells nothing. */
struct online_cpus *online_cpus_new(const char *folder);
void online_cpus_free(struct online_cpus *cpus);

/* Calls `changed` for each CPU that went or came since the last look, or both. Nothing is changed where sysfs cannot be read. */
void online_cpus_look(struct online_cpus *cpus, online_cpus_fn changed, void *ctx);

#endif
