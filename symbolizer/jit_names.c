/* Finds and opens a process's jitdump and perf map, and names its JIT-compiled code by them. */

#include "symbolizer/jit_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/jit/jitdump.h"
#include "symbolizer/jit/perf_map.h"
#include "symbolizer/base/regular_file.h"
#include "symbolizer/base/clock.h"

#define CHECK_NS   1000000000ll
#define DROPPED_NS 60000000000ll /* to read a table takes up to a second of CPU */

/* Its effective user as we see it, and its id in its own PID namespace. */
static void learn_user(struct jit_names *j, const struct jit_process *of)
{
	char path[PATH_MAX], line[256], *last;
	unsigned int user;
	FILE *file;

	if (!j->knows_user)
		j->inner_pid = of->pid;
	snprintf(path, sizeof(path), "%s/%u/status", of->proc, of->pid);
	file = of->exited ? NULL : fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		last = strrchr(line, '\t');
		if (sscanf(line, "Uid: %*u %u", &user) == 1) {
			j->user = user;
			j->knows_user = true;
		} else if (last && strncmp(line, "NSpid:", 6) == 0) {
			j->inner_pid = (uint32_t)strtoul(last + 1, NULL, 10);
		}
	}
	fclose(file);
}

/* Takes what opening said. */
static int only_its_own(const struct jit_names *j, int fd, struct stat *st)
{
	if (fd < 0)
		return -1;
	if (!fstat(fd, st) && (!st->st_uid || (j->knows_user && st->st_uid == j->user)))
		return fd;
	close(fd);
	return -1;
}

static int open_perf_map(const struct jit_names *j, const struct jit_process *of)
{
	char root[PATH_MAX] = "", path[64];

	if (!of->exited)
		snprintf(root, sizeof(root), "%s/%u/root", of->proc, of->pid);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", of->exited ? of->pid : j->inner_pid);
	return regular_file_open_in(root, path, O_NOFOLLOW);
}

static int read_perf_map(struct jit_names *j, int fd)
{
	int err = j->perf_map ? perf_map_grow(j->perf_map, fd) : -ESTALE;
	struct perf_map *fresh;

	if (err != -ESTALE)
		return err;
	err = perf_map_read(fd, &fresh);
	if (!err) {
		perf_map_free(j->perf_map);
		j->perf_map = fresh;
	}
	return err;
}

/* What was read before it grew too large stays. */
static void note_too_large(struct jit_names *j, const struct jit_process *of)
{
	if (!j->too_large)
		of->stats->files_too_large++;
	j->too_large = true;
}

/* Clocks that were set since may be off by so much. */
#define CLOCK_SLACK_NS 60000000000ll

/* Was the file last written before the process began? */
static bool is_older(int64_t changed_ns, const struct jit_process *of)
{
	return of->start_ns && changed_ns + CLOCK_SLACK_NS < (int64_t)(booted_unix_ns() + of->start_ns);
}

/* Reads what is new in the file when it has changed. */
static void refresh_perf_map(struct jit_names *j, const struct jit_process *of)
{
	int64_t changed_ns;
	struct stat st;
	int fd = only_its_own(j, open_perf_map(j, of), &st);

	if (fd < 0)
		return;
	changed_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	if (is_older(changed_ns, of)) {
		close(fd);
		return;
	}
	if (((uint64_t)st.st_size != j->perf_map_size || changed_ns != j->perf_map_changed_ns) &&
	    read_perf_map(j, fd) == -EFBIG)
		note_too_large(j, of);
	j->perf_map_size = (uint64_t)st.st_size;
	j->perf_map_changed_ns = changed_ns;
	close(fd);
}

/* The number in "jit-NUMBER.dump". */
bool jit_names_is_jitdump(const char *path, unsigned long *number)
{
	const char *name = strrchr(path, '/');
	char *end;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	*number = strtoul(name + 5, &end, 10);
	return strcmp(end, ".dump") == 0;
}

static void refresh_jitdump(struct jit_names *j, const struct jit_process *of)
{
	const uint64_t *known = j->jitdump ? &j->jitdump_inode : NULL;
	struct jitdump *fresh;
	uint64_t inode = 0;
	struct stat st;
	int fd = only_its_own(j, of->open_jitdump(of->context, j->inner_pid, known, &inode), &st);

	if (fd >= 0 && !jitdump_new(fd, &fresh)) {
		jitdump_free(j->jitdump);
		j->jitdump = fresh;
		j->jitdump_inode = inode;
	}
	if (j->jitdump)
		jitdump_refresh(j->jitdump);
}

static bool find(const struct jit_names *j, uint64_t pc, struct jit_name *out)
{
	struct jitdump_hit hit;
	const char *name;

	if (j->jitdump && jitdump_find(j->jitdump, pc, &hit)) {
		*out = (struct jit_name){ .function = hit.function,
			                  .file = hit.file,
			                  .line = hit.line,
			                  .source = SYM_SOURCE_JITDUMP };
		return true;
	}
	name = j->perf_map ? perf_map_find(j->perf_map, pc) : NULL;
	*out = (struct jit_name){ .function = name, .source = SYM_SOURCE_PERF_MAP };
	return name;
}

bool jit_names_find(struct jit_names *j, const struct jit_process *of, uint64_t pc, struct jit_name *out)
{
	int64_t now = (int64_t)monotonic_ns();
	size_t before = jit_names_memory(j);

	j->asked_ns = now;
	if (!j->checked_ns || now - j->checked_ns >= CHECK_NS) {
		j->checked_ns = now;
		learn_user(j, of);
		refresh_jitdump(j, of);
		refresh_perf_map(j, of);
	}
	j->has_grown = jit_names_memory(j) > before;
	return find(j, pc, out);
}

static void free_tables(struct jit_names *j)
{
	perf_map_free(j->perf_map);
	jitdump_free(j->jitdump);
	j->perf_map = NULL;
	j->jitdump = NULL;
	j->perf_map_size = 0;
}

void jit_names_drop(struct jit_names *j)
{
	free_tables(j);
	j->checked_ns = (int64_t)monotonic_ns() + DROPPED_NS;
}

size_t jit_names_memory(const struct jit_names *j)
{
	return (j->perf_map ? perf_map_memory(j->perf_map) : 0) +
	       (j->jitdump ? jitdump_memory(j->jitdump) : 0);
}

void jit_names_forget(struct jit_names *j)
{
	free_tables(j);
	*j = (struct jit_names){ 0 };
}
