/*
 * Reads /proc when a recording starts: which processes exist, and which of them were started under a tag
 * (STALLPROF_TAG in the environment, stalltag/process_tag.h). The first is quick, the second takes some system
 * calls per process.
 *
 * context_locate() finds what a process has in its memory and its files; call it in `process`.
 */
#ifndef STALLPROF_PROFILER_TAG_SCAN_H
#define STALLPROF_PROFILER_TAG_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Each may be NULL. */
struct tag_scan_handler {
	/* The process was started under this tag; before `process` of the same pid. `name` as in stalltag.h. */
	void (*tagged)(void *ctx, pid_t pid, uint64_t id, const char *name);
	/* Each process with memory of its own: no kernel threads, no zombies. */
	void (*process)(void *ctx, pid_t pid);
};

#define TAG_SCAN_ENVIRONMENT_MAX (8 << 20) /* bytes looked through, of one process */

/* Calls `process` for every process but the calling one, kernel threads and zombies too. 0; -errno: /proc could not be
 * read. */
int tag_scan(void (*process)(void *ctx, pid_t pid), void *ctx);

/* Calls the handler for one process. 0; -ESRCH: no such process, or one without memory; -EACCES, -EPERM; -errno of
 * reading. */
int tag_scan_process(pid_t pid, const struct tag_scan_handler *handler, void *ctx);

/*
 * The base tag of one process; name gets at most size bytes (STALLTAG_NAME_MAX + 1 are enough). 1: it has one;
 * 0: none, or one that is malformed; -errno as above.
 */
int tag_scan_environment(pid_t pid, uint64_t *id, char *name, size_t size);

#endif
