/* The folder of indexes on disk: opens, locks, replaces and removes files in it. */

#include "symbolizer/index/index_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/base/regular_file.h"

#define NEW_FILE   "new" INDEX_FILE_ENDING
#define MAX_FILES  65536
#define WAIT_STEPS 100 /* of 10 ms */

/* When a file was used is noted no more often than this. */
#define USE_SECONDS 60

struct index_dir {
	char *path;
	int fd;
	uint64_t max_bytes;
};

struct listed_file {
	char name[INDEX_NAME_SIZE];
	struct timespec used;
	uint64_t bytes;
};

/* Returns a descriptor, or -errno. */
static int open_dir(const char *path)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !regular_file_is_safe(fd)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int index_dir_open(const char *path, uint64_t max_bytes, struct index_dir **out)
{
	struct index_dir *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->max_bytes = max_bytes;
	f->path = strdup(path);
	f->fd = f->path ? open_dir(path) : -ENOMEM;
	if (f->fd < 0) {
		err = f->fd;
		index_dir_close(f);
		return err;
	}
	*out = f;
	return 0;
}

void index_dir_close(struct index_dir *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

uint64_t index_dir_max_bytes(const struct index_dir *f)
{
	return f->max_bytes;
}

const char *index_dir_path(const struct index_dir *f)
{
	return f->path;
}

int index_dir_open_file(const struct index_dir *f, const char *name)
{
	char path[PATH_MAX];
	struct timespec now[2];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", f->fd, name);
	fd = regular_file_open(path, O_NOFOLLOW);
	if (fd < 0)
		return fd == -ELOOP ? -EBADMSG : fd;
	if (!regular_file_is_safe(fd) || fstat(fd, &st)) {
		close(fd);
		return -EBADMSG;
	}
	clock_gettime(CLOCK_REALTIME, &now[0]);
	now[1] = now[0];
	if (now[0].tv_sec - st.st_mtim.tv_sec > USE_SECONDS || now[0].tv_sec < st.st_mtim.tv_sec)
		futimens(fd, now);
	return fd;
}

/* --- writing ---------------------------------------------------------------------------------------- */

/* Somebody may have removed the folder, to clear the cache. */
static int reopen_if_removed(struct index_dir *f)
{
	struct stat st;
	int fd;

	if (fstat(f->fd, &st))
		return -errno;
	if (st.st_nlink)
		return 0;
	fd = open_dir(f->path);
	if (fd < 0)
		return fd;
	close(f->fd);
	f->fd = fd;
	return 0;
}

int index_dir_lock(struct index_dir *f, bool wait)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int step, err = reopen_if_removed(f);

	if (err)
		return err;
	for (step = 0; flock(f->fd, LOCK_EX | LOCK_NB); step++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (!wait || step == WAIT_STEPS)
			return -EWOULDBLOCK;
		nanosleep(&pause, NULL);
	}
	return 0;
}

void index_dir_unlock(struct index_dir *f)
{
	flock(f->fd, LOCK_UN);
}

int index_dir_begin(struct index_dir *f)
{
	int fd;

	/* Of a writer that was killed: nobody else may write while we have the lock. */
	unlinkat(f->fd, NEW_FILE, 0);
	fd = openat(f->fd, NEW_FILE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* No fsync: a torn file fails its checksum and is discarded. */
int index_dir_end(struct index_dir *f, int fd, const char *name, int err)
{
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(f->fd, NEW_FILE, f->fd, name))
		err = -errno;
	if (err)
		unlinkat(f->fd, NEW_FILE, 0);
	return err;
}

/* --- the size of it all ----------------------------------------------------------------------------- */

static bool is_ours(const char *name)
{
	size_t len = strlen(name), ending = strlen(INDEX_FILE_ENDING);

	return len > ending && len < INDEX_NAME_SIZE && strcmp(name + len - ending, INDEX_FILE_ENDING) == 0;
}

static size_t list_files(const struct index_dir *f, struct listed_file *files)
{
	int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	size_t n = 0;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && n < MAX_FILES && (entry = readdir(dir))) {
		if (!is_ours(entry->d_name) || fstatat(f->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    S_ISDIR(st.st_mode))
			continue;
		files[n] = (struct listed_file){ .used = st.st_mtim, .bytes = (uint64_t)st.st_blocks * 512 };
		memcpy(files[n].name, entry->d_name, strlen(entry->d_name));
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static int compare_uses(const void *a, const void *b)
{
	const struct listed_file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	if (x->used.tv_nsec != y->used.tv_nsec)
		return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

size_t index_dir_trim(struct index_dir *f)
{
	struct listed_file *files = malloc(MAX_FILES * sizeof(*files));
	size_t n = files ? list_files(f, files) : 0, i, removed = 0;
	uint64_t sum = 0;

	for (i = 0; i < n; i++)
		sum += files[i].bytes;
	if (sum > f->max_bytes)
		qsort(files, n, sizeof(*files), compare_uses);
	for (i = 0; i < n && sum > f->max_bytes; i++) {
		if (unlinkat(f->fd, files[i].name, 0))
			continue;
		sum -= files[i].bytes;
		removed++;
	}
	free(files);
	return removed;
}
