/* The note that says on which host a profile was recorded. */

#include "profiler/format/host_note.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "profiler/format/note_rows.h"

#define RECORD    "stallprof.host"
#define NAME_SIZE 256

int host_note_add(struct profile *profile, const char *name)
{
	char own[NAME_SIZE] = "";
	struct note_writer writer;
	int err;

	if (!name && gethostname(own, sizeof(own) - 1))
		snprintf(own, sizeof(own), "unknown");
	err = note_writer_begin(&writer, RECORD);
	if (err)
		return err;
	note_writer_text(&writer, "name", name ? name : own);
	return note_rows_add(profile, &writer);
}

struct name {
	char *text;
	size_t size;
};

static int take_name(void *ctx, const struct note_fields *fields)
{
	const char *found = note_fields_text(fields, "name");
	struct name *name = ctx;

	if (!found)
		return -EINVAL;
	if (!*name->text)
		snprintf(name->text, name->size, "%s", found);
	return 0;
}

void host_note_read(const struct profile *profile, char *text, size_t size)
{
	struct name name = { text, size };

	*text = 0;
	note_rows_read(profile, RECORD, take_name, &name, NULL);
}
