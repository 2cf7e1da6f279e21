/* The cache of open objects: evicts the least recently used ones, and lets go those that nobody needs. */

#include "symbolizer/object/object_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/maps.h"
#include "symbolizer/base/growing_array.h"
#include "symbolizer/object/heavy_files.h"

/* Each holds a file descriptor, and one of its index. */
#define MAX_OBJECTS 512

/* Files that can't be used, and other names of those that can, are remembered up to this many. */
#define MAX_KEYS 16384

/* What has more than this part of all memory is heavy. Each time that it is dropped for that, it may have so many bits less. */
#define HEAVY_PART  16
#define HEAVY_SHIFT 3
#define HEAVY_TIMES 2

struct key {
	struct file_key file;
	uint64_t writer; /* the user who alone may write to it */
	bool has_writer;
};

struct entry {
	struct object *object;
	size_t memory;      /* when last looked at */
	uint64_t added;     /* the generation */
	const void *opener; /* NULL: it has gone */
	unsigned int times; /* that it was dropped as heavy */
	uint64_t loaded_ns; /* when it became heavy, or was opened with less */
	/* By object_cache_let_go(): */
	uint64_t last_use;     /* object_last_use() at the last look */
	uint64_t unchanged_ns; /* when it was seen to have changed */
};

struct known_file {
	struct key key;
	struct object *object; /* NULL: can't be used */
};

struct object_cache {
	const struct object_environment *env;
	struct entry entries[MAX_OBJECTS];
	size_t n_entries;
	struct known_file *known;
	size_t n_known, max_known;
	struct object *vdso;
	bool vdso_tried;
	uint64_t clock, generation;
	uint64_t now_ns, next_look_ns;
	struct heavy_files heavy;
	size_t memory;
};

struct object_cache *object_cache_new(const struct object_environment *env)
{
	struct object_cache *c = calloc(1, sizeof(*c));

	if (c)
		c->env = env;
	return c;
}

void object_cache_free(struct object_cache *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->n_entries; i++)
		object_free(c->entries[i].object);
	object_free(c->vdso);
	free(c->known);
	free(c);
}

static struct entry *entry_of(struct object_cache *c, const struct object *o)
{
	size_t i;

	for (i = 0; i < c->n_entries; i++)
		if (c->entries[i].object == o)
			return &c->entries[i];
	return NULL;
}

static void forget_known(struct object_cache *c, const struct object *o)
{
	size_t from, to = 0;

	for (from = 0; from < c->n_known; from++)
		if (c->known[from].object != o)
			c->known[to++] = c->known[from];
	c->n_known = to;
}

static void drop(struct object_cache *c, struct entry *entry)
{
	forget_known(c, entry->object);
	object_save(entry->object, INDEX_SAVE_NOW); /* a wait for the lock would hold up all stacks */
	object_free(entry->object);
	c->memory -= entry->memory;
	*entry = c->entries[--c->n_entries];
	c->generation++;
}

static bool is_heavy(const struct object_cache *c, size_t memory)
{
	return memory > c->env->max_bytes / HEAVY_PART;
}

/* All names of a file that goes so soon after it was loaded that it would do so again. */
static void remember_heavy(struct object_cache *c, const struct entry *entry)
{
	unsigned int times = entry->times < HEAVY_TIMES ? entry->times + 1 : HEAVY_TIMES;
	size_t i;

	if (!is_heavy(c, entry->memory) || c->now_ns - entry->loaded_ns >= HEAVY_FILES_NS)
		return;
	for (i = 0; i < c->n_known; i++)
		if (c->known[i].object == entry->object)
			heavy_files_add(&c->heavy, &c->known[i].key.file, c->now_ns, times);
}

static void evict(struct object_cache *c, struct entry *entry)
{
	drop(c, entry);
	c->env->stats->cache_evictions++;
}

void object_cache_forget(struct object_cache *c, const char *build_id)
{
	size_t i = 0;

	while (i < c->n_entries) {
		if (strcmp(object_build_id(c->entries[i].object), build_id) == 0)
			drop(c, &c->entries[i]); /* the last one takes its place */
		else
			i++;
	}
}

void object_cache_opener_gone(struct object_cache *c, const void *opener)
{
	size_t i;

	for (i = 0; i < c->n_entries; i++)
		if (c->entries[i].opener == opener)
			c->entries[i].opener = NULL;
}

static bool is_idle(struct entry *entry, uint64_t now_ns)
{
	uint64_t last_use = object_last_use(entry->object);

	if (entry->last_use != last_use)
		entry->unchanged_ns = now_ns;
	entry->last_use = last_use;
	return now_ns - entry->unchanged_ns >= OBJECT_CACHE_IDLE_NS;
}

/* It may be read as others are again. */
static bool is_heavy_no_more(const struct entry *entry, uint64_t now_ns)
{
	return entry->times && now_ns - entry->loaded_ns >= HEAVY_FILES_NS;
}

void object_cache_let_go(struct object_cache *c, uint64_t now_ns)
{
	size_t i = 0;

	c->now_ns = now_ns;
	if (now_ns < c->next_look_ns)
		return;
	c->next_look_ns = now_ns + OBJECT_CACHE_LOOK_NS;
	while (i < c->n_entries) {
		struct entry *entry = &c->entries[i];

		if (!entry->opener || is_idle(entry, now_ns) || is_heavy_no_more(entry, now_ns))
			drop(c, entry); /* the last one takes its place */
		else
			i++;
	}
}

static struct entry *least_recently_used(struct object_cache *c, const struct object *except)
{
	struct entry *oldest = NULL;
	size_t i;

	for (i = 0; i < c->n_entries; i++)
		if (c->entries[i].object != except &&
		    (!oldest || object_last_use(c->entries[i].object) < object_last_use(oldest->object)))
			oldest = &c->entries[i];
	return oldest;
}

void object_cache_used(struct object_cache *c, struct object *o)
{
	struct entry *entry, *oldest;
	size_t before;

	object_touch(o, ++c->clock);
	if (!object_has_grown(o))
		return;
	entry = entry_of(c, o);
	if (!entry)
		return; /* the vDSO, which is small */
	before = entry->memory;
	entry->memory = object_memory(o);
	if (!entry->times && is_heavy(c, entry->memory) && !is_heavy(c, before))
		entry->loaded_ns = c->now_ns;
	c->memory += entry->memory - before;
	while (c->memory > c->env->max_bytes && (oldest = least_recently_used(c, o))) {
		remember_heavy(c, oldest);
		evict(c, oldest);
	}
}

static struct known_file *find_known(struct object_cache *c, const struct key *key)
{
	size_t i;

	for (i = c->n_known; i > 0; i--)
		if (file_key_is(&c->known[i - 1].key.file, &key->file))
			return &c->known[i - 1];
	return NULL;
}

/* When there are too many, the oldest half goes. */
static void remember(struct object_cache *c, const struct key *key, struct object *o)
{
	if (c->n_known == MAX_KEYS) {
		c->n_known /= 2;
		memmove(c->known, c->known + c->n_known, c->n_known * sizeof(*c->known));
	}
	if (!growing_array_reserve((void **)&c->known, c->n_known + 1, &c->max_known, sizeof(*c->known),
	                           MAX_KEYS))
		c->known[c->n_known++] = (struct known_file){ .key = *key, .object = o };
}

/* Whoever has mapped the same file holds its file system as well, and debug files are found through it. */
static void find_opener(struct object_cache *c, struct object *o, const struct object_place *place)
{
	struct entry *entry = entry_of(c, o);

	if (entry->opener)
		return;
	entry->opener = place->opener;
	object_move(o, place->root, place->path);
}

/*
 * The same file at another place. Anybody can give a file any build-id: only one writer's files answer for each other. One
 * whose opener has gone is about to go, as it may hold another file system.
 */
static struct object *find_build_id(struct object_cache *c, const char *build_id, const struct key *key)
{
	size_t i;

	if (!*build_id || !key->has_writer)
		return NULL;
	for (i = 0; i < c->n_known; i++)
		if (c->known[i].object && c->known[i].key.file.size == key->file.size &&
		    c->known[i].key.has_writer && c->known[i].key.writer == key->writer &&
		    strcmp(object_build_id(c->known[i].object), build_id) == 0 &&
		    entry_of(c, c->known[i].object)->opener)
			return c->known[i].object;
	return NULL;
}

static void add(struct object_cache *c, struct object *o, const void *opener, unsigned int times)
{
	if (c->n_entries == MAX_OBJECTS)
		evict(c, least_recently_used(c, NULL));
	object_touch(o, ++c->clock);
	c->entries[c->n_entries++] = (struct entry){
		.object = o, .added = c->generation, .opener = opener, .times = times, .loaded_ns = c->now_ns
	};
}

bool object_cache_may_pass(int err)
{
	static const int passing[] = { EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, EIO };
	size_t i;

	for (i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (err == -passing[i])
			return true;
	return false;
}

static int open_object(struct object_cache *c, int fd, const struct stat *st, const struct key *key,
                       const struct object_place *place, struct object **out)
{
	unsigned int times = heavy_files_times(&c->heavy, &key->file, c->now_ns);
	size_t max_bytes = c->env->max_bytes >> (times * HEAVY_SHIFT);
	struct object *twin;
	struct elf_file *f;
	int err = elf_file_open_known(fd, st, max_bytes, &f);

	if (err && object_cache_may_pass(err))
		return err;
	if (err) {
		c->env->stats->files_corrupt++;
		return -EBADMSG;
	}
	c->env->stats->files_corrupt += elf_file_lost_sections(f);
	*out = object_new(c->env, f, place->root, place->path);
	if (!*out)
		return -ENOMEM;
	twin = find_build_id(c, object_build_id(*out), key);
	if (twin) {
		object_free(*out);
		*out = twin;
		return 0;
	}
	c->env->stats->files_opened++;
	if (times)
		object_lighten(*out, max_bytes);
	add(c, *out, place->opener, times);
	return 0;
}

int object_cache_get(struct object_cache *c, int fd, const struct stat *st, const struct object_place *place,
                     struct object **out)
{
	const struct key key = { .file = { .device = st->st_dev,
		                           .inode = st->st_ino,
		                           .size = (uint64_t)st->st_size,
		                           .changed_ns =
		                                   st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec },
		                 .writer = st->st_uid,
		                 .has_writer = !(st->st_mode & (S_IWGRP | S_IWOTH)) };
	const struct known_file *known = find_known(c, &key);
	int err;

	*out = NULL;
	if (known) {
		close(fd);
		*out = known->object;
		if (*out)
			find_opener(c, *out, place);
		return *out ? 0 : -EBADMSG;
	}
	err = open_object(c, fd, st, &key, place, out);
	if (!object_cache_may_pass(err))
		remember(c, &key, *out);
	return err;
}

static int find_vdso(const struct maps_entry *entry, void *context)
{
	uint64_t *size = context;

	if (strcmp(entry->path, "[vdso]") == 0)
		*size = entry->end - entry->start;
	return 0;
}

struct object *object_cache_vdso(struct object_cache *c)
{
	uintptr_t image = getauxval(AT_SYSINFO_EHDR);
	struct elf_file *f;
	uint64_t size = 0;
	int fd;

	if (c->vdso_tried || !image)
		return c->vdso;
	c->vdso_tried = true;
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	maps_read(fd, find_vdso, &size, NULL);
	close(fd);
	if (size && !elf_file_open_image((const void *)image, size, c->env->max_bytes, &f))
		c->vdso = object_new(c->env, f, "", "[vdso]");
	return c->vdso;
}

bool object_cache_save(struct object_cache *c, bool last)
{
	bool wrote = false;
	size_t i;

	for (i = 0; i < c->n_entries; i++)
		wrote |= object_save(c->entries[i].object, last);
	return wrote;
}

uint64_t object_cache_generation(const struct object_cache *c)
{
	return c->generation;
}

bool object_cache_holds(const struct object_cache *c, const struct object *o, uint64_t generation)
{
	size_t i;

	if (generation == c->generation || o == c->vdso)
		return true;
	for (i = 0; i < c->n_entries; i++)
		if (c->entries[i].object == o)
			return c->entries[i].added <= generation; /* else a newer one has its address */
	return false;
}

size_t object_cache_memory(const struct object_cache *c)
{
	return c->memory;
}

size_t object_cache_count(const struct object_cache *c)
{
	return c->n_entries;
}
