/* Tagged files in a session: the tables and the process that they need, and what comes of them. */
#ifndef STALLPROF_PROFILER_SESSION_FILES_H
#define STALLPROF_PROFILER_SESSION_FILES_H

#include "profiler/session/session_state.h"

/* Starts the process that looks at files, if the configuration has any for it; before the tracer is opened. Without it files are not looked
 * at, and counted. */
void session_files_begin(struct session *session);

/* What is needed to tell of tagged files, where there are any; once there is a tracer. 0 or -errno. */
int session_files_open(struct session *session);
void session_files_close(struct session *session);

/* A callback of the tracer. */
void session_files_on_event(void *ctx, const struct abi_file_event *event);

/* Takes the answers that have come, and asks what is due; `all`: allows further questions, too. */
void session_files_tick(struct session *session, uint64_t now_ns, bool all);

/* Adds counters to the stamp, and begins them anew. 0 or -errno. */
int session_files_describe(struct session *session, struct stamp *stamp);

#endif
