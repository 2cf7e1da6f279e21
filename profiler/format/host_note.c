/* The note that says on which host a profile was recorded. */

#include "profiler/format/host_note.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/format/note_line.h"

#define RECORD    "stallprof.host"
#define NAME_SIZE 256

int host_note_add(struct profile *profile, const char *name)
{
	char own[NAME_SIZE] = "";
	struct note_writer writer;
	char *line;
	int err;

	if (!name && gethostname(own, sizeof(own) - 1))
		snprintf(own, sizeof(own), "unknown");
	err = note_writer_begin(&writer, RECORD);
	if (err)
		return err;
	note_writer_text(&writer, "name", name ? name : own);
	line = note_writer_end(&writer);
	err = line ? profile_add_note(profile, line) : -errno;
	free(line);
	return err;
}

void host_note_read(const struct profile *profile, char *name, size_t size)
{
	struct note_fields fields;

	snprintf(name, size, "%s", "");
	for (size_t i = 0; i < profile_n_notes(profile) && !*name; i++) {
		const char *found;

		if (note_fields_parse(&fields, profile_note(profile, i), RECORD))
			continue;
		found = note_fields_text(&fields, "name");
		snprintf(name, size, "%s", found ? found : "");
		note_fields_free(&fields);
	}
}
