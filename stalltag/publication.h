/*
 * Decides what this process publishes to OpenTelemetry readers: all, or nothing because another library does.
 * Decided once, at the first push, and taken back when another publisher turns up. See stalltag.h.
 */
#ifndef STALLTAG_PUBLICATION_H
#define STALLTAG_PUBLICATION_H

#include "stalltag/stalltag.h"

#pragma GCC visibility push(hidden)

/*
 * Called for each new thread, undisturbed (undisturbed.h). Returns the public slot of the calling thread, or NULL when it
 * is not ours to write or this program has none.
 */
stalltag_slot *publication_join(void);

/* As stalltag_public_state(). */
int publication_state(void);

/* Sets the flag that the public slot must be left to another library. It is never cleared, and is read together
 * with the semaphore. */
void publication_withdrawn_mark(void);

/* Defined with the public slot itself; NULL in a program linked without it. */
stalltag_slot *stalltag_public_slot(void) __attribute__((weak));

#pragma GCC visibility pop

#endif
