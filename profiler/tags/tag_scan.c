/* Lists the processes in /proc, and reads STALLPROF_TAG from their environments. */

#include "profiler/tags/tag_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stalltag/process_tag.h"

#define PREFIX      STALLTAG_PROCESS_ENV "="
#define CHUNK_BYTES 16384
#define VALUE_MAX   (sizeof(PREFIX) + 32 + STALLTAG_NAME_MAX) /* of an entry that can be a tag */

/* The entry being read: its first bytes, and whether more came. */
struct entry {
	char text[VALUE_MAX + 1];
	size_t len;
	bool too_long;
};

enum entry_kind { ENTRY_OTHER = 0, ENTRY_TAG = 1, ENTRY_MALFORMED_TAG = 2 };

static void add_bytes(struct entry *entry, const char *bytes, size_t n)
{
	size_t room = VALUE_MAX - entry->len;

	entry->too_long = entry->too_long || n > room;
	if (n > room)
		n = room;
	memcpy(entry->text + entry->len, bytes, n);
	entry->len += n;
}

static enum entry_kind end_entry(struct entry *entry, uint64_t *id, char *name, size_t size)
{
	size_t prefix = strlen(PREFIX);
	bool ours;

	entry->text[entry->len] = 0;
	ours = entry->len >= prefix && !memcmp(entry->text, PREFIX, prefix);
	entry->len = 0;
	if (!ours)
		return ENTRY_OTHER;
	if (entry->too_long || stalltag_process_parse(entry->text + prefix, id, name, size))
		return ENTRY_MALFORMED_TAG;
	return ENTRY_TAG;
}

/* Ends each entry whose end is in these bytes, until one is the tag. */
static int take_chunk(struct entry *entry, const char *bytes, size_t n, uint64_t *id, char *name, size_t size)
{
	while (n) {
		const char *end = memchr(bytes, 0, n);
		size_t len = end ? (size_t)(end - bytes) : n;
		enum entry_kind found;

		add_bytes(entry, bytes, len);
		if (!end)
			return ENTRY_OTHER;
		found = end_entry(entry, id, name, size);
		if (found)
			return found;
		entry->too_long = false;
		bytes += len + 1;
		n -= len + 1;
	}
	return ENTRY_OTHER;
}

static int read_environment(int fd, uint64_t *id, char *name, size_t size)
{
	struct entry entry = { .len = 0 };
	char chunk[CHUNK_BYTES];
	size_t total = 0;

	while (total < TAG_SCAN_ENVIRONMENT_MAX) {
		ssize_t got = read(fd, chunk, sizeof(chunk));
		enum entry_kind found;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return end_entry(&entry, id, name, size) == ENTRY_TAG;
		found = take_chunk(&entry, chunk, (size_t)got, id, name, size);
		if (found)
			return found == ENTRY_TAG;
		total += (size_t)got;
	}
	return 0;
}

int tag_scan_environment(pid_t pid, uint64_t *id, char *name, size_t size)
{
	char path[64];
	int fd, found;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	found = read_environment(fd, id, name, size);
	close(fd);
	return found;
}

/* Kernel threads and zombies have no program. */
static bool has_memory(pid_t pid)
{
	char path[64], target[2];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return readlink(path, target, sizeof(target)) > 0;
}

int tag_scan_process(pid_t pid, const struct tag_scan_handler *handler, void *ctx)
{
	char name[STALLTAG_NAME_MAX + 1];
	uint64_t id;
	int found;

	if (!has_memory(pid))
		return errno == ENOENT ? -ESRCH : -errno;
	found = tag_scan_environment(pid, &id, name, sizeof(name));
	if (found < 0)
		return found;
	if (found && handler->tagged)
		handler->tagged(ctx, pid, id, name);
	if (handler->process)
		handler->process(ctx, pid);
	return 0;
}

/* 0 for what is no pid. */
static pid_t pid_of_name(const char *name)
{
	char *end;
	long pid;

	if (*name < '1' || *name > '9')
		return 0;
	pid = strtol(name, &end, 10);
	return *end || pid > INT32_MAX ? 0 : (pid_t)pid;
}

int tag_scan(void (*process)(void *ctx, pid_t pid), void *ctx)
{
	pid_t own = getpid();
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int err;

	if (!proc)
		return -errno;
	for (errno = 0; (entry = readdir(proc)); errno = 0) {
		pid_t pid = pid_of_name(entry->d_name);

		if (pid && pid != own)
			process(ctx, pid);
	}
	err = -errno;
	closedir(proc);
	return err;
}
