#include "symbolizer/jit_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/jitdump.h"
#include "symbolizer/perf_map.h"
#include "symbolizer/regular_file.h"
#include "symbolizer/symbolizer_state.h"

#define CHECK_NS 1000000000ll

/* Its effective user as we see it, and its id in its own PID namespace. */
static void learn_user(struct sym_process *p)
{
	char path[PATH_MAX], line[256], *last;
	unsigned int user;
	FILE *file;

	if (!p->jit.knows_user)
		p->jit.inner_pid = p->key.pid;
	snprintf(path, sizeof(path), "%s/%u/status", p->owner->proc, p->key.pid);
	file = p->exited ? NULL : fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		last = strrchr(line, '\t');
		if (sscanf(line, "Uid: %*u %u", &user) == 1) {
			p->jit.user = user;
			p->jit.knows_user = true;
		} else if (last && strncmp(line, "NSpid:", 6) == 0) {
			p->jit.inner_pid = (uint32_t)strtoul(last + 1, NULL, 10);
		}
	}
	fclose(file);
}

/* Takes what opening said. */
static int only_its_own(const struct sym_process *p, int fd, struct stat *st)
{
	if (fd < 0)
		return -1;
	if (!fstat(fd, st) && (!st->st_uid || (p->jit.knows_user && st->st_uid == p->jit.user)))
		return fd;
	close(fd);
	return -1;
}

static int open_perf_map(const struct sym_process *p)
{
	char root[PATH_MAX] = "", path[64];

	if (!p->exited)
		snprintf(root, sizeof(root), "%s/%u/root", p->owner->proc, p->key.pid);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", p->exited ? p->key.pid : p->jit.inner_pid);
	return regular_file_open_in(root, path, O_NOFOLLOW);
}

static void read_perf_map(struct jit_names *j, int fd)
{
	struct perf_map *fresh;

	if (j->perf_map && perf_map_grow(j->perf_map, fd) != -ESTALE)
		return;
	if (!perf_map_read(fd, &fresh)) {
		perf_map_free(j->perf_map);
		j->perf_map = fresh;
	}
}

/* Reads what is new in the file when it has changed. */
static void refresh_perf_map(struct sym_process *p)
{
	struct jit_names *j = &p->jit;
	int64_t changed_ns;
	struct stat st;
	int fd = only_its_own(p, open_perf_map(p), &st);

	if (fd < 0)
		return;
	changed_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	if ((uint64_t)st.st_size != j->perf_map_size || changed_ns != j->perf_map_changed_ns)
		read_perf_map(j, fd);
	j->perf_map_size = (uint64_t)st.st_size;
	j->perf_map_changed_ns = changed_ns;
	close(fd);
}

/* The number in "jit-NUMBER.dump". False: the file has another name. */
static bool is_jitdump(const char *path, unsigned long *number)
{
	const char *name = strrchr(path, '/');
	char *end;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	*number = strtoul(name + 5, &end, 10);
	return strcmp(end, ".dump") == 0;
}

/* A child has its parent's mapped, too: its own comes first. NULL: there is none. */
static const struct mapping *find_jitdump(const struct sym_process *p)
{
	const struct mapping *found = NULL;
	unsigned long number;
	size_t i;

	for (i = 0; i < p->n_mappings; i++) {
		if (!is_jitdump(p->mappings[i]->path, &number))
			continue;
		found = p->mappings[i];
		if (number == p->jit.inner_pid)
			break;
	}
	return found;
}

static void refresh_jitdump(struct sym_process *p)
{
	const struct mapping *m = find_jitdump(p);
	struct jit_names *j = &p->jit;
	struct jitdump *fresh;
	struct stat st;
	int fd;

	if (m && (!j->jitdump || m->inode != j->jitdump_inode)) {
		fd = only_its_own(p, process_open_mapped(p, m), &st);
		if (fd >= 0 && !jitdump_new(fd, &fresh)) {
			jitdump_free(j->jitdump);
			j->jitdump = fresh;
			j->jitdump_inode = m->inode;
		}
	}
	if (j->jitdump)
		jitdump_refresh(j->jitdump);
}

static bool find(struct sym_process *p, uint64_t pc, struct jit_name *out)
{
	struct jitdump_hit hit;
	const char *name;

	if (p->jit.jitdump && jitdump_find(p->jit.jitdump, pc, &hit)) {
		*out = (struct jit_name){
			.function = hit.function, .file = hit.file, .line = hit.line, .source = "jitdump"
		};
		return true;
	}
	name = p->jit.perf_map ? perf_map_find(p->jit.perf_map, pc) : NULL;
	*out = (struct jit_name){ .function = name, .source = "perf-map" };
	return name;
}

bool jit_names_find(struct sym_process *p, uint64_t pc, struct jit_name *out)
{
	struct timespec ts;
	int64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ll + ts.tv_nsec;
	if (!p->jit.checked_ns || now - p->jit.checked_ns >= CHECK_NS) {
		p->jit.checked_ns = now;
		learn_user(p);
		refresh_jitdump(p);
		refresh_perf_map(p);
	}
	return find(p, pc, out);
}

void jit_names_forget(struct jit_names *j)
{
	perf_map_free(j->perf_map);
	jitdump_free(j->jitdump);
	*j = (struct jit_names){ 0 };
}
