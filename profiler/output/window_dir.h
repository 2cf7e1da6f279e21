/*
 * A folder of windows: files stallprof-TIME.pb.gz, TIME in milliseconds of Unix time, or
 * stallprof-TIME-N.pb.gz where that one was there already (of another host, if the folder is shared).
 * Nothing else in the folder is ever touched. Windows of a time to come, which a clock that was set back has left, are the
 * oldest.
 */
#ifndef STALLPROF_PROFILER_WINDOW_FOLDER_H
#define STALLPROF_PROFILER_WINDOW_FOLDER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct window_dir;

/* `max_bytes`: of all windows; 0: no limit, and none is ever removed. NULL: no memory. */
struct window_dir *window_dir_new(const char *path, uint64_t max_bytes);
/* Takes NULL. */
void window_dir_free(struct window_dir *dir);

struct window_dir_file {
	char path[PATH_MAX + 64];
	size_t made_room;         /* so many older windows were removed, as the disk was full */
	char err[PATH_MAX + 256]; /* one line: why it was not written */
};

/*
 * Writes a window that began at `time_unix_ns` into a file of its own (pprof_file.h). Then, whether that has failed or not, the
 * oldest are removed if all take more than max_bytes, until they take a sixteenth less; what was just written stays. For that the
 * folder is listed the first time, when what lay there and what was written since exceed max_bytes, and once in WINDOW_DIR_LIST_NS, as others may write
 * there, too. A folder that was removed is made again, but not the one above it.
 *
 * If the disk is full, or a quota used up, as many of the oldest go at once as take the place that it needs, and it is written
 * once more: a window of now tells more than one of long ago. But the newest WINDOW_DIR_LEAST stay (ten minutes of them, unless
 * windows have another length), since what fills the disk is something else then; and when others have taken the room that
 * was made, nothing more is removed until a window could be written again.
 *
 * 0 or -errno. -ENAMETOOLONG; -EEXIST: there are too many of that time.
 */
#define WINDOW_DIR_LEAST   60
#define WINDOW_DIR_LIST_NS (600 * 1000000000ULL)
int window_dir_write(struct window_dir *dir, int64_t time_unix_ns, const void *bytes, size_t len,
                     struct window_dir_file *out);

/*
 * Removes what a profiler left that was killed while it wrote: pprof_file_write's temporary files of windows
 * (….pb.gz.PID-N.tmp) whose process no longer exists. On file systems that hosts may share they stay, as the
 * process may be alive on another host. A file that can't be removed takes room and does no harm.
 */
void window_dir_clean(const char *dir);

#endif
