/*
 * What `record` shows while it runs: seconds, stalled time by cause, samples, losses. One line on standard error
 * that is rewritten in place; nothing when that is not a terminal. Not used when recording a command, whose own
 * output would mix with it.
 */
#ifndef STALLPROF_PROFILER_LIVE_LINE_H
#define STALLPROF_PROFILER_LIVE_LINE_H

#include <stdint.h>

struct session_progress;

void live_line_show(double seconds, const struct session_progress *progress);
/* Clears it, so that what follows begins on a clean line. */
void live_line_clear(void);

#endif
