/* Looks whether a file has an xattr, by the path at which its process sees it. */

#include "profiler/session/file_xattrs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "profiler/format/stamp.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/file_names.h"
#include "profiler/tracer/tracer.h"

#define ASKS_A_TICK 100 /* of ten a second: some 30 us each */

struct file_xattrs {
	const char *name;
	struct tracer *tracer;
	struct mounted_paths *paths;
	uint32_t source;
	uint64_t unread;
};

struct file_xattrs *file_xattrs_new(const char *name, uint32_t source, struct tracer *tracer,
                                    struct mounted_paths *paths)
{
	struct file_xattrs *xattrs = calloc(1, sizeof(*xattrs));

	if (xattrs)
		*xattrs = (struct file_xattrs){
			.name = name, .source = source, .tracer = tracer, .paths = paths
		};
	return xattrs;
}

void file_xattrs_free(struct file_xattrs *xattrs)
{
	free(xattrs);
}

void file_xattrs_tick(struct file_xattrs *xattrs)
{
	if (xattrs)
		tracer_allow_xattrs(xattrs->tracer, ASKS_A_TICK);
}

enum answer { NO, YES, ANOTHER_FILE };

/* By its number: another may have got the name meanwhile. Some file systems (overlayfs) tell another number than they have inside; of what
 * has no xattr that need not be known. */
static enum answer look(const struct file_xattrs *xattrs, const char *path, uint64_t number)
{
	bool has = lgetxattr(path, xattrs->name, NULL, 0) >= 0;
	struct stat info;

	if (lstat(path, &info) || (has && info.st_ino != number))
		return ANOTHER_FILE;
	return has ? YES : NO;
}

static enum answer ask(const struct file_xattrs *xattrs, const struct abi_file_event *event)
{
	char place[PATH_MAX], path[PATH_MAX], seen[PATH_MAX + 32];
	enum answer answer;

	if (file_names_place(event, place, sizeof(place)) ||
	    mounted_paths_of(xattrs->paths, event->tgid, event->dev, place, path, sizeof(path)))
		return ANOTHER_FILE;
	snprintf(seen, sizeof(seen), "/proc/%u/root%s", event->tgid, path);
	answer = look(xattrs, seen, event->number);
	return answer == ANOTHER_FILE ? look(xattrs, path, event->number) : answer;
}

bool file_xattrs_asked(struct file_xattrs *xattrs, const struct abi_file_event *event)
{
	struct abi_tagged_file tagged = { .number = event->number,
		                          .generation = event->generation,
		                          .folder = ABI_XATTR_FOLDER };
	enum answer answer = xattrs ? ask(xattrs, event) : NO;

	if (answer == ANOTHER_FILE)
		xattrs->unread++;
	return answer == YES && !tracer_tag_file(xattrs->tracer, event->inode, &tagged);
}

uint32_t file_xattrs_source(const struct file_xattrs *xattrs)
{
	return xattrs->source;
}

int file_xattrs_describe(struct file_xattrs *xattrs, struct stamp *stamp)
{
	int err = xattrs ? stamp_add_counter(stamp, "file_xattrs_unread", xattrs->unread) : 0;

	if (xattrs)
		xattrs->unread = 0;
	return err;
}
