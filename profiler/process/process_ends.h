/*
 * Tells when processes have ended, whoever their parents are. Each is watched by a pidfd, so a process that reuses
 * the pid is not taken for it.
 */
#ifndef STALLPROF_PROFILER_PROCESS_ENDS_H
#define STALLPROF_PROFILER_PROCESS_ENDS_H

#include <stddef.h>
#include <stdint.h>

struct process_ends;

/* NULL with errno set. */
struct process_ends *process_ends_new(void);
void process_ends_free(struct process_ends *ends);

/* 0; -ESRCH: there is no such process (-EINVAL: it is a thread of one); -errno. */
int process_ends_add(struct process_ends *ends, uint32_t pid);

/* For poll and epoll: readable when one has ended since the last call of process_ends_left(). */
int process_ends_fd(const struct process_ends *ends);

/* Returns how many have not ended. */
size_t process_ends_left(struct process_ends *ends);

#endif
