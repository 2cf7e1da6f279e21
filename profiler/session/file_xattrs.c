/* Has it looked at whether files have an xattr, by the paths at which their processes see them. */

#include "profiler/session/file_xattrs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/stamp.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/asker_process.h"
#include "profiler/session/file_names.h"
#include "profiler/tracer/tracer.h"

#define ASKS_A_TICK 100 /* of ten a second: some 30 us each */

_Static_assert(sizeof(struct abi_file_named) <= ASKER_PROCESS_CONTEXT_MAX, "events come back with answers");

struct file_xattrs {
	const char *name;
	struct tracer *tracer;
	struct mounted_paths *paths;
	struct asker_process *asker;
	uint32_t source;
	uint64_t unread, refused;
	uint64_t waiting; /* questions that were not answered yet */
};

struct file_xattrs *file_xattrs_new(const char *name, uint32_t source, struct tracer *tracer,
                                    struct mounted_paths *paths, struct asker_process *asker)
{
	struct file_xattrs *xattrs = calloc(1, sizeof(*xattrs));

	if (xattrs)
		*xattrs = (struct file_xattrs){
			.name = name, .source = source, .tracer = tracer, .paths = paths, .asker = asker
		};
	return xattrs;
}

void file_xattrs_free(struct file_xattrs *xattrs)
{
	free(xattrs);
}

static bool nobody_looks(const struct file_xattrs *xattrs)
{
	return !xattrs->asker || asker_process_has_ended(xattrs->asker);
}

void file_xattrs_tick(struct file_xattrs *xattrs)
{
	if (xattrs && !nobody_looks(xattrs))
		tracer_allow_xattrs(xattrs->tracer, ASKS_A_TICK);
}

static void refuse(struct file_xattrs *xattrs, uint64_t inode)
{
	xattrs->refused++;
	tracer_ask_xattr_again(xattrs->tracer, inode);
}

/* 0; -ENOENT: where the file is seen is not known; another -errno: nobody can look now. */
static int ask(const struct file_xattrs *xattrs, const struct abi_file_event *event)
{
	char place[PATH_MAX], path[PATH_MAX], seen[ASKER_PROCESS_PATH_MAX];
	struct file_question question = {
		.kind = FILE_HAS_XATTR,
		.file = { .number = event->number, .dev = event->dev, .generation = event->generation },
		.paths = { seen, path },
		.xattr = xattrs->name,
		.context = event,
		.context_size = sizeof(*event) + event->names_len
	};

	if (file_names_place(event, place, sizeof(place)) ||
	    mounted_paths_of(xattrs->paths, event->tgid, event->dev, place, path, sizeof(path)))
		return -ENOENT;
	if (!xattrs->asker)
		return -EPIPE;
	snprintf(seen, sizeof(seen), "/proc/%u/root%s", event->tgid, path);
	return asker_process_ask(xattrs->asker, &question);
}

void file_xattrs_asked(struct file_xattrs *xattrs, const struct abi_file_event *event)
{
	int err = xattrs ? ask(xattrs, event) : 0;

	if (err == -ENOENT)
		xattrs->unread++;
	else if (err)
		refuse(xattrs, event->inode);
	else if (xattrs)
		xattrs->waiting++;
}

/* False: it is no answer to a question of ours. */
static bool read_context(const struct file_answer *answer, struct abi_file_named *named)
{
	if (answer->context_size < sizeof(named->event) || answer->context_size > sizeof(*named))
		return false;
	memcpy(named, answer->context, answer->context_size);
	return named->event.names_len <= answer->context_size - sizeof(named->event);
}

bool file_xattrs_answered(struct file_xattrs *xattrs, const struct file_answer *answer,
                          struct abi_file_named *opened)
{
	struct abi_file_event *event = &opened->event;
	struct abi_tagged_file tagged = { .folder = ABI_XATTR_FOLDER };

	if (!xattrs || !read_context(answer, opened))
		return false;
	xattrs->waiting -= xattrs->waiting > 0;
	if (answer->refused)
		refuse(xattrs, event->inode);
	else if (answer->result != FILE_SUM_TAKEN)
		xattrs->unread++;
	if (!answer->has_xattr)
		return false;
	tagged.number = event->number;
	tagged.generation = event->generation;
	event->kind = ABI_FILE_OPENED;
	event->source = xattrs->source;
	return !tracer_tag_file(xattrs->tracer, event->inode, &tagged) && event->flags & ABI_FILE_WRITABLE;
}

int file_xattrs_describe(struct file_xattrs *xattrs, struct stamp *stamp)
{
	int err;

	if (!xattrs)
		return 0;
	if (nobody_looks(xattrs)) {
		xattrs->refused += xattrs->waiting;
		xattrs->waiting = 0;
	}
	err = stamp_add_counter(stamp, "file_xattrs_unread", xattrs->unread);
	if (!err)
		err = stamp_add_counter(stamp, "file_xattrs_refused", xattrs->refused);
	xattrs->unread = xattrs->refused = 0;
	return err;
}
