/*
 * Writes a thread's log of tag changes; struct stalltag_log in stalltag.h says what readers find.
 *
 * The log's own thread calls these. A signal handler that interrupts a change finds the log busy, and reports its
 * own changes by the probe alone; entries written after that may have earlier times than what the probe reported.
 */
#ifndef STALLTAG_CHANGE_LOG_H
#define STALLTAG_CHANGE_LOG_H

#include "stalltag/stalltag.h"

#pragma GCC visibility push(hidden)

/* The tag has changed to `current` (NULL: none). */
void change_log_note(struct stalltag_log *log, const struct stalltag_record *current);

/* Call it before the log's memory is freed, when the thread has no tag any more. */
void change_log_close(struct stalltag_log *log);

/* Called in the child of a fork(), whose log no reader knows yet. This and the next are defined in stalltag.c. */
void change_log_forked(void);
/* Fires the probe stalltag:log, if somebody listens. */
void change_log_fire(const struct stalltag_record *current, const struct stalltag_log *log);

#pragma GCC visibility pop

#endif
