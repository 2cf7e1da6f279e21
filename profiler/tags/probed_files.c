/* Attaches to files with the tag library's probes, and lets go of those nobody maps. */

#include "profiler/tags/probed_files.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "symbolizer/base/clock.h"
#include "profiler/tags/tag_file.h"
#include "profiler/tracer/tracer.h"

struct file_key {
	uint64_t dev, inode;
};

struct probed_file {
	struct file_key key;
	int watched;        /* as tracer_watch_file says; negative: refused */
	uint64_t at_ns;     /* when it was attached to, or refused */
	uint64_t asked_ns;  /* when probed_files_due() gave it last */
	uint64_t unused_ns; /* since when nobody maps it */
	uint64_t mapped_ns; /* the earliest that was told; 0: none */
	uint64_t late_from; /* the part of its lateness that is counted begins there */
	size_t n_users;
	bool pinned, said;
	char *refusal; /* why it was refused last; NULL: never, or it was said */
	UT_hash_handle hh;
};

/* A process, and which of the files it maps. */
struct user {
	uint32_t pid;
	size_t n;
	struct probed_file **files;
	UT_hash_handle hh;
};

struct probed_files {
	struct tracer *tracer;
	say_fn say;
	struct probed_file *by_key;
	struct user *by_pid;
	uint64_t refused, late_ns, swept_ns;
};

struct probed_files *probed_files_new(struct tracer *tracer, say_fn say)
{
	struct probed_files *files = calloc(1, sizeof(*files));

	if (files) {
		files->tracer = tracer;
		files->say = say;
	}
	return files;
}

static void drop_user(struct probed_files *files, struct user *user)
{
	HASH_DEL(files->by_pid, user);
	free(user->files);
	free(user);
}

void probed_files_free(struct probed_files *files)
{
	struct probed_file *file, *next;
	struct user *user, *next_user;

	if (!files)
		return;
	HASH_ITER (hh, files->by_pid, user, next_user)
		drop_user(files, user);
	HASH_ITER (hh, files->by_key, file, next) {
		HASH_DEL(files->by_key, file);
		free(file->refusal);
		free(file);
	}
	free(files);
}

/* --- who maps what ------------------------------------------------------------------------------- */

static struct user *find_user(const struct probed_files *files, uint32_t pid)
{
	struct user *user;

	HASH_FIND(hh, files->by_pid, &pid, sizeof(pid), user);
	return user;
}

static struct user *find_or_add_user(struct probed_files *files, uint32_t pid)
{
	struct user *user = find_user(files, pid);

	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->pid = pid;
	HASH_ADD(hh, files->by_pid, pid, sizeof(user->pid), user);
	if (user->hh.tbl)
		return user;
	free(user);
	return NULL;
}

static bool add_file(struct user *user, struct probed_file *file)
{
	struct probed_file **grown;

	for (size_t i = 0; i < user->n; i++)
		if (user->files[i] == file)
			return true;
	grown = realloc(user->files, (user->n + 1) * sizeof(*user->files));
	if (!grown)
		return false;
	user->files = grown;
	user->files[user->n++] = file;
	file->n_users++;
	return true;
}

/* Without memory for this the file is never detached, which is better than to detach one in use. */
static void note_user(struct probed_files *files, uint32_t pid, struct probed_file *file)
{
	struct user *user = pid ? find_or_add_user(files, pid) : NULL;

	if (!user || !add_file(user, file))
		file->pinned = true;
}

void probed_files_forked(struct probed_files *files, uint32_t child, uint32_t parent)
{
	const struct user *from = find_user(files, parent);

	for (size_t i = 0; from && i < from->n; i++)
		note_user(files, child, from->files[i]);
}

void probed_files_left(struct probed_files *files, uint32_t pid, uint64_t now_ns)
{
	struct user *user = find_user(files, pid);

	if (!user)
		return;
	for (size_t i = 0; i < user->n; i++)
		if (!--user->files[i]->n_users)
			user->files[i]->unused_ns = now_ns;
	drop_user(files, user);
}

/* --- the files ----------------------------------------------------------------------------------- */

static bool may_go(const struct probed_file *file)
{
	return !file->pinned && !file->n_users;
}

static void let_go(struct probed_files *files, struct probed_file *file)
{
	if (file->watched >= 0)
		tracer_unwatch_file(files->tracer, file->watched);
	HASH_DEL(files->by_key, file);
	free(file->refusal);
	free(file);
}

static void sweep(struct probed_files *files, uint64_t now_ns)
{
	struct user *user, *next;

	if (now_ns - files->swept_ns <= PROBED_FILES_SWEEP_NS)
		return;
	files->swept_ns = now_ns;
	HASH_ITER (hh, files->by_pid, user, next)
		if (kill((pid_t)user->pid, 0) && errno == ESRCH)
			probed_files_left(files, user->pid, now_ns);
}

void probed_files_expire(struct probed_files *files, uint64_t now_ns)
{
	struct probed_file *file, *next;

	sweep(files, now_ns);
	HASH_ITER (hh, files->by_key, file, next)
		if (may_go(file) && now_ns > file->unused_ns &&
		    now_ns - file->unused_ns > PROBED_FILES_LINGER_NS)
			let_go(files, file);
}

static void each_user_of(const struct probed_files *files, const struct probed_file *file,
                         probed_files_fn tell, void *ctx)
{
	struct user *user, *next;

	HASH_ITER (hh, files->by_pid, user, next)
		for (size_t i = 0; i < user->n; i++)
			if (user->files[i] == file)
				tell(ctx, user->pid);
}

void probed_files_due(struct probed_files *files, uint64_t now_ns, probed_files_fn tell, void *ctx)
{
	struct probed_file *file;

	for (file = files->by_key; file; file = file->hh.next) {
		if (file->watched >= 0 || !file->n_users || now_ns - file->at_ns <= PROBED_FILES_RETRY_NS ||
		    now_ns - file->asked_ns <= PROBED_FILES_RETRY_NS)
			continue;
		file->asked_ns = now_ns;
		each_user_of(files, file, tell, ctx);
	}
}

/* The tracer has room for so many files: those that linger are detached. */
static bool make_room(struct probed_files *files)
{
	struct probed_file *file, *oldest = NULL;

	for (file = files->by_key; file; file = file->hh.next)
		if (may_go(file) && file->watched >= 0 && (!oldest || file->unused_ns < oldest->unused_ns))
			oldest = file;
	if (oldest)
		let_go(files, oldest);
	return oldest;
}

static void watch(struct probed_files *files, struct probed_file *file, const struct probed_file_at *at,
                  uint64_t now_ns)
{
	const struct tracer_probes probes = { .change = at->probes & TAG_FILE_PROBE_CHANGE,
		                              .process = at->probes & TAG_FILE_PROBE_PROCESS,
		                              .log = at->probes & TAG_FILE_PROBE_LOG,
		                              .lost = at->probes & TAG_FILE_PROBE_LOST,
		                              .libraries = at->libraries };
	char err[512];

	do {
		file->watched = tracer_watch_file(files->tracer, at->path, &probes, err, sizeof(err));
	} while (file->watched == -ENOSPC && make_room(files));
	file->at_ns = now_ns;
	file->late_from = monotonic_ns();
	free(file->refusal);
	file->refusal = file->watched < 0 && !file->said ? strdup(err) : NULL;
}

/* Says nothing about files that are of no interest to this recording. */
static void say_refusal(struct probed_files *files, struct probed_file *file)
{
	if (!file->refusal)
		return;
	file->said = true;
	files->refused++;
	if (*file->refusal)
		files->say(file->refusal);
	free(file->refusal);
	file->refusal = NULL;
}

static struct probed_file *add(struct probed_files *files, const struct file_key *key, uint64_t now_ns)
{
	struct probed_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->key = *key;
	file->watched = -EAGAIN;
	file->unused_ns = now_ns;
	file->pinned = true; /* while room is made for it */
	HASH_ADD(hh, files->by_key, key, sizeof(file->key), file);
	if (file->hh.tbl)
		return file;
	free(file);
	return NULL;
}

/* What is told while the file is refused counts when it no longer is. */
static void note_mapped(struct probed_file *file, uint64_t mapped_ns)
{
	if (mapped_ns && (!file->mapped_ns || mapped_ns < file->mapped_ns))
		file->mapped_ns = mapped_ns;
}

/* The record of a mapping may be read only after a look at the process has found the file. */
static void count_lateness(struct probed_files *files, struct probed_file *file)
{
	if (!file->mapped_ns || file->mapped_ns >= file->late_from)
		return;
	files->late_ns += file->late_from - file->mapped_ns;
	file->late_from = file->mapped_ns;
}

uint64_t probed_files_attach(struct probed_files *files, uint32_t pid, const struct probed_file_at *at,
                             uint64_t now_ns)
{
	struct file_key key = { .dev = at->dev, .inode = at->inode };
	struct probed_file *file;
	bool added;

	HASH_FIND(hh, files->by_key, &key, sizeof(key), file);
	added = !file;
	if (added)
		file = add(files, &key, now_ns);
	if (!file) {
		files->refused++;
		return 0;
	}
	if (file->watched < 0 && (added || now_ns - file->at_ns > PROBED_FILES_RETRY_NS))
		watch(files, file, at, now_ns);
	if (added)
		file->pinned = false;
	if (at->of_interest)
		say_refusal(files, file);
	note_user(files, pid, file);
	if (at->of_interest && at->probes)
		note_mapped(file, at->mapped_ns);
	if (file->watched < 0)
		return 0;
	count_lateness(files, file);
	return file->at_ns;
}

uint64_t probed_files_refused(const struct probed_files *files)
{
	return files->refused;
}

uint64_t probed_files_late_ns(const struct probed_files *files)
{
	return files->late_ns;
}
