/*
 * On which host a profile was recorded, as a note in the form of note_line.h:
 *
 *     stallprof.host name=node17
 */
#ifndef STALLPROF_PROFILER_HOST_NOTE_H
#define STALLPROF_PROFILER_HOST_NOTE_H

#include <stddef.h>

struct profile;

/* NULL: this host's own name. 0, -ENOMEM, or what profile_add_note says. */
int host_note_add(struct profile *profile, const char *name);

/* Writes to text the name that the first such note has, cut to `size`; "" if there is none, or on want of memory. */
void host_note_read(const struct profile *profile, char *text, size_t size);

#endif
