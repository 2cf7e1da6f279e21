/*
 * A process of our own that asks file systems, which may hang: an NFS mount without its server, a FUSE mount whose daemon is stuck. A
 * thread would not do, as the kernel does not let a process end while one of its threads is in such a call; this process may stay behind
 * instead. In it each file system has a thread (file_lanes.h), so that one that hangs holds up nothing else.
 *
 *     helper = file_helper_new();                             before there is much memory and many descriptors to inherit
 *     err = file_helper_ask(helper, &question);               never waits for a file system
 *     while (file_helper_take(helper, &answer)) …             once file_helper_fd() is readable
 *     file_helper_free(helper);                               what was not answered is given up
 *
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_FILE_HELPER_H
#define STALLPROF_PROFILER_FILE_HELPER_H

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

struct file_helper;

/* Starts the process. NULL with errno. */
struct file_helper *file_helper_new(void);
/* Ends it; if it hangs it ends by itself as soon as the file system answers. Takes NULL. */
void file_helper_free(struct file_helper *helper);

/* Whether it has ended by itself: nothing is answered any more. */
bool file_helper_has_ended(const struct file_helper *helper);

int file_helper_fd(const struct file_helper *helper);
/* 0: there is none. */
uint32_t file_helper_pid(const struct file_helper *helper);

/* 0; -EAGAIN: it has too much to do; -EPIPE: it has ended; -ENAMETOOLONG. */
int file_helper_ask(struct file_helper *helper, const struct file_question *question);

/* Takes an answer; false: there is none now. */
bool file_helper_take(struct file_helper *helper, struct file_answer *answer);

#endif
