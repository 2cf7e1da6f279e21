/*
 * A question to Pyroscope as profiles: its time is cut into windows, and each has the sample labels stall, ai_tag and device again,
 * which the server keeps as labels of series and leaves out of the profiles that it merges.
 *
 * Each series is asked for by itself, in as many windows as keep the number of requests below QUERY_REQUESTS_MAX.
 */
#ifndef STALLPROF_PROFILER_QUERY_WINDOWS_H
#define STALLPROF_PROFILER_QUERY_WINDOWS_H

#include <stddef.h>

#include "profiler/diff/diff_query.h"
#include "profiler/diff/query_client.h"

#define QUERY_WINDOWS_MAX   24
#define QUERY_WINDOW_MS_MIN 10000 /* stallprof's own window */
#define QUERY_REQUESTS_MAX  2000

struct profile;

struct query_windows {
	struct profile *profile[QUERY_WINDOWS_MAX]; /* each with its time and duration */
	size_t count;
	size_t series, requests;
};

/*
 * `type`: delay, contentions, cpu or recovery; NULL: delay. -EINVAL for another, or too many series; -ENODATA: nothing is there; else as
 * query_client_post() and profile_decode(); with one line in err. Only after 0 is there something to release.
 */
int query_windows_fetch(struct query_windows *windows, const struct diff_query *query,
                        const struct query_access *access, const char *type, char *err, size_t err_size);
void query_windows_release(struct query_windows *windows);

#endif
