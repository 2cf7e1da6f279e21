/*
 * The agent's log lines, each with a level. When standard error goes to journald, which JOURNAL_STREAM shows, lines
 * begin with the <N> of sd-daemon(3), so that `journalctl -p warning` selects and colours them. Elsewhere they
 * begin with "stallprof agent: ", errors and warnings also with that word, and debug lines are left out.
 */
#ifndef STALLPROF_PROFILER_AGENT_LOG_H
#define STALLPROF_PROFILER_AGENT_LOG_H

/* syslog(3)'s numbers. */
enum agent_level { AGENT_ERROR = 3, AGENT_WARNING = 4, AGENT_INFO = 6, AGENT_DEBUG = 7 };

/* Finds out where standard error goes. Call it before the first line. */
void agent_log_open(void);

/* Logs one line, of any length, without its line break. */
void agent_log(enum agent_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
