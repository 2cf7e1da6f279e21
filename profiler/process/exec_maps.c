/* Live feed of executable mappings: applies perf records to the map table and calls back for new files. */

#include "profiler/process/exec_maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/process/cached_stat.h"
#include "profiler/process/perf_records.h"
#include "profiler/process/perf_rings.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/maps.h"

struct file_key {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

/* A file that nobody is interested in. */
struct ignored_file {
	struct file_key key;
	uint64_t changed_ns; /* when asked about: inodes are reused, files overwritten */
	UT_hash_handle hh;
};

struct exec_maps {
	struct exec_maps_handler handler;
	struct perf_rings *rings;
	struct map_table *table;
	struct ignored_file *ignored;
	uint64_t now_ns; /* time of the record being applied */
	bool missed;     /* records of a CPU, may be */
	struct exec_maps_stats stats;
};

/* --- files --------------------------------------------------------------------------------------- */

static void forget_ignored(struct exec_maps *maps, struct ignored_file *file)
{
	HASH_DEL(maps->ignored, file);
	free(file);
}

/* When the file was last changed; 0 when it cannot be found (any more) under its name, or not without waiting: the path may be
 * another file system's here, and its server dead. */
static uint64_t time_of_change(uint32_t pid, const struct exec_mapping *mapping)
{
	struct statx st;

	if (mapping->path[0] != '/')
		return 0;
	if ((cached_stat(0, mapping->path, &st) || st.stx_ino != mapping->inode) &&
	    (cached_stat(pid, mapping->path, &st) || st.stx_ino != mapping->inode))
		return 0;
	return (uint64_t)st.stx_ctime.tv_sec * 1000000000 + st.stx_ctime.tv_nsec;
}

static void remember_ignored(struct exec_maps *maps, const struct file_key *key, uint64_t changed_ns)
{
	struct ignored_file *file, *added = NULL;

	HASH_FIND(hh, maps->ignored, key, sizeof(*key), file);
	if (file) {
		file->changed_ns = changed_ns;
		return;
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return;
	if (HASH_COUNT(maps->ignored) >= EXEC_MAPS_FILES_MAX)
		forget_ignored(maps, maps->ignored);
	file->key = *key;
	file->changed_ns = changed_ns;
	HASH_ADD(hh, maps->ignored, key, sizeof(file->key), file);
	HASH_FIND(hh, maps->ignored, key, sizeof(*key), added);
	if (!added)
		free(file);
}

static bool is_ignored(const struct exec_maps *maps, const struct file_key *key, uint64_t changed_ns)
{
	const struct ignored_file *file;

	HASH_FIND(hh, maps->ignored, key, sizeof(*key), file);
	return file && changed_ns && file->changed_ns == changed_ns;
}

static void ask_about_file(struct exec_maps *maps, uint32_t pid, const struct exec_mapping *mapping)
{
	struct file_key key = { .inode = mapping->inode,
		                .dev_major = mapping->dev_major,
		                .dev_minor = mapping->dev_minor };
	uint64_t changed_ns;

	if (!maps->handler.file || !mapping->inode)
		return;
	changed_ns = time_of_change(pid, mapping);
	if (is_ignored(maps, &key, changed_ns))
		return;
	maps->stats.files_asked++;
	if (!maps->handler.file(maps->handler.ctx, pid, mapping, maps->now_ns) && changed_ns)
		remember_ignored(maps, &key, changed_ns);
}

/* --- processes that were there before ------------------------------------------------------------ */

struct seed {
	struct map_table *table;
	uint32_t pid;
};

static int seed_mapping(const struct maps_entry *entry, void *context)
{
	struct seed *seed = context;
	struct exec_mapping mapping = { .start = entry->start,
		                        .end = entry->end,
		                        .pgoff = entry->offset,
		                        .inode = entry->inode,
		                        .dev_major = entry->dev_major,
		                        .dev_minor = entry->dev_minor,
		                        .path = entry->path };

	if (entry->executable)
		map_table_add(seed->table, seed->pid, &mapping);
	return 0;
}

static void seed_name(struct exec_maps *maps, uint32_t pid)
{
	char path[64], name[MAP_TABLE_NAME_BYTES + 1];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = read(fd, name, sizeof(name) - 1);
	close(fd);
	name[len > 0 ? len : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	map_table_set_name(maps->table, pid, name);
}

void exec_maps_meet(struct exec_maps *maps, uint32_t pid)
{
	struct seed seed = { .table = maps->table, .pid = pid };
	char path[64];
	int fd;

	if (map_table_knows(maps->table, pid) || map_table_meet(maps->table, pid))
		return;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!maps_read(fd, seed_mapping, &seed, NULL))
		map_table_set_complete(maps->table, pid);
	close(fd);
	seed_name(maps, pid);
}

const char *exec_maps_name(const struct exec_maps *maps, uint32_t pid)
{
	return map_table_name(maps->table, pid);
}

/* Threads other than the leader, which stays as a zombie until they are gone. */
static bool has_other_threads(uint32_t pid)
{
	struct dirent *entry;
	bool found = false;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks)))
		found = entry->d_name[0] != '.' && strtoul(entry->d_name, NULL, 10) != pid;
	if (tasks)
		closedir(tasks);
	return found;
}

#define PF_EXITING 4 /* of a task's flags (include/linux/sched.h) */

/*
 * Whether the leader is not about to end: then the end was that of a former one, as another thread has executed a program, and
 * taken its place and pid. Until it has, it is among the other threads; so look for these first. The kernel sets the flag before
 * it reports an end, but the state (Z) and the memory's end may come long after that.
 */
static bool has_new_leader(uint32_t pid)
{
	char path[64], line[1024];
	unsigned int flags = PF_EXITING;
	const char *rest; /* behind the name, which may hold anything */
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	fclose(file);
	rest = strrchr(line, ')');
	return rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && !(flags & PF_EXITING);
}

/* --- records ------------------------------------------------------------------------------------- */

static void end_process(struct exec_maps *maps, uint32_t pid)
{
	map_table_end(maps->table, pid, maps->now_ns);
	if (maps->handler.exit)
		maps->handler.exit(maps->handler.ctx, pid);
}

static void apply_mmap2(struct exec_maps *maps, const struct mmap2_record *record)
{
	struct exec_mapping mapping = { .start = record->start,
		                        .end = record->start + record->bytes,
		                        .pgoff = record->pgoff,
		                        .inode = record->inode,
		                        .dev_major = record->dev_major,
		                        .dev_minor = record->dev_minor,
		                        .path = record->path };
	size_t room = record->header.size - offsetof(struct mmap2_record, path);

	if (strnlen(record->path, room) == room)
		return;
	if (!mapping.inode && !strcmp(mapping.path, "//anon"))
		mapping.path = "";
	exec_maps_meet(maps, record->pid);
	map_table_add(maps->table, record->pid, &mapping);
	if (maps->handler.mapped)
		maps->handler.mapped(maps->handler.ctx, record->pid, &mapping, maps->now_ns);
	ask_about_file(maps, record->pid, &mapping);
}

static void apply_comm(struct exec_maps *maps, const struct comm_record *record)
{
	bool is_exec = record->header.misc & PERF_RECORD_MISC_COMM_EXEC;
	size_t room = record->header.size - offsetof(struct comm_record, name);

	if (is_exec)
		map_table_exec(maps->table, record->pid, maps->now_ns);
	/* The name of a thread other than the leader is not the process's. */
	if ((is_exec || record->pid == record->tid) && strnlen(record->name, room) < room)
		map_table_set_name(maps->table, record->pid, record->name);
	if (is_exec && maps->handler.exec)
		maps->handler.exec(maps->handler.ctx, record->pid, maps->now_ns);
}

static void apply_fork(struct exec_maps *maps, const struct task_record *record)
{
	if (record->pid == record->ppid) {
		map_table_thread(maps->table, record->pid);
		return;
	}
	exec_maps_meet(maps, record->ppid);
	map_table_fork(maps->table, record->pid, record->ppid);
	if (maps->handler.fork)
		maps->handler.fork(maps->handler.ctx, record->pid, record->ppid);
}

static void apply_exit(struct exec_maps *maps, const struct task_record *record)
{
	enum map_table_exit exit = map_table_exit(maps->table, record->pid, record->tid, maps->now_ns);

	if (exit == MAP_TABLE_UNSURE && has_other_threads(record->pid)) {
		/* the table must know the process, so that it asks again when a thread exits */
		exec_maps_meet(maps, record->pid);
		map_table_exit(maps->table, record->pid, record->tid, maps->now_ns);
	} else if (exit == MAP_TABLE_ENDED || (exit == MAP_TABLE_UNSURE && !has_new_leader(record->pid))) {
		end_process(maps, record->pid);
	}
}

static void apply_ksymbol(struct exec_maps *maps, const struct ksymbol_record *record)
{
	bool is_gone = record->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	size_t room = record->header.size - offsetof(struct ksymbol_record, name);

	if (maps->handler.kernel_code && record->type == PERF_RECORD_KSYMBOL_TYPE_BPF &&
	    strnlen(record->name, room) < room)
		maps->handler.kernel_code(maps->handler.ctx, record->start, record->bytes,
		                          is_gone ? NULL : record->name);
}

void exec_maps_apply(struct exec_maps *maps, const struct perf_event_header *record, uint64_t time_ns)
{
	const void *body = record;

	maps->now_ns = time_ns;
	maps->stats.records++;
	if (record->type == PERF_RECORD_MMAP2 && record->size > sizeof(struct mmap2_record))
		apply_mmap2(maps, body);
	else if (record->type == PERF_RECORD_COMM && record->size >= sizeof(struct comm_record))
		apply_comm(maps, body);
	else if (record->type == PERF_RECORD_FORK && record->size >= sizeof(struct task_record))
		apply_fork(maps, body);
	else if (record->type == PERF_RECORD_EXIT && record->size >= sizeof(struct task_record))
		apply_exit(maps, body);
	else if (record->type == PERF_RECORD_KSYMBOL && record->size > sizeof(struct ksymbol_record))
		apply_ksymbol(maps, body);
}

static void apply_from_ring(void *ctx, const struct perf_event_header *record, uint64_t time_ns)
{
	exec_maps_apply(ctx, record, time_ns);
}

/* --- the feed ------------------------------------------------------------------------------------ */

struct exec_maps *exec_maps_new(const struct exec_maps_handler *handler, char *err, size_t err_len)
{
	struct exec_maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		goto no_memory;
	if (handler)
		maps->handler = *handler;
	maps->table = map_table_new(EXEC_MAPS_LINGER_NS, EXEC_MAPS_FORMER_NS);
	if (!maps->table)
		goto no_memory;
	maps->rings = perf_rings_new();
	if (maps->rings)
		return maps;
	snprintf(err, err_len, "the kernel does not report executable mappings (perf_event_open): %s",
	         strerror(errno));
	goto out;
no_memory:
	snprintf(err, err_len, "no memory");
	errno = ENOMEM;
out:
	exec_maps_free(maps);
	return NULL;
}

void exec_maps_free(struct exec_maps *maps)
{
	struct ignored_file *file, *next;
	int saved = errno;

	if (!maps)
		return;
	HASH_ITER (hh, maps->ignored, file, next)
		forget_ignored(maps, file);
	map_table_free(maps->table);
	perf_rings_free(maps->rings);
	free(maps);
	errno = saved;
}

int exec_maps_fd(const struct exec_maps *maps)
{
	return perf_rings_fd(maps->rings);
}

static void end_if_gone(void *ctx, uint32_t pid)
{
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		end_process(ctx, pid);
}

int exec_maps_poll(struct exec_maps *maps)
{
	uint64_t lost = perf_rings_lost(maps->rings);
	int n = perf_rings_read(maps->rings, apply_from_ring, maps);

	if (perf_rings_lost(maps->rings) != lost || maps->missed) {
		maps->missed = false;
		map_table_distrust(maps->table);
		map_table_each_process(maps->table, end_if_gone, maps);
		if (maps->handler.kernel_code_lost)
			maps->handler.kernel_code_lost(maps->handler.ctx);
	}
	map_table_expire(maps->table, maps->now_ns);
	return n;
}

void exec_maps_reach(struct exec_maps *maps, uint64_t at_ns)
{
	uint64_t settled_ns = perf_rings_settled(maps->rings);

	if (at_ns > settled_ns && monotonic_ns() > settled_ns + 2 * PERF_RINGS_SETTLE_NS)
		exec_maps_poll(maps);
}

bool exec_maps_settle(struct exec_maps *maps, uint64_t read_ns, uint64_t at_ns)
{
	if (!read_ns || read_ns < at_ns || read_ns - at_ns > 3 * PERF_RINGS_SETTLE_NS)
		return false;
	while (monotonic_ns() < read_ns + 3 * PERF_RINGS_SETTLE_NS)
		usleep(500);
	exec_maps_poll(maps);
	return true;
}

void exec_maps_cpu(struct exec_maps *maps, unsigned int cpu, bool online)
{
	uint64_t lost = perf_rings_lost(maps->rings);

	perf_rings_cpu(maps->rings, cpu, online);
	maps->missed |= online || perf_rings_lost(maps->rings) != lost;
}

uint64_t exec_maps_image(const struct exec_maps *maps, uint32_t pid, uint64_t at_ns)
{
	return map_table_image(maps->table, pid, at_ns);
}

int exec_maps_feed(struct exec_maps *maps, uint32_t pid, uint64_t image, exec_mapping_fn mapping, void *ctx)
{
	return map_table_each(maps->table, pid, image, mapping, ctx);
}

void exec_maps_stats(const struct exec_maps *maps, struct exec_maps_stats *out)
{
	struct map_table_stats table;

	map_table_stats(maps->table, &table);
	*out = maps->stats;
	out->records_lost = perf_rings_lost(maps->rings);
	out->cpus_late = perf_rings_late(maps->rings);
	out->cpus_not_covered = perf_rings_cpus_not_covered(maps->rings);
	out->processes_refused = table.processes_refused;
	out->mappings_refused = table.mappings_refused;
	out->mappings_dropped = table.mappings_dropped;
	out->processes = table.processes;
	out->mappings = table.mappings;
}

bool exec_maps_told_all(const struct exec_maps *maps)
{
	struct exec_maps_stats stats;

	exec_maps_stats(maps, &stats);
	return !stats.records_lost && !stats.cpus_late && !stats.cpus_not_covered && !stats.processes_refused;
}
