/* One file from one debuginfod server. */
#ifndef STALLPROF_PROFILER_DEBUGINFOD_FETCH_H
#define STALLPROF_PROFILER_DEBUGINFOD_FETCH_H

#include <stdatomic.h>
#include <stdint.h>

struct debuginfod_fetch {
	const char *url; /* the server's */
	const char *build_id;
	uint64_t max_bytes;
	uint64_t timeout_seconds;
	const atomic_bool *stop; /* breaks off */
};

/*
 * GET URL/buildid/BUILD_ID/debuginfo into `fd`, which stays the caller's, and is an empty file that can be read,
 * too. Up to five redirects are followed, from an https URL only to https ones. 0: it is an ELF file with that
 * build-id; -ENOENT: the server says it has none; -EBADMSG: it is something else; -EFBIG; -ECANCELED; -EIO: of the
 * network, the server or the file.
 */
int debuginfod_fetch(const struct debuginfod_fetch *fetch, int fd);

#endif
