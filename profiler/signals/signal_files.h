/*
 * The table of the files that signals are read from, and which of them this host has.
 */
#ifndef STALLPROF_PROFILER_SIGNAL_FILES_H
#define STALLPROF_PROFILER_SIGNAL_FILES_H

#include <stddef.h>

#include "profiler/signals/signal_source.h"

struct stamp;

#define HOST_SIGNALS_CAUSE "host_signals" /* of the stamp's hooks, one for each signal */
#define SIGNAL_SOURCES_MAX 320

struct signal_files {
	struct signal_source source[SIGNAL_SOURCES_MAX];
	size_t count;
	/* Of each file of the table: why no source was opened for it; 0: one was; -ENOSPC: not for all devices. */
	int why_not[32];
};

/* Opens what there is. `root`: "" but in tests, a folder in which /proc and /sys are looked for. */
void signal_files_open(struct signal_files *files, const char *root);
/* Closes devices that are gone, and opens those that have come since. A device is gone once its last read failed. */
void signal_files_look(struct signal_files *files, const char *root);
void signal_files_close(struct signal_files *files);

/* Adds a hook for each of their signals. 0, -ENOMEM, -ENOSPC. */
int signal_files_describe(const struct signal_files *files, struct stamp *stamp);

#endif
