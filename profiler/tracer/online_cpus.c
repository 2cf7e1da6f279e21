/* Finds CPUs that went offline or came online, by sysfs. */

#include "profiler/tracer/online_cpus.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER     "/sys/devices/system/cpu"
#define TEXT_BYTES 4096 /* an attribute of sysfs has no more */
#define CPUS_MAX   65536
#define NO_FOLDER  1 /* no file has this inode in sysfs but its root */

struct online_cpus {
	int folder_fd, online_fd;
	size_t n; /* CPUs that are possible */
	uint64_t *inode,
	        *found; /* of each CPU's folder; 0: it is offline. The second is of the look in progress */
};

/* Of the list of CPUs, "0-3,6\n". */
static const char *take_range(const char *text, unsigned long *first, unsigned long *last)
{
	char *end;

	*first = *last = strtoul(text, &end, 10);
	if (end == text)
		return NULL;
	if (*end == '-')
		*last = strtoul(end + 1, &end, 10);
	return *end == ',' ? end + 1 : end;
}

static uint64_t inode_of(const struct online_cpus *cpus, size_t cpu)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "cpu%zu/topology", cpu);
	return fstatat(cpus->folder_fd, path, &st, 0) ? NO_FOLDER : st.st_ino;
}

static bool read_text(int fd, char text[TEXT_BYTES])
{
	ssize_t n = pread(fd, text, TEXT_BYTES - 1, 0);

	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* The highest number of a CPU that is possible, and one more. */
static size_t count_possible(int folder_fd)
{
	int fd = openat(folder_fd, "possible", O_RDONLY | O_CLOEXEC);
	char text[TEXT_BYTES];
	const char *at = text;
	unsigned long first, last = 0;

	if (fd < 0)
		return 0;
	read_text(fd, text);
	close(fd);
	while ((at = take_range(at, &first, &last)) && *at >= '0')
		;
	return last < CPUS_MAX ? last + 1 : 0;
}

/* Whether the kernel says which are online. */
static bool find(struct online_cpus *cpus)
{
	char text[TEXT_BYTES];
	const char *at = text;
	unsigned long first, last;

	if (!read_text(cpus->online_fd, text))
		return false;
	memset(cpus->found, 0, cpus->n * sizeof(*cpus->found));
	while ((at = take_range(at, &first, &last)))
		for (unsigned long cpu = first; cpu <= last && cpu < cpus->n; cpu++)
			cpus->found[cpu] = inode_of(cpus, cpu);
	return true;
}

struct online_cpus *online_cpus_new(const char *folder)
{
	struct online_cpus *cpus = calloc(1, sizeof(*cpus));

	if (!cpus)
		return NULL;
	cpus->folder_fd = open(folder ? folder : FOLDER, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cpus->n = count_possible(cpus->folder_fd);
	cpus->online_fd = openat(cpus->folder_fd, "online", O_RDONLY | O_CLOEXEC);
	cpus->inode = calloc(cpus->n, sizeof(*cpus->inode));
	cpus->found = calloc(cpus->n, sizeof(*cpus->found));
	if (cpus->n && cpus->inode && cpus->found && find(cpus)) {
		memcpy(cpus->inode, cpus->found, cpus->n * sizeof(*cpus->inode));
		return cpus;
	}
	online_cpus_free(cpus);
	return NULL;
}

void online_cpus_free(struct online_cpus *cpus)
{
	if (!cpus)
		return;
	if (cpus->folder_fd >= 0)
		close(cpus->folder_fd);
	if (cpus->online_fd >= 0)
		close(cpus->online_fd);
	free(cpus->inode);
	free(cpus->found);
	free(cpus);
}

void online_cpus_look(struct online_cpus *cpus, online_cpus_fn changed, void *ctx)
{
	if (!cpus || !find(cpus))
		return;
	for (size_t cpu = 0; cpu < cpus->n; cpu++) {
		bool differs = cpus->inode[cpu] != cpus->found[cpu];

		cpus->inode[cpu] = cpus->found[cpu];
		if (differs)
			changed(ctx, (unsigned int)cpu, cpus->inode[cpu] != 0);
	}
}
