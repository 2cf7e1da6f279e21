/* Reads the stack of a sleeping thread with process_vm_readv(). */

#include "profiler/session/remote_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE_BYTES 4096

/* How often a thread has slept, with the sleep that it is in. -EAGAIN: it runs, or is about to. */
static int count_sleeps(uint32_t pid, uint32_t tid, uint64_t *sleeps)
{
	static const char key[] = "voluntary_ctxt_switches:";
	char path[64], line[256], state = 0;
	int err = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "State: %c", &state) == 1 && state == 'R')
			err = -EAGAIN;
		if (err == -EAGAIN)
			break;
		if (strncmp(line, key, sizeof(key) - 1))
			continue;
		*sleeps = strtoull(line + sizeof(key) - 1, NULL, 10);
		err = 0;
		break;
	}
	fclose(file);
	return err;
}

ssize_t remote_stack_read(uint32_t pid, uint32_t tid, uint64_t switches, uint64_t sp, void *buffer,
                          size_t size)
{
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote[64];
	uint64_t at = sp, now = 0;
	unsigned int n = 0;
	ssize_t copied;
	int err;

	/* One piece per page, so that at the end of the mapping only what lies behind it is lost. */
	while (at < sp + size && n < 64) {
		uint64_t end = (at / PAGE_BYTES + 1) * PAGE_BYTES;

		if (end > sp + size)
			end = sp + size;
		remote[n++] = (struct iovec){ .iov_base = (void *)at, .iov_len = end - at };
		at = end;
	}
	copied = process_vm_readv(pid, &local, 1, remote, n, 0);
	if (copied < 0)
		return -errno;
	err = count_sleeps(pid, tid, &now);
	if (err)
		return err;
	return now == switches ? copied : -EAGAIN;
}
