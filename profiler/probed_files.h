/* The files whose tag probes are attached, each once for all processes that map it, now or later. */
#ifndef STALLPROF_PROFILER_PROBED_FILES_H
#define STALLPROF_PROFILER_PROBED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct probed_files;
struct tracer;

typedef void (*probed_files_say_fn)(const char *line);

/* `tracer` outlives it; a refusal is said once a file. NULL without memory. */
struct probed_files *probed_files_new(struct tracer *tracer, probed_files_say_fn say);
void probed_files_free(struct probed_files *files);

/* Attaches to the file that `path` opens, if that was not tried before. `probes`: bits of enum tag_file_probe.
 * Whether they are attached. */
bool probed_files_attach(struct probed_files *files, dev_t dev, ino_t inode, const char *path,
                         uint32_t probes);

/* Files that could not be attached to. */
uint64_t probed_files_refused(const struct probed_files *files);

#endif
