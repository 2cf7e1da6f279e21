/*
 * The agent's reports: one for each incident, a few seconds after it has begun, in the folder output.reports.
 *
 *     if (agent_reports_look(reports, session))       at each tick; true: end the window now, for the report
 *     agent_reports_window(reports, profile)          at the end of each window, before it is delivered
 *
 * The report is made in the loop (some 10 ms) and written by a thread. A file is report-TIME.FORMAT, TIME in milliseconds of
 * Unix time, of the incident's begin. The oldest go when all of them exceed output.reports_max_bytes;
 * other files in the folder are left alone.
 */
#ifndef STALLPROF_PROFILER_AGENT_REPORTS_H
#define STALLPROF_PROFILER_AGENT_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_reports;
struct config;
struct profile;
struct session;

/* Makes the folder if it is missing; it must be one that can be written to. *out: NULL where no reports are wanted. 0 or -errno with a
 * line in `err`. */
int agent_reports_new(struct agent_reports **out, const struct config *config, char *err, size_t err_len);
/* Waits for the report that is being written. Takes NULL, as those below do. */
void agent_reports_free(struct agent_reports *reports);

/* Whether a file of this name is a report that an agent wrote, or began to write. */
bool agent_reports_wrote(const char *name);
/* Removes the oldest of them until all take at most `max_bytes` (0: no limit). The one at the path `written`, which was just written,
 * stays. Those of a time to come, which a clock that was set back has left, are the oldest. */
void agent_reports_trim(const char *folder, uint64_t max_bytes, const char *written);

bool agent_reports_look(struct agent_reports *reports, const struct session *session);
void agent_reports_window(struct agent_reports *reports, const struct profile *profile);

#endif
