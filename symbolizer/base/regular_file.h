/*
 * Opening files that a profiled program may have put there, or named: it must not make a privileged reader
 * wait on a FIFO, start a device, read without an end, or die of SIGBUS.
 */
#ifndef SYMBOLIZER_REGULAR_FILE_H
#define SYMBOLIZER_REGULAR_FILE_H

#include <stdbool.h>

/*
 * Opens a regular file for reading. What is no regular file is never opened, only looked at. `flags`: 0, or
 * O_NOFOLLOW to refuse a symbolic link as the last component. Returns the descriptor, the caller's to close;
 * -EBADMSG: not a regular file; -errno of opening (-EAGAIN: somebody holds a lease on it). Needs /proc.
 */
int regular_file_open(const char *path, int flags);

/*
 * The same where `path` (absolute or not) is what a process of another root folder means by it: symbolic links and
 * ".." lead nowhere but below `root`, a folder's path such as PROC/PID/root, and no link of /proc is followed. ""
 * is our own root, with nothing to keep a path in. Needs openat2() of Linux 5.6.
 */
int regular_file_open_in(const char *root, const char *path, int flags);

/* Belongs to root or to us, and nobody else may write to it: it may be mapped. */
bool regular_file_is_safe(int fd);

/*
 * The same for the file opened from `path` below `dir`, links followed. A name alone says nothing: it may
 * lead out by a link or by "..", and the root folder of a container may be its own.
 */
bool regular_file_is_safe_in(int fd, const char *path, const char *dir);

/* Has the path ".." as a component? */
bool path_has_dotdot(const char *path);

#endif
