/* The perf map of a process: where it lies, and when to read it again. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/regular_file.h"
#include "symbolizer/symbolizer_state.h"

#define CHECK_NS 1000000000ll

/* The process's id in its own PID namespace, which is the one in the file's name. */
static uint32_t inner_pid(const struct sym_process *p)
{
	char path[PATH_MAX], line[256];
	uint32_t pid = p->key.pid;
	char *last;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u/status", p->owner->proc, pid);
	file = fopen(path, "re");
	if (!file)
		return pid;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		last = strrchr(line, '\t');
		if (last)
			pid = (uint32_t)strtoul(last + 1, NULL, 10);
		break;
	}
	fclose(file);
	return pid;
}

static int open_perf_map(const struct sym_process *p)
{
	char path[PATH_MAX];

	if (p->exited)
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", p->key.pid);
	else
		snprintf(path, sizeof(path), "%s/%u/root/tmp/perf-%u.map", p->owner->proc, p->key.pid,
		         inner_pid(p));
	return regular_file_open(path, O_NOFOLLOW);
}

/* Reads the file again when it has changed. */
static void refresh(struct sym_process *p)
{
	struct perf_map *fresh;
	int64_t changed_ns;
	struct stat st;
	int fd = open_perf_map(p);

	if (fd < 0)
		return;
	if (fstat(fd, &st))
		goto out;
	changed_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	if ((uint64_t)st.st_size == p->perf_map_size && changed_ns == p->perf_map_changed_ns)
		goto out;
	p->perf_map_size = (uint64_t)st.st_size;
	p->perf_map_changed_ns = changed_ns;
	if (!perf_map_read(fd, &fresh)) {
		perf_map_free(p->perf_map);
		p->perf_map = fresh;
	}
out:
	close(fd);
}

const char *process_jit_name(struct sym_process *p, uint64_t pc)
{
	const char *name = p->perf_map ? perf_map_find(p->perf_map, pc) : NULL;
	struct timespec ts;
	int64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ll + ts.tv_nsec;
	if (!p->perf_map_checked_ns || now - p->perf_map_checked_ns >= CHECK_NS) {
		p->perf_map_checked_ns = now;
		refresh(p);
		name = p->perf_map ? perf_map_find(p->perf_map, pc) : NULL;
	}
	return name;
}
