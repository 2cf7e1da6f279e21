/* Opens files that processes have mapped, reads their facts, and caches them. */

#include "profiler/tags/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/tracer/library_calls.h"
#include "symbolizer/base/file_gate.h"

struct remembered {
	struct mapped_file_key key;
	struct tag_file facts;
	bool used; /* since the last search for one to forget */
	UT_hash_handle hh;
};

struct mapped_files {
	struct remembered *by_key;
	size_t max;
	struct mapped_files_stats stats;
};

struct mapped_files *mapped_files_new(size_t files_max)
{
	struct mapped_files *files = calloc(1, sizeof(*files));

	if (files)
		files->max = files_max;
	return files;
}

static void forget(struct mapped_files *files, struct remembered *file)
{
	HASH_DEL(files->by_key, file);
	free(file);
}

/* The first that was not used since the last search, else the oldest. */
static void forget_one(struct mapped_files *files)
{
	struct remembered *file = files->by_key;

	for (; file && file->used; file = file->hh.next)
		file->used = false;
	forget(files, file ? file : files->by_key);
}

void mapped_files_free(struct mapped_files *files)
{
	struct remembered *file, *next;

	if (!files)
		return;
	HASH_ITER (hh, files->by_key, file, next)
		forget(files, file);
	free(files);
}

/* By what is in memory of the file, as nobody is to be waited for: `path` is a link of /proc, or file_gate_path() has let it pass. */
static int key_of(const char *path, struct mapped_file_key *key)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) || !S_ISREG(st.stx_mode))
		return -ENOENT;
	*key = (struct mapped_file_key){ .dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		                         .inode = st.stx_ino,
		                         .mtime_sec = (uint64_t)st.stx_mtime.tv_sec,
		                         .mtime_nsec = st.stx_mtime.tv_nsec,
		                         .bytes = st.stx_size };
	return 0;
}

/* 0; -EAGAIN: its file system does not answer; -ENOENT: else. */
static int key_of_path(const char *path, struct mapped_file_key *key)
{
	return file_gate_path("", path) ? key_of(path, key) : -EAGAIN;
}

static void map_files_path(pid_t pid, uint64_t start, uint64_t end, char *out, size_t bytes)
{
	snprintf(out, bytes, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start, end);
}

/* False when it does not fit. */
static bool root_path(pid_t pid, const char *path, char *out, size_t bytes)
{
	int len = snprintf(out, bytes, "/proc/%d/root%s", (int)pid, path);

	return path[0] == '/' && len > 0 && (size_t)len < bytes;
}

/* The link to the mapping itself needs CAP_CHECKPOINT_RESTORE, and that the mapping is still the same. */
static int find_file(pid_t pid, uint64_t start, uint64_t end, const char *path, char *out, size_t bytes,
                     struct mapped_file_key *key)
{
	int err;

	map_files_path(pid, start, end, out, bytes);
	err = key_of(out, key);
	if (err && root_path(pid, path, out, bytes))
		err = key_of_path(out, key);
	return err;
}

static struct remembered *remember(struct mapped_files *files, const struct mapped_file_key *key)
{
	struct remembered *file = calloc(1, sizeof(*file)), *added = NULL;

	if (!file)
		return NULL;
	if (HASH_COUNT(files->by_key) >= files->max)
		forget_one(files);
	file->key = *key;
	HASH_ADD(hh, files->by_key, key, sizeof(file->key), file);
	HASH_FIND(hh, files->by_key, key, sizeof(*key), added);
	if (!added)
		free(file);
	return added;
}

/* -EBADMSG and -ENOEXEC are an answer: nothing of interest. */
static int read_facts(struct mapped_files *files, const char *path, struct tag_file *out)
{
	int err = tag_file_read_path(path, out);

	files->stats.read++;
	if (err == -EBADMSG)
		files->stats.corrupt++;
	return err == -EBADMSG || err == -ENOEXEC ? 0 : err;
}

int mapped_file_facts(struct mapped_files *files, pid_t pid, uint64_t start, uint64_t end, const char *path,
                      const struct tag_file **out, struct mapped_file_key *key)
{
	char name[MAPPED_FILE_PATH_MAX];
	struct remembered *file;
	struct tag_file facts;
	int err;

	err = find_file(pid, start, end, path, name, sizeof(name), key);
	if (err) {
		files->stats.unopened += err != -EAGAIN;
		return err;
	}
	HASH_FIND(hh, files->by_key, key, sizeof(*key), file);
	if (file) {
		file->used = true;
		*out = &file->facts;
		return 0;
	}
	err = read_facts(files, name, &facts);
	if (err) {
		files->stats.unopened += err != -EAGAIN;
		return err;
	}
	file = remember(files, key);
	if (!file)
		return -ENOMEM;
	file->facts = facts;
	file->facts.libraries =
	        facts.n_texts ? library_calls_of(path) : 0; /* by /proc/PID/map_files it has another name */
	*out = &file->facts;
	return 0;
}

static bool is_file(const char *path, const struct mapped_file_key *key)
{
	struct mapped_file_key found;

	return !key_of_path(path, &found) && !memcmp(&found, key, sizeof(found));
}

bool mapped_file_path(const struct mapped_file_key *key, pid_t pid, uint64_t start, uint64_t end,
                      const char *path, char *out, size_t out_bytes)
{
	if (path[0] == '/' && strlen(path) < out_bytes) {
		memcpy(out, path, strlen(path) + 1);
		if (is_file(out, key))
			return true;
	}
	if (root_path(pid, path, out, out_bytes) && is_file(out, key))
		return true;
	map_files_path(pid, start, end, out, out_bytes);
	return is_file(out, key);
}

void mapped_files_stats(const struct mapped_files *files, struct mapped_files_stats *out)
{
	*out = files->stats;
}
