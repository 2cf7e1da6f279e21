/*
 * Files that are tagged for an xattr that they have: the BPF programs ask of each file that is opened, once, whether it has it.
 *
 *     xattrs = file_xattrs_new("user.ai.checkpoint", source, tracer, paths);
 *     file_xattrs_tick(xattrs);                  now and then: allows some more questions
 *     tagged = file_xattrs_asked(xattrs, event);   an ABI_FILE_ASKED
 *     file_xattrs_describe(xattrs, stamp);
 *     file_xattrs_free(xattrs);
 *
 * The first calls on such a file, before the answer came, are not tagged.
 */
#ifndef STALLPROF_PROFILER_FILE_XATTRS_H
#define STALLPROF_PROFILER_FILE_XATTRS_H

#include <stdbool.h>

#include "bpf/abi.h"

struct file_xattrs;
struct mounted_paths;
struct stamp;
struct tracer;

/* All outlive it; `source` is the index of its entry of tag_files. NULL without memory. */
struct file_xattrs *file_xattrs_new(const char *name, uint32_t source, struct tracer *tracer,
                                    struct mounted_paths *paths);
/* `xattrs` may be NULL here and below. */
void file_xattrs_free(struct file_xattrs *xattrs);

void file_xattrs_tick(struct file_xattrs *xattrs);

/* Looks at the file, and tags it if it has the xattr: whether that is so. */
bool file_xattrs_asked(struct file_xattrs *xattrs, const struct abi_file_event *event);

/* The index of its entry. */
uint32_t file_xattrs_source(const struct file_xattrs *xattrs);

/* Adds counters to the stamp, and begins them anew. 0 or -errno. */
int file_xattrs_describe(struct file_xattrs *xattrs, struct stamp *stamp);

#endif
