/*
 * The trace that a process's tags belong to: that of the environment's TRACEPARENT (W3C Trace Context) if it
 * is valid, else a random one. The same for all threads and for forked children.
 */
#ifndef STALLTAG_TRACE_ID_H
#define STALLTAG_TRACE_ID_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Call it undisturbed (undisturbed.h). The id is never all zero. */
void trace_id_of_process(uint8_t id[16], uint8_t *flags);

/* Strict: lower-case digits, no version ff, no trace or parent of zero, nothing after version 00's fields. */
bool trace_id_parse(const char *traceparent, uint8_t id[16], uint8_t *flags);

#pragma GCC visibility pop

#endif
