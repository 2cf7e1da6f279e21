/*
 * The writer's side of a thread's log of changes; struct stalltag_log in stalltag.h says what readers find.
 *
 * All on the thread itself. A signal handler that interrupts it finds it busy, and then tells its changes by the
 * probe alone; the times that are written after it may lie before what the probe has told.
 */
#ifndef STALLTAG_CHANGE_LOG_H
#define STALLTAG_CHANGE_LOG_H

#include "stalltag/stalltag.h"

#pragma GCC visibility push(hidden)

/* The tag has changed to `current` (NULL: none). */
void change_log_note(struct stalltag_log *log, const struct stalltag_record *current);

/* The log's memory goes; the thread has no tag any more. */
void change_log_close(struct stalltag_log *log);

/* In the child of a fork(): its readers do not know of it yet. stalltag.c has this and the next. */
void change_log_forked(void);
/* The probe stalltag:log, if somebody listens. */
void change_log_fire(const struct stalltag_record *current, const struct stalltag_log *log);

#pragma GCC visibility pop

#endif
