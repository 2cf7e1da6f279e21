/*
 * A process of our own that asks file systems, which may hang: an NFS mount without its server, a FUSE mount whose daemon is stuck. A
 * thread would not do, as the kernel does not let a process end while one of its threads is in such a call; this process may stay behind
 * instead. In it each file system has a thread (file_lanes.h), so that one that hangs holds up nothing else. It is our program, executed
 * anew (/proc/self/exe), and has none of our memory.
 *
 *     asker = asker_process_new();
 *     err = asker_process_ask(asker, &question);               never waits for a file system
 *     while (asker_process_take(asker, &answer)) …             once asker_process_fd() is readable
 *     asker_process_free(asker);                               what was not answered is given up
 *
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_ASKER_PROCESS_H
#define STALLPROF_PROFILER_ASKER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/session/file_asker.h"

struct file_question {
	enum file_question_kind kind;
	struct file_identity file;
	const char *paths[2]; /* the first that leads to the file counts; the second may be NULL */
	const char *xattr;    /* FILE_HAS_XATTR: its name */
	const void *context;  /* comes back with the answer */
	size_t context_size;
};

struct asker_process;

/* Starts the process, which takes some 20 ms. NULL with errno. */
struct asker_process *asker_process_new(void);
/* Ends it; if it hangs it ends by itself as soon as the file system answers. Takes NULL. */
void asker_process_free(struct asker_process *asker);

/* Whether it has ended by itself: nothing is answered any more. */
bool asker_process_has_ended(const struct asker_process *asker);

int asker_process_fd(const struct asker_process *asker);
/* 0: there is none. */
uint32_t asker_process_pid(const struct asker_process *asker);

/* 0; -EAGAIN: it has too much to do; -EPIPE: it has ended; -ENAMETOOLONG. */
int asker_process_ask(struct asker_process *asker, const struct file_question *question);

/* Takes an answer; false: there is none now. */
bool asker_process_take(struct asker_process *asker, struct file_answer *answer);

#endif
