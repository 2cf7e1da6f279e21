/*
 * A folder of windows: files stallprof-TIME.pb.gz, TIME in milliseconds of Unix time, or
 * stallprof-TIME-N.pb.gz where that one was there already (of another host, if the folder is shared).
 * Nothing else in the folder is ever touched.
 */
#ifndef STALLPROF_PROFILER_WINDOW_FOLDER_H
#define STALLPROF_PROFILER_WINDOW_FOLDER_H

#include <stddef.h>
#include <stdint.h>

/* Makes a path for the window that began at `time_unix_ns`, where no file exists yet. 0, -ENAMETOOLONG; -EEXIST: there are too many of
 * that time; any other -errno: the folder cannot be looked into (that it is missing is not seen here). */
int window_dir_path(const char *dir, int64_t time_unix_ns, char *path, size_t size);

/* Removes the oldest windows until all of them take at most `max_bytes` (0: no limit). The one at the path `written`, which was just
 * written, stays. Those of a time to come, which a clock that was set back has left, are the oldest. */
void window_dir_trim(const char *dir, uint64_t max_bytes, const char *written);

/*
 * Removes what a profiler left that was killed while it wrote: pprof_file_write's temporary files of windows
 * (….pb.gz.PID-N.tmp) whose process no longer exists. On file systems that hosts may share they stay, as the
 * process may be alive on another host. A file that can't be removed takes room and does no harm.
 */
void window_dir_clean(const char *dir);

#endif
