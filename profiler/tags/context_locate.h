/*
 * Finds out where the threads of a live process keep the pointers to their tags (OTEP 4947's and
 * stalltag's), in the form in which the BPF programs follow them: bpf/abi.h, struct abi_process.
 *
 *	locator = context_locator_new();
 *	context_locate(locator, pid, &process, NULL);	for every process, and again after -EAGAIN
 *	context_locator_free(locator);
 *
 * It goes through /proc/PID/maps. What an executable file has is found out once for each file (tag_file.h) and
 * cached by device, inode, time of change and size; for files that define one of the two pointers, the words that
 * the loader put into the process's global offset table give the place. Costs a stat() for each executable mapping,
 * and for files not seen before some reads of their headers.
 *
 * A program's own pointer is found without the table, so also before it has run; a library's only after
 * the loader has relocated it. Relocations that name the symbol follow interposition, as the process does.
 *
 * Needs CAP_SYS_PTRACE over the process. Of its memory it reads no pages of files but those that could be read otherwise, too (remote_pages.h). Not
 * thread-safe. Reads only x86-64 processes.
 */
#ifndef STALLPROF_PROFILER_CONTEXT_LOCATE_H
#define STALLPROF_PROFILER_CONTEXT_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct context_locator;
struct tag_file;

#define CONTEXT_LOCATOR_FILES_MAX 4096 /* remembered; beyond, the least recently used is forgotten */
#define CONTEXT_FILES_PER_PROCESS 64   /* with probes or pointers; those beyond are counted */

/* A file with something of interest, where a process has it mapped. */
struct context_file {
	const struct tag_file *facts; /* until the next call on the locator */
	dev_t dev;
	ino_t inode;
	const char *path; /* opens this very file: plain, or by way of /proc/PID/root or map_files */
};

typedef void (*context_file_fn)(void *ctx, pid_t pid, const struct context_file *file);

struct context_files_wanted {
	context_file_fn
	        file; /* called once for each file with stalltag's probes, or of library_calls.h, in the process */
	void *ctx;
	bool files_only; /* nothing else is: the process's memory is not read */
};

/* Counts of what could not be done, since the start. */
struct context_locator_stats {
	uint64_t files_read;      /* looked into, that is: not answered by the cache */
	uint64_t files_corrupt;   /* of those */
	uint64_t files_unopened;  /* mapped files that could not be opened, so that their tags are not seen */
	uint64_t files_beyond;    /* more than CONTEXT_FILES_PER_PROCESS */
	uint64_t slots_unlocated; /* pointers that are defined, but at an unknown place */
	uint64_t contexts_bad;    /* process contexts that made no sense */
};

/* NULL with errno ENOMEM. */
struct context_locator *context_locator_new(void);
void context_locator_free(struct context_locator *locator);

/*
 * Fills `out` but for base_tag and exact_stalltag, which become 0. A pointer or context that the process does not
 * have is no error. `wanted` may be NULL. -EAGAIN: a library is not relocated yet, or the process context is being
 * changed: *out holds what is known, try again soon, but not for ever: the file may be mapped for another purpose
 * than to run. -ETIMEDOUT: a file was not looked at, as its file system does not answer (file_gate.h): the same, and it may be
 * long until it does. -ESRCH: no such process; -EACCES, -EPERM; -ENOMEM.
 */
int context_locate(struct context_locator *locator, pid_t pid, struct abi_process *out,
                   const struct context_files_wanted *wanted);

/*
 * The index of `ai_tag` in the key map that the process publishes by now; PROCESS_CONTEXT_NO_KEY when it does not, or is gone. Costs less than
 * context_locate(): no file is looked at.
 */
uint32_t context_locate_key(pid_t pid);

/*
 * Whether the file that a process has mapped at [start, end) has anything for context_locate() to find. 1 or 0;
 * -errno: it could not be looked at. `path` as /proc/PID/maps has it. `wanted` (may be NULL) is called for it
 * as by context_locate(), by which the process may be gone, or run another program.
 */
int context_locator_interest(struct context_locator *locator, pid_t pid, uint64_t start, uint64_t end,
                             const char *path, const struct context_files_wanted *wanted);

void context_locator_stats(const struct context_locator *locator, struct context_locator_stats *out);

#endif
