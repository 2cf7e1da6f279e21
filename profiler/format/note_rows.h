/* Records of a profile's notes, each in the form of note_line.h, written and read as a whole. */
#ifndef STALLPROF_PROFILER_NOTE_ROWS_H
#define STALLPROF_PROFILER_NOTE_ROWS_H

#include <stddef.h>

#include "profiler/format/note_line.h"

struct profile;

/* Ends the line and adds it to the profile's notes. 0, -ENOMEM, -EMSGSIZE, or what profile_add_note() says. */
int note_rows_add(struct profile *profile, struct note_writer *writer);

/* One line of the record. 0; -EINVAL: malformed; any other error ends the reading. Texts live until it returns. */
typedef int (*note_row_fn)(void *ctx, const struct note_fields *fields);

/*
 * Gives `take` each note of the record. Malformed lines are skipped and counted in *malformed (added to it; may be
 * NULL). 0, -ENOMEM, or what `take` said.
 */
int note_rows_read(const struct profile *profile, const char *record, note_row_fn take, void *ctx,
                   size_t *malformed);

#endif
