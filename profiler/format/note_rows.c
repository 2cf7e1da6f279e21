/* Adds lines to a profile's notes, and reads those of one record. */

#include "profiler/format/note_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "pprof/profile.h"

int note_rows_add(struct profile *profile, struct note_writer *writer)
{
	char *line = note_writer_end(writer);
	int err = line ? profile_add_note(profile, line) : -errno;

	free(line);
	return err;
}

static int take_line(const char *line, const char *record, note_row_fn take, void *ctx)
{
	struct note_fields fields;
	int err = note_fields_parse(&fields, line, record);

	if (err)
		return err;
	err = take(ctx, &fields);
	note_fields_free(&fields);
	return err;
}

int note_rows_read(const struct profile *profile, const char *record, note_row_fn take, void *ctx,
                   size_t *malformed)
{
	for (size_t i = 0; i < profile_n_notes(profile); i++) {
		int err = take_line(profile_note(profile, i), record, take, ctx);

		if (err == -EINVAL && malformed)
			(*malformed)++;
		if (err && err != -EINVAL && err != -ENOMSG)
			return err;
	}
	return 0;
}
