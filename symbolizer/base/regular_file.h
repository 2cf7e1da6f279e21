/*
 * Opening files that a profiled program may have put there, or named: it must not make a privileged reader
 * wait on a FIFO, start a device, read without an end, or die of SIGBUS.
 */
#ifndef SYMBOLIZER_REGULAR_FILE_H
#define SYMBOLIZER_REGULAR_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Opens a regular file for reading. Anything else is looked at (O_PATH), but never opened. `flags`: 0, or
 * O_NOFOLLOW to refuse a symbolic link as the last component. Returns the descriptor, the caller's to close;
 * -EBADMSG: not a regular file; -errno of opening (-EAGAIN: somebody holds a lease on it, or its
 * file system does not answer: file_gate.h). Needs /proc.
 */
int regular_file_open(const char *path, int flags);

/*
 * The same for a path (absolute or not) as a process with another root folder sees it: symbolic links and ".." stay
 * below `root`, a folder such as PROC/PID/root, and no link of /proc is followed. "" is our own root, where paths may
 * lead anywhere. Needs openat2() of Linux 5.6.
 */
int regular_file_open_in(const char *root, const char *path, int flags);

/* The same; *st becomes what fstat() said of it. */
int regular_file_open_stat(const char *root, const char *path, int flags, struct stat *st);

/* Does the file belong to root or to us, and may nobody else write to it? Such a file may be mapped, if it keeps its pages. */
bool regular_file_is_safe(int fd);

/*
 * The same for the file opened from `path` below `dir`, links followed. The path alone is no proof that the file is
 * below `dir`: it may lead out by a link or by "..", and a container may have a root folder of its own.
 */
bool regular_file_is_safe_in(int fd, const char *path, const char *dir);

/*
 * Is the file in memory, or on a block device? Of another one, pages may be gone (SIGBUS to whoever has it mapped) or wait for
 * a server without an end. What is not known to keep them does not; an overlay, whose parts may be anywhere, only where our own
 * program is on it, whose pages are no better. Other questions, with lists of their own: whether only this host writes there
 * (profiler/output/window_dir.c), whether the kernel answers without anybody else (profiler/session/silent_mounts.c).
 */
bool regular_file_keeps_pages(int fd);

/* Has the path ".." as a component? */
bool path_has_dotdot(const char *path);

#endif
