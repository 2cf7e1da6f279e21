/*
 * The command that `record` runs: forked first, held until the recording has begun, then let go.
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
	int release_fd; /* closed without a byte, the child exits and runs nothing */
	int error_fd;   /* the child's errno when it could not execute */
	int status;     /* as a shell gives it: exit code, or 128 + signal */
	int signal;     /* that ended it, or 0 */
};

/* `prepare` is called in the child before it executes; it may only do what is safe after a fork. 0 or -errno. */
int child_spawn(struct child *child, char **argv, void (*prepare)(const void *ctx), const void *ctx);
/* Lets the child execute. 0, or -errno of executing and a line in `err`; child.status is then 126 or 127. */
int child_release(struct child *child, const char *name, char *err, size_t err_len);
/* 1 if it has ended, 0 if it still runs. */
int child_reap(struct child *child);
/* Ends a child that was never released. */
void child_abandon(struct child *child);
/* Executes the command in this process, as child_release() has the child do. Returns only if that fails: 126 or
 * 127, with a line in `err`. */
int child_execute(char **argv, char *err, size_t err_len);
/* Ends this process by the signal that ended the child, without a core dump, so that our parent sees what it would
 * have seen of the command. Returns if the child was not ended by a signal. */
void child_end_likewise(const struct child *child);

#endif
