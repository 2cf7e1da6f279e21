/*
 * What the agent says, each line with its weight. To journald, which tells us by JOURNAL_STREAM that standard error is
 * its own, lines begin with the <N> of sd-daemon(3), so that `journalctl -p warning` selects them and colours them;
 * elsewhere with "stallprof agent: ", errors and warnings with that word, and those for debugging are left out.
 */
#ifndef STALLPROF_PROFILER_AGENT_LOG_H
#define STALLPROF_PROFILER_AGENT_LOG_H

/* syslog(3)'s numbers. */
enum agent_level { AGENT_ERROR = 3, AGENT_WARNING = 4, AGENT_INFO = 6, AGENT_DEBUG = 7 };

/* Looks whom standard error goes to; before the first line. */
void agent_log_open(void);

/* One line, however long, without its line break. */
void agent_log(enum agent_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
