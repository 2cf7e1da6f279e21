/* Reads a thread's stack with process_vm_readv(). */

#include "profiler/session/remote_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "profiler/process/remote_pages.h"

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

static ssize_t read_pages(uint32_t pid, uint64_t at, void *buffer, size_t size)
{
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote[64];
	uint64_t end = at + size;
	unsigned int n = 0;
	ssize_t copied;

	/* One piece per page, so that at the end of the mapping only what lies behind it is lost. */
	while (at < end && n < 64) {
		uint64_t next = (at / PAGE_BYTES + 1) * PAGE_BYTES;

		if (next > end)
			next = end;
		remote[n++] = (struct iovec){ .iov_base = (void *)at, .iov_len = next - at };
		at = next;
	}
	if (!n)
		return -EFAULT;
	copied = process_vm_readv((pid_t)pid, &local, 1, remote, n, 0);
	return copied < 0 ? -errno : copied;
}

ssize_t remote_stack_pages(uint32_t pid, uint64_t at, void *buffer, size_t size)
{
	const struct remote_pages memory = { .pid = (pid_t)pid, .fd = -1 };
	size_t there = remote_pages_there((pid_t)pid, at, size);

	if (there < size)
		there += remote_pages_readable(&memory, at + there, size - there);
	return read_pages(pid, at, buffer, there);
}

ssize_t remote_stack_read(uint32_t pid, uint32_t tid, uint64_t switches, uint64_t sp, void *buffer,
                          size_t size)
{
	ssize_t copied = read_pages(pid, sp, buffer, remote_pages_there((pid_t)pid, sp, size));
	uint64_t now = 0;
	int err;

	if (copied < 0)
		return copied;
	err = count_sleeps(pid, tid, &now);
	if (err)
		return err;
	return now == switches ? copied : -EAGAIN;
}
