/*
 * Debug files from debuginfod servers, for programs and kernels whose own is not on this host.
 *
 * The symbolizer never goes to the network: it says which build-id has no debug file, and debuginfod_ask() asks for
 * that one. A thread fetches one file after another into FOLDER/.build-id/ab/cdef.debug, where the symbolizer looks
 * too; stacks resolved meanwhile do without.
 *
 *	debuginfod_ask(d, build_id);			whenever one is missing; returns at once
 *	while (debuginfod_take(d, build_id))		now and then
 *		symbolizer_debug_arrived(symbolizer, build_id);
 *
 * A file counts when it is an ELF file with that build-id; whatever else a server sends is thrown away. A file that
 * no server has is not asked for again for an hour, one that failed not for ten minutes. Bounds: ASKED_MAX
 * build-ids wait, max_bytes for all files together (those used longest ago go) and for each, timeout_seconds for
 * one.
 *
 * Uses libcurl, which we have for the push already, and not libdebuginfod: that takes its servers, bounds and cache
 * from the environment, which our children would inherit; it bounds its cache by age, not by size; and it keeps
 * whatever a server sends. DEBUGINFOD_URLS of the environment is not followed.
 *
 * One thread may call these; each takes NULL for "not configured".
 */
#ifndef STALLPROF_PROFILER_DEBUGINFOD_H
#define STALLPROF_PROFILER_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUGINFOD_ASKED_MAX   256
#define DEBUGINFOD_ID_HEX_SIZE 129 /* 64 bytes in hex, and a NUL */

struct debuginfod;
struct stamp;

struct debuginfod_opts {
	const char *urls; /* base URLs, separated by blanks; asked in this order */
	const char *dir;  /* made with its parent when missing */
	uint64_t max_bytes;
	uint64_t timeout_seconds;
};

/* Starts the thread. NULL with errno: EPERM: the folder is not ours alone; that of making the folder; ENOMEM,
 * EAGAIN. */
struct debuginfod *debuginfod_new(const struct debuginfod_opts *opts);

/* Breaks off what is being fetched, within about a second. */
void debuginfod_free(struct debuginfod *d);

/* Asks for a build-id in lower-case hex. Ignored if it is none, is being fetched, or failed a short time ago. */
void debuginfod_ask(struct debuginfod *d, const char *build_id);

/* The next build-id whose file has come; false: none. */
bool debuginfod_take(struct debuginfod *d, char build_id[DEBUGINFOD_ID_HEX_SIZE]);

/* Adds the counters debuginfod_asked, _fetched, _not_found, _failed and _dropped since the last call. 0, -errno. */
int debuginfod_describe(struct debuginfod *d, struct stamp *stamp);

#endif
