/*
 * Where in a file the functions of a library (library_calls.h) begin, by its dynamic symbols. Part of the tracer.
 */
#ifndef STALLPROF_PROFILER_LIBRARY_SYMBOLS_H
#define STALLPROF_PROFILER_LIBRARY_SYMBOLS_H

#include <stddef.h>

#include "profiler/tracer/usdt_notes.h"

struct library_calls;

#define LIBRARY_SITES_MAX 1024

/*
 * Gives each place once, as several names may stand for one function, and none that the kernel cannot safely probe;
 * `*sites` is the caller's to free. 0, also when there are none; -ENOEXEC, -EBADMSG: no such file, or a corrupt one;
 * -E2BIG: more than LIBRARY_SITES_MAX; -ENOMEM; -errno.
 */
int library_symbols_sites(int file, const struct library_calls *library, struct usdt_site **sites, size_t *n);

#endif
