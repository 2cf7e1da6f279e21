/*
 * The files with the tag library's probes, and the libraries in which threads wait (library_calls.h), that are attached
 * to, each once for all processes that map it. A probe keeps its file, and the file system that it is on, in use. So it
 * is detached when the last process that maps the file has been gone for PROBED_FILES_LINGER_NS.
 */
#ifndef STALLPROF_PROFILER_PROBED_FILES_H
#define STALLPROF_PROFILER_PROBED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/format/say.h"

struct probed_files;
struct tracer;

#define PROBED_FILES_LINGER_NS 10000000000ULL
#define PROBED_FILES_SWEEP_NS                                                                                \
	60000000000ULL /* how often those that map a file are looked for, as an exit may be missed */
#define PROBED_FILES_RETRY_NS 10000000000ULL /* after a refusal */

/* `tracer` must outlive it. NULL without memory. */
struct probed_files *probed_files_new(struct tracer *tracer, say_fn say);
void probed_files_free(struct probed_files *files);

/* `probes` and `libraries` as in tag_file.h. */
struct probed_file_at {
	dev_t dev;
	ino_t inode;
	const char *path;
	uint32_t probes, libraries;
	bool of_interest;   /* to be recorded: only then a refusal is said and counted, and lateness */
	uint64_t mapped_ns; /* when the process had mapped it, at the earliest; 0: that is not known */
};

/*
 * Notes that process `pid` has mapped the file (0: any process may; it is then never detached), and attaches to the
 * file if that is not done. Returns when it was attached to (`now_ns` or before, CLOCK_MONOTONIC); 0: it is
 * refused, which is counted and said once, and tried again by a call after PROBED_FILES_RETRY_NS.
 */
uint64_t probed_files_attach(struct probed_files *files, uint32_t pid, const struct probed_file_at *file,
                             uint64_t now_ns);

/* The child has its parent's mappings. */
void probed_files_forked(struct probed_files *files, uint32_t child, uint32_t parent);
/* The process is gone, or runs another program. */
void probed_files_left(struct probed_files *files, uint32_t pid, uint64_t now_ns);

/* Tells of each process that maps a file which is refused and can be tried again by now: whoever looks at it calls probed_files_attach(). Each
 * file is told once in PROBED_FILES_RETRY_NS. */
typedef void (*probed_files_fn)(void *ctx, uint32_t pid);
void probed_files_due(struct probed_files *files, uint64_t now_ns, probed_files_fn tell, void *ctx);

/* Detaches from files that nobody maps any more. Call it often. */
void probed_files_expire(struct probed_files *files, uint64_t now_ns);

/* Files that were refused, since the start. */
uint64_t probed_files_refused(const struct probed_files *files);
/* Sum, over the files with probes, from the earliest `mapped_ns` that was told until they were attached to, since the start. */
uint64_t probed_files_late_ns(const struct probed_files *files);

#endif
