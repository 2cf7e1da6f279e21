/* Keeps a process's executable mappings, and opens the file that an address belongs to. */

#include "symbolizer/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/mapped_file.h"
#include "symbolizer/base/maps.h"
#include "symbolizer/base/process_stat.h"
#include "symbolizer/base/regular_file.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/clock.h"

#define MAX_MAPPINGS 65536 /* as many as Linux lets a process have, unless vm.max_map_count is raised */
#define REFRESH_NS   100000000ll
#define REFRESH_REST 20
#define VDSO         "[vdso]"

/* --- mappings --------------------------------------------------------------------------------------- */

static void note_change(struct sym_process *p)
{
	p->version = ++p->env->versions;
}

static void forget_mappings(struct sym_process *p)
{
	size_t i;

	for (i = 0; i < p->n_mappings; i++)
		free(p->mappings[i]);
	p->n_mappings = 0;
	object_cache_opener_gone(p->env->objects, p);
	note_change(p);
}

void process_free(struct sym_process *p)
{
	forget_mappings(p);
	jit_names_forget(&p->jit);
	free(p->mappings);
	free(p);
}

/* Index of the first mapping that ends above `address`. */
static size_t first_above(const struct sym_process *p, uint64_t address)
{
	return search_past(i, 0, p->n_mappings, p->mappings[i]->end <= address);
}

static int insert_at(struct sym_process *p, size_t at, struct mapping *m)
{
	if (growing_array_reserve((void **)&p->mappings, p->n_mappings + 1, &p->max_mappings,
	                          sizeof(struct mapping *), SIZE_MAX))
		return -ENOMEM;
	memmove(p->mappings + at + 1, p->mappings + at, (p->n_mappings - at) * sizeof(struct mapping *));
	p->mappings[at] = m;
	p->n_mappings++;
	note_change(p);
	return 0;
}

static void remove_at(struct sym_process *p, size_t at)
{
	p->n_mappings--;
	note_change(p);
	memmove(p->mappings + at, p->mappings + at + 1, (p->n_mappings - at) * sizeof(struct mapping *));
}

/* A part of `from`, which is being cut up, put in its place at `at`. */
static int insert_part(struct sym_process *p, size_t at, const struct mapping *from, uint64_t start,
                       uint64_t end)
{
	struct mapping *m = malloc(sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	*m = *from;
	m->start = start;
	m->end = end;
	m->offset = from->offset + (start - from->start);
	m->module_given = false;
	m->seen = ++p->clock;
	err = insert_at(p, at, m);
	if (err)
		free(m);
	return err;
}

/* Makes room for [start, end): what was there is dropped, but for what sticks out at either side. */
static int clear_range(struct sym_process *p, uint64_t start, uint64_t end)
{
	struct mapping *old;
	size_t i = first_above(p, start);
	int err = 0;

	while (!err && i < p->n_mappings && p->mappings[i]->start < end) {
		old = p->mappings[i];
		remove_at(p, i);
		if (old->start < start)
			err = insert_part(p, i++, old, old->start, start);
		if (!err && old->end > end)
			err = insert_part(p, i++, old, end, old->end);
		free(old);
	}
	return err;
}

/*
 * Mappings that have vanished stay, so a process that maps and unmaps without end comes to have too many:
 * those not heard of for longest go. Each has a `seen` of its own, hence at least a half of them do.
 */
static void drop_oldest(struct sym_process *p)
{
	uint64_t too_old = p->clock - MAX_MAPPINGS / 2;
	size_t from, to = 0;

	for (from = 0; from < p->n_mappings; from++) {
		if (p->mappings[from]->seen > too_old)
			p->mappings[to++] = p->mappings[from];
		else
			free(p->mappings[from]);
	}
	p->env->stats->mappings_dropped += p->n_mappings - to;
	p->n_mappings = to;
	note_change(p);
}

static bool is_same(const struct mapping *m, const struct mapping *wanted)
{
	return m->start == wanted->start && m->end == wanted->end && m->offset == wanted->offset &&
	       m->inode == wanted->inode && m->dev_major == wanted->dev_major &&
	       m->dev_minor == wanted->dev_minor && m->path == wanted->path;
}

static int add_mapping(struct sym_process *p, const struct mapping *wanted)
{
	size_t at = first_above(p, wanted->start);
	struct mapping *m;
	int err;

	if (at < p->n_mappings && is_same(p->mappings[at], wanted)) {
		p->mappings[at]->seen = ++p->clock;
		return 0;
	}
	if (p->n_mappings >= MAX_MAPPINGS)
		drop_oldest(p);
	err = clear_range(p, wanted->start, wanted->end);
	if (err)
		return err;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = *wanted;
	m->seen = ++p->clock;
	err = insert_at(p, first_above(p, wanted->start), m);
	if (err)
		free(m);
	return err;
}

/* A path as mappings have it. */
static const char *path_of(struct sym_process *p, const char *path)
{
	size_t len;

	/* The kernel has these names for memory without a file. */
	if (strcmp(path, "//anon") == 0 || strncmp(path, "[anon", 5) == 0)
		path = "";
	len = strlen(path);
	if (len > strlen(MAPPED_FILE_DELETED) &&
	    strcmp(path + len - strlen(MAPPED_FILE_DELETED), MAPPED_FILE_DELETED) == 0)
		len -= strlen(MAPPED_FILE_DELETED);
	return intern_bytes(p->env->strings, path, len);
}

int symbolizer_process_map(struct sym_process *p, uint64_t start, uint64_t end, uint64_t pgoff,
                           uint32_t dev_major, uint32_t dev_minor, uint64_t inode, const char *path)
{
	struct mapping wanted = { .start = start,
		                  .end = end,
		                  .offset = pgoff,
		                  .inode = inode,
		                  .dev_major = dev_major,
		                  .dev_minor = dev_minor,
		                  .path = path_of(p, path) };

	return start < end ? add_mapping(p, &wanted) : -EINVAL;
}

struct reading {
	struct sym_process *process;
	bool any;
};

static int add_entry(const struct maps_entry *entry, void *context)
{
	struct reading *reading = context;
	int err;

	reading->any = true;
	if (!entry->executable)
		return 0;
	err = symbolizer_process_map(reading->process, entry->start, entry->end, entry->offset,
	                             entry->dev_major, entry->dev_minor, entry->inode, entry->path);
	return err == -ENOMEM ? err : 0;
}

/* Has another process got the pid since this one was first looked at? */
static bool is_another(struct sym_process *p)
{
	struct process_stat stat;

	if (process_stat_read(p->env->proc, p->key.pid, &stat))
		return false; /* not told, for want of descriptors perhaps, is no other one */
	if (!p->started)
		p->started = stat.start_ticks;
	return p->started != stat.start_ticks;
}

/* PROC/PID/maps does not tell of it any more. */
static bool is_settled(const struct sym_process *p)
{
	return p->exited || p->replaced;
}

/* No address that lies in no mapping has them read before REFRESH_NS have passed, or REFRESH_REST times as long as it took. */
static void rest_after(struct sym_process *p, int64_t began_ns)
{
	int64_t now_ns = (int64_t)monotonic_ns(), rest_ns = (now_ns - began_ns) * REFRESH_REST;

	p->refresh_after_ns = now_ns + (rest_ns > REFRESH_NS ? rest_ns : REFRESH_NS);
}

int symbolizer_process_refresh(struct sym_process *p)
{
	struct reading reading = { .process = p };
	int64_t began_ns = (int64_t)monotonic_ns();
	char path[PATH_MAX];
	int fd, err;

	rest_after(p, began_ns);
	p->stale = false;
	if (!p->exited && is_another(p))
		p->exited = true;
	if (is_settled(p))
		return -ESRCH;
	snprintf(path, sizeof(path), "%s/%u/maps", p->env->proc, p->key.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		p->exited = true;
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = maps_read(fd, add_entry, &reading, NULL);
	close(fd);
	rest_after(p, began_ns);
	/* One that has ended, but that its parent has not waited for yet, has no memory any more: its list is empty. */
	return err || reading.any ? err : -ESRCH;
}

void symbolizer_process_exec(struct sym_process *p)
{
	forget_mappings(p);
	jit_names_forget(&p->jit);
	p->refresh_after_ns = 0;
	p->stale = false;
}

/* What was compiled at run time is not there in vain: it comes often, and has no file. */
int symbolizer_process_mapped(struct sym_process *p, uint64_t start, uint64_t end, uint64_t pgoff,
                              uint32_t dev_major, uint32_t dev_minor, uint64_t inode, const char *path)
{
	bool is_other_file = false;

	for (size_t i = first_above(p, start); i < p->n_mappings && p->mappings[i]->start < end; i++) {
		struct mapping *m = p->mappings[i];

		if (!inode && m->path[0] != '/')
			continue;
		m->tried = m->module_given = false;
		if (m->start != start || m->end != end || m->offset != pgoff || m->inode != inode)
			p->stale = true;
		is_other_file |= strcmp(m->path, path_of(p, path)) != 0;
		note_change(p);
	}
	return is_other_file ? symbolizer_process_map(p, start, end, pgoff, dev_major, dev_minor, inode, path)
	                     : 0;
}

bool symbolizer_process_is_stale(const struct sym_process *p)
{
	return p->stale;
}

void symbolizer_process_replaced(struct sym_process *p)
{
	p->replaced = true;
}

void symbolizer_process_exit(struct sym_process *p)
{
	p->exited = true;
}

/* --- from mapping to object ------------------------------------------------------------------------- */

static struct mapped_file file_of(const struct sym_process *p, const struct mapping *m)
{
	return (struct mapped_file){ .proc = p->env->proc,
		                     .pid = p->key.pid,
		                     .exited = p->exited,
		                     .start = m->start,
		                     .end = m->end,
		                     .inode = m->inode,
		                     .path = m->path };
}

int process_open_mapped(const struct sym_process *p, const struct mapping *m)
{
	struct mapped_file file = file_of(p, m);
	char root[PATH_MAX];
	struct stat st;

	return m->path[0] != '/' || path_has_dotdot(m->path)
	               ? -1
	               : mapped_file_open(&file, root, sizeof(root), &st);
}

static int open_object(struct sym_process *p, struct mapping *m)
{
	struct mapped_file file = file_of(p, m);
	char root[PATH_MAX];
	const struct object_place place = { .root = root, .path = m->path, .opener = p };
	struct stat st;
	int fd;

	m->object = NULL;
	if (strcmp(m->path, VDSO) == 0)
		m->object = object_cache_vdso(p->env->objects);
	if (!mapped_file_is_one(&file))
		return 0;
	fd = mapped_file_open(&file, root, sizeof(root), &st);
	if (fd >= 0)
		return object_cache_get(p->env->objects, fd, &st, &place, &m->object);
	p->env->stats->files_missing += !object_cache_may_pass(fd);
	return fd;
}

/* What failed for a reason that may pass is tried again, a few times a second. */
static struct object *object_of(struct sym_process *p, struct mapping *m)
{
	const struct object_cache *objects = p->env->objects;
	int err;

	if (m->tried && (!m->object || object_cache_holds(objects, m->object, m->generation)) &&
	    (!m->try_again_ns || (int64_t)monotonic_ns() < m->try_again_ns)) {
		m->generation = object_cache_generation(objects);
		return m->object;
	}
	m->tried = true;
	err = open_object(p, m);
	m->try_again_ns = object_cache_may_pass(err) ? (int64_t)monotonic_ns() + REFRESH_NS : 0;
	m->generation = object_cache_generation(objects);
	return m->object;
}

bool process_locate(struct sym_process *p, uint64_t pc, struct process_location *out)
{
	size_t i = first_above(p, pc);
	struct mapping *m;

	if (i == p->n_mappings || pc < p->mappings[i]->start) {
		if (is_settled(p) || (int64_t)monotonic_ns() < p->refresh_after_ns ||
		    symbolizer_process_refresh(p))
			return false;
		i = first_above(p, pc);
		if (i == p->n_mappings || pc < p->mappings[i]->start)
			return false;
	}
	m = p->mappings[i];
	*out = (struct process_location){ .mapping = m, .object = object_of(p, m), .address = pc };
	if (out->object && !object_address(out->object, pc - m->start + m->offset, &out->address))
		out->object = NULL;
	return true;
}

void process_object_used(struct sym_process *p, struct object *o)
{
	object_cache_used(p->env->objects, o);
}

const struct sym_module *process_module(struct sym_process *p, const struct process_location *at)
{
	struct mapping *m = at->mapping;

	if (!m->module_given) {
		m->module = (struct sym_module){ .path = m->path,
			                         .build_id = "",
			                         .start = m->start,
			                         .end = m->end,
			                         .address = m->start,
			                         .offset = m->offset };
		m->module_given = true;
	}
	if (at->object && !*m->module.build_id)
		m->module.build_id = intern_string(p->env->strings, object_build_id(at->object));
	if (at->object)
		object_address(at->object, m->offset, &m->module.address);
	return &m->module;
}
