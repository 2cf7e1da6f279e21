/*
 * Files that are tagged for an xattr that they have: the BPF programs ask of each file that is opened, once, whether it has it. A process of
 * ours looks (asker_process.h), as file systems may hang.
 *
 *     xattrs = file_xattrs_new("user.ai.checkpoint", source, tracer, paths, asker);
 *     file_xattrs_tick(xattrs);                              now and then: allows some more questions
 *     file_xattrs_asked(xattrs, event);                      an ABI_FILE_ASKED
 *     file_xattrs_answered(xattrs, &answer, &opened);        an answer to a FILE_HAS_XATTR
 *     file_xattrs_describe(xattrs, stamp);
 *     file_xattrs_free(xattrs);
 *
 * The first calls on such a file, before the answer came, are not tagged. When the asker has ended, no more questions are allowed, and those that
 * it has not answered count as refused. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_FILE_XATTRS_H
#define STALLPROF_PROFILER_FILE_XATTRS_H

#include <stdbool.h>

#include "bpf/abi.h"

struct file_answer;
struct asker_process;
struct file_xattrs;
struct mounted_paths;
struct stamp;
struct tracer;

/* All outlive it, but for `asker`, which may be NULL: every question is refused. `source` is the index of its entry of tag_files. NULL
 * without memory. */
struct file_xattrs *file_xattrs_new(const char *name, uint32_t source, struct tracer *tracer,
                                    struct mounted_paths *paths, struct asker_process *asker);
/* `xattrs` may be NULL here and below. */
void file_xattrs_free(struct file_xattrs *xattrs);

void file_xattrs_tick(struct file_xattrs *xattrs);

/* Has it looked at. What cannot be asked now is counted, and asked when the file is opened again. */
void file_xattrs_asked(struct file_xattrs *xattrs, const struct abi_file_event *event);

/* Tags the file if it has the xattr. True: it has been opened to be written to, and *opened is an ABI_FILE_OPENED of it. */
bool file_xattrs_answered(struct file_xattrs *xattrs, const struct file_answer *answer,
                          struct abi_file_named *opened);

/* Adds counters to the stamp, and begins them anew. 0 or -errno. */
int file_xattrs_describe(struct file_xattrs *xattrs, struct stamp *stamp);

#endif
