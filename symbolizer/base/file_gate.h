/*
 * Asked before a file of somebody else's is opened or read, as its file system may not answer: an NFS mount without its
 * server, a FUSE mount whose daemon is stuck. Who reads one of these waits for as long as that lasts, and cannot be ended.
 *
 *	file_gate_set(&gate);		for this thread, until file_gate_set(NULL); the gate outlives that
 *	if (!file_gate_path(root, path))
 *		return -EAGAIN;		before a path is followed
 *	if (!file_gate_fd(fd, dev))
 *		return -EAGAIN;		before an open file is read
 *
 * Without a gate nobody is asked, and all is read. Nor is anybody asked about the file systems of block devices.
 */
#ifndef SYMBOLIZER_FILE_GATE_H
#define SYMBOLIZER_FILE_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct file_gate {
	/* Does the file system with that number (as stat() tells it) answer now? `path` leads there, for any process of ours,
	 * which may wait. */
	bool (*answers)(void *ctx, uint64_t dev, const char *path);
	void *ctx;
};

void file_gate_set(const struct file_gate *gate);

/* `root`: PROC/PID/root, or "": our own. A path of /proc leads to a file that somebody has open or mapped, or below PROC/PID/root. */
bool file_gate_path(const char *root, const char *path);
bool file_gate_fd(int fd, uint64_t dev);

/*
 * Closes a file that is open to be read, or leaves it open until the next call by this thread that finds its file system answering: to
 * close one of FUSE or NFS is a question to the daemon or server. One that never answers is left for the end of the process, which
 * cannot end before, but has done all else.
 */
void file_gate_close(int fd);

/* How often this thread was told that none answers: has grown when something is missing that may be there later. */
uint64_t file_gate_refusals(void);

#endif
