/* The folder of windows that wait for a server: opens, locks and lists it; writes, reads and removes its files. */

#include "profiler/output/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/output/push_window.h"
#include "profiler/output/spool_file.h"
#include "symbolizer/base/regular_file.h"

#define NEW_FILE   "new"
#define DAMAGED    "damaged"
#define SUFFIX     ".window"
#define NUMBER_MAX UINT64_C(999999999999)

struct spool {
	char *path;
	int fd; /* of the folder; holds the lock */
	atomic_uint owners;
	pthread_mutex_t lock; /* of what follows, and of NEW_FILE */
	uint64_t last;        /* the highest number so far */
	bool last_known;      /* … of the folder that is open */
};

static void name_of(uint64_t number, char name[SPOOL_NAME_BYTES])
{
	snprintf(name, SPOOL_NAME_BYTES, "%0*" PRIu64 SUFFIX, SPOOL_DIGITS, number);
}

/* 0: it is no window's. */
static uint64_t number_of(const char *name)
{
	if (strspn(name, "0123456789") != SPOOL_DIGITS || strcmp(name + SPOOL_DIGITS, SUFFIX) != 0)
		return 0;
	return strtoull(name, NULL, 10);
}

/* --- the folder ------------------------------------------------------------------------------------------ */

/* Whoever looks at the entries of the folder has a descriptor of his own. */
static int open_listing(const struct spool *spool, DIR **out)
{
	int fd = openat(spool->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	*out = fdopendir(fd);
	if (*out)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

static int find_last(struct spool *spool)
{
	struct dirent *entry;
	DIR *listing;
	int err = open_listing(spool, &listing);

	if (err)
		return err;
	while (errno = 0, (entry = readdir(listing))) {
		uint64_t number = number_of(entry->d_name);

		if (number > spool->last)
			spool->last = number;
	}
	err = -errno;
	closedir(listing);
	spool->last_known = !err;
	return err;
}

/* The descriptor, with the lock; or -errno. */
static int open_present_folder(const char *path)
{
	int fd, err = 0;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!regular_file_is_safe(fd))
		err = -EPERM;
	else if (flock(fd, LOCK_EX | LOCK_NB) || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int open_folder(const char *path)
{
	/* A mkdir() of what is there waits for a file system that is frozen; to look does not. */
	if (access(path, F_OK) && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return open_present_folder(path);
}

/* Whether a folder could be made there. 0 or -errno. */
static int check_above(const char *path)
{
	char *copy = strdup(path);
	int err;

	if (!copy)
		return -ENOMEM;
	err = faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) ? -errno : 0;
	free(copy);
	return err;
}

int spool_check(const char *path)
{
	int fd = open_present_folder(path);

	if (fd == -ENOENT)
		return check_above(path);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Somebody may have removed the folder, to be rid of what waited. Others see the old one, or the new one. */
static int reopen_if_removed(struct spool *spool)
{
	struct stat st;
	int fd, err = 0;

	if (fstat(spool->fd, &st))
		return -errno;
	if (st.st_nlink)
		return spool->last_known ? 0 : find_last(spool);
	fd = open_folder(spool->path);
	if (fd < 0)
		return fd;
	if (dup3(fd, spool->fd, O_CLOEXEC) < 0)
		err = -errno;
	else
		spool->last_known = false; /* another process may have used it meanwhile */
	close(fd);
	return err ? err : find_last(spool);
}

int spool_open(const char *path, struct spool **out)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	atomic_init(&spool->owners, 1);
	pthread_mutex_init(&spool->lock, NULL);
	spool->path = strdup(path);
	spool->fd = spool->path ? open_folder(spool->path) : -ENOMEM;
	err = spool->fd < 0 ? spool->fd : find_last(spool);
	if (err) {
		spool_close(spool);
		return err;
	}
	*out = spool;
	return 0;
}

bool spool_is(const struct spool *spool, const char *path)
{
	struct stat ours, theirs;

	if (!strcmp(spool->path, path))
		return true;
	return !fstat(spool->fd, &ours) && !lstat(path, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

struct spool *spool_share(struct spool *spool)
{
	atomic_fetch_add(&spool->owners, 1);
	return spool;
}

void spool_close(struct spool *spool)
{
	if (!spool || atomic_fetch_sub(&spool->owners, 1) > 1)
		return;
	if (spool->fd >= 0)
		close(spool->fd);
	pthread_mutex_destroy(&spool->lock);
	free(spool->path);
	free(spool);
}

static int by_number(const void *a, const void *b)
{
	const struct spool_entry *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int add_entry(struct spool_entry **entries, size_t *n, const struct spool_entry *entry)
{
	/* The room doubles with each power of two. */
	if (!(*n & (*n - 1))) {
		struct spool_entry *more = realloc(*entries, (*n ? 2 * *n : 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		*entries = more;
	}
	(*entries)[(*n)++] = *entry;
	return 0;
}

int spool_list(struct spool *spool, struct spool_entry **entries, size_t *n)
{
	struct dirent *found;
	struct stat st;
	DIR *listing;
	int err = open_listing(spool, &listing);

	*entries = NULL;
	*n = 0;
	if (err)
		return err;
	while (!err && *n < SPOOL_LIST_MAX) {
		struct spool_entry entry = { 0 };

		errno = 0;
		found = readdir(listing);
		if (!found) {
			err = -errno;
			break;
		}
		entry.number = number_of(found->d_name);
		if (!entry.number || fstatat(spool->fd, found->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		entry.bytes = st.st_size > 0 ? (uint64_t)st.st_size : 1;
		err = add_entry(entries, n, &entry);
	}
	closedir(listing);
	if (err) {
		free(*entries);
		*entries = NULL;
		*n = 0;
	} else if (*n) {
		qsort(*entries, *n, sizeof(**entries), by_number);
	}
	return err;
}

/* --- writing --------------------------------------------------------------------------------------------- */

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t done = write(fd, bytes, len);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			bytes += done;
			len -= (size_t)done;
		}
	}
	return 0;
}

/* Under the lock, as there is one NEW_FILE. */
static int write_file(struct spool *spool, const char *name, const uint8_t *bytes, size_t len)
{
	int fd, err;

	/* Of a process that was killed meanwhile. */
	unlinkat(spool->fd, NEW_FILE, 0);
	fd = openat(spool->fd, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, bytes, len);
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(spool->fd, NEW_FILE, spool->fd, name))
		err = -errno;
	if (err)
		unlinkat(spool->fd, NEW_FILE, 0);
	else
		fsync(spool->fd); /* file systems that can't do that do without */
	return err;
}

int spool_store(struct spool *spool, struct push_window *window)
{
	char name[SPOOL_NAME_BYTES];
	uint8_t *bytes;
	size_t len;
	int err = spool_file_encode(window, &bytes, &len);

	if (err)
		return err;
	pthread_mutex_lock(&spool->lock);
	err = reopen_if_removed(spool);
	if (!err && spool->last == NUMBER_MAX)
		err = -EOVERFLOW;
	name_of(spool->last + 1, name);
	if (!err)
		err = write_file(spool, name, bytes, len);
	if (!err) {
		window->number = ++spool->last;
		window->file_bytes = len;
	}
	pthread_mutex_unlock(&spool->lock);
	free(bytes);
	return err;
}

int spool_note(struct spool *spool, const struct push_window *window)
{
	uint8_t progress[SPOOL_PROGRESS_BYTES];
	char name[SPOOL_NAME_BYTES];
	int fd, err;

	name_of(window->number, name);
	fd = openat(spool->fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	spool_file_progress(window, progress);
	err = pwrite(fd, progress, sizeof(progress), SPOOL_PROGRESS_OFFSET) < 0 ? -errno : 0;
	return close(fd) && !err ? -errno : err;
}

void spool_remove(struct spool *spool, struct push_window *window)
{
	char name[SPOOL_NAME_BYTES];

	name_of(window->number, name);
	unlinkat(spool->fd, name, 0);
	window->number = window->file_bytes = 0;
}

int spool_set_aside(struct spool *spool, struct push_window *window, char name[SPOOL_NAME_BYTES])
{
	int err;

	name_of(window->number, name);
	err = renameat(spool->fd, name, spool->fd, SPOOL_REFUSED) ? -errno : 0;
	if (err)
		unlinkat(spool->fd, name, 0);
	window->number = window->file_bytes = 0;
	return err;
}

/* --- reading --------------------------------------------------------------------------------------------- */

static int read_all(int fd, uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t done = read(fd, bytes, len);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done == 0)
			return -EIO; /* whoever cut it does not respect the lock */
		if (done > 0) {
			bytes += done;
			len -= (size_t)done;
		}
	}
	return 0;
}

static int decode(int fd, struct push_window *window, const char **fault)
{
	uint8_t *bytes = NULL;
	struct stat st;
	int err = 0;

	*fault = NULL;
	if (fstat(fd, &st))
		return -errno;
	if (!regular_file_is_safe(fd))
		*fault = "others may have written it";
	else if (st.st_size > (off_t)SPOOL_FILE_MAX)
		*fault = "it is too large";
	if (*fault)
		return -EBADMSG;
	bytes = malloc((size_t)st.st_size + 1);
	err = bytes ? read_all(fd, bytes, (size_t)st.st_size) : -ENOMEM;
	if (!err)
		err = spool_file_decode(bytes, (size_t)st.st_size, window, fault);
	free(bytes);
	return err;
}

static int open_window(const struct spool *spool, const char *name, const char **fault)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", spool->fd, name);
	fd = regular_file_open_stat("", path, O_NOFOLLOW, &st);
	if (fd != -EBADMSG)
		return fd;
	*fault = S_ISLNK(st.st_mode) ? "it is a symbolic link" : "it is a pipe, a socket or a device";
	return S_ISDIR(st.st_mode) ? -EISDIR : fd;
}

int spool_load(struct spool *spool, struct push_window *window, const char **fault)
{
	char name[SPOOL_NAME_BYTES];
	int fd, err;

	name_of(window->number, name);
	err = fd = open_window(spool, name, fault);
	if (fd >= 0) {
		err = decode(fd, window, fault);
		close(fd);
	}
	if (err == -EBADMSG && renameat(spool->fd, name, spool->fd, DAMAGED))
		unlinkat(spool->fd, name, 0);
	return err;
}
