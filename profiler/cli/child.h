/*
 * The command that `record` runs: made first, held until the recording has begun, then let go.
 *
 *     child_spawn(&child, argv, …)     forked, waiting
 *     …follow child.pid…
 *     child_release(&child, …)         executes; reports at once if the command can't be run
 *     child_reap(&child)               1 when it has ended, with child.status
 */
#ifndef STALLPROF_PROFILER_CHILD_H
#define STALLPROF_PROFILER_CHILD_H

#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int release_fd; /* closing it without a byte lets the child end unseen */
	int error_fd;   /* the child's errno when it could not execute */
	int status;     /* as a shell gives it: exit code, or 128 + signal */
	int signal;     /* that ended it, or 0 */
};

/* `prepare` is called in the child before it executes; it may only do what is safe after a fork. 0 or -errno. */
int child_spawn(struct child *child, char **argv, void (*prepare)(const void *ctx), const void *ctx);
/* 0, or -errno of executing with a line; child.status is then 126 or 127. */
int child_release(struct child *child, const char *name, char *err, size_t err_len);
/* 1: has ended; 0: runs. */
int child_reap(struct child *child);
/* Ends a child that was never released. */
void child_abandon(struct child *child);
/* In place of the child's program, in this process: what child_release() would have it do. Returns only if it can't
 * be executed: 126 or 127, with a line. */
int child_execute(char **argv, char *err, size_t err_len);
/* Ends this process by the signal that ended the child, without a core of its own: whoever waits for us sees what it
 * would have seen of the command. Returns if no signal did. */
void child_end_likewise(const struct child *child);

#endif
