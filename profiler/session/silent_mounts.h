/*
 * Which file systems do not answer now, so that the files of profiled programs there are not read until they do: an NFS
 * server that is down, a FUSE daemon that hangs. Who reads from one of these, waits, and with it all that is recorded.
 *
 * Those without a block device are asked, at most five times a second each, by a process of our own (asker_process.h), unless
 * by the list of mounts their type is one that the kernel keeps itself (overlayfs, tmpfs, btrfs). One that has not answered after 0.2 s
 * is silent until it does; while one is waited for, others have 20 ms. Between two questions it is believed to go on
 * answering: who reads just then waits as before. If the process ends it is started anew, at most once a minute, and that is said; until then
 * all is read but for what was silent.
 *
 *	mounts = silent_mounts_new(say);	in the thread that reads files: file_gate.h asks it from now on
 *	n = silent_mounts_take(mounts);		for each window
 *	silent_mounts_free(mounts);		in that thread
 */
#ifndef STALLPROF_PROFILER_SILENT_MOUNTS_H
#define STALLPROF_PROFILER_SILENT_MOUNTS_H

#include <stddef.h>

#include "profiler/format/say.h"

struct silent_mounts;

/* What the user is told where silent_mounts_new() fails. */
#define SILENT_MOUNTS_NOT_ASKED                                                                              \
	"a file system that does not answer is waited for: cannot start a process that asks"

/* Starts the process. NULL with errno. `say`: is told of each that is silent for a second, and of its answer. */
struct silent_mounts *silent_mounts_new(say_fn say);
/* Takes NULL. What its process waits for is left. */
void silent_mounts_free(struct silent_mounts *mounts);

/* How many were silent at some time since the last call. Takes NULL. */
size_t silent_mounts_take(struct silent_mounts *mounts);

#endif
