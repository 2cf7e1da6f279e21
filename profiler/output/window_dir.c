/* Names, writes, trims and cleans up the window files in a folder. */

#include "profiler/output/window_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pprof/pprof_file.h"
#include "symbolizer/base/clock.h"

#define PREFIX       "stallprof-"
#define SUFFIX       ".pb.gz"
#define SAME_TIME    1000
#define FILES_MAX    (1u << 20)
#define DIGITS       "0123456789"
#define NAME_MAX_LEN 64
#define AHEAD_MS     60000 /* clocks of hosts that share a folder may differ so much */
#define ROOM_PART    16
#define ROOM_BYTES   16384 /* that a file may take beside its content */

struct window_dir {
	uint64_t max_bytes;
	uint64_t bytes;   /* of all windows when they were listed, and of those that we have written since */
	uint64_t list_ns; /* CLOCK_MONOTONIC: when they are to be listed again, whatever `bytes` is */
	bool in_vain;     /* room was made, and there was none; no window has been written since */
	dev_t above;      /* the device of the folder above it */
	char path[];
};

struct window_file {
	char name[NAME_MAX_LEN];
	uint64_t time_ms, number;
	uint64_t bytes;
	bool to_come; /* its time */
};

struct window_files {
	DIR *dir;
	struct window_file *file; /* the oldest first */
	size_t n, room;
	uint64_t bytes;
};

/* 0: there is none. */
static dev_t device_above(const char *path)
{
	char copy[PATH_MAX];
	struct stat st;

	snprintf(copy, sizeof(copy), "%s", path);
	return stat(dirname(copy), &st) ? 0 : st.st_dev;
}

struct window_dir *window_dir_new(const char *path, uint64_t max_bytes)
{
	struct window_dir *dir = calloc(1, sizeof(*dir) + strlen(path) + 1);

	if (!dir)
		return NULL;
	dir->max_bytes = max_bytes;
	dir->above = device_above(path);
	memcpy(dir->path, path, strlen(path) + 1);
	return dir;
}

void window_dir_free(struct window_dir *dir)
{
	free(dir);
}

/* Moves *at behind a number; there must be one. */
static bool take_number(const char **at, uint64_t *number)
{
	size_t digits = strspn(*at, DIGITS);

	if (!digits || digits > 18)
		return false;
	*number = strtoull(*at, NULL, 10);
	*at += digits;
	return true;
}

static bool take_text(const char **at, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*at, text, n))
		return false;
	*at += n;
	return true;
}

/* What follows the name of a window; NULL when `name` does not begin with one. */
static const char *after_window(const char *name, uint64_t *time_ms, uint64_t *number)
{
	*number = 0;
	if (!take_text(&name, PREFIX) || !take_number(&name, time_ms))
		return NULL;
	if (take_text(&name, "-") && !take_number(&name, number))
		return NULL;
	return take_text(&name, SUFFIX) ? name : NULL;
}

/* A path where no file exists yet. That the folder is missing is not seen here. */
static int make_path(const char *dir, int64_t time_unix_ns, char *path, size_t size)
{
	long long time_ms = time_unix_ns / 1000000;
	int i, n = snprintf(path, size, "%s/" PREFIX "%lld" SUFFIX, dir, time_ms);

	for (i = 1; n > 0 && (size_t)n < size && i < SAME_TIME; i++) {
		if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
			return errno == ENOENT ? 0 : -errno;
		n = snprintf(path, size, "%s/" PREFIX "%lld-%d" SUFFIX, dir, time_ms, i);
	}
	return i < SAME_TIME ? -ENAMETOOLONG : -EEXIST;
}

static int by_age(const void *a, const void *b)
{
	const struct window_file *x = a, *y = b;

	if (x->to_come != y->to_come)
		return x->to_come ? -1 : 1;
	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int add_file(struct window_files *files, const struct window_file *file)
{
	struct window_file *more;

	if (files->n == files->room) {
		size_t room = files->room ? 2 * files->room : 256;

		more = room > FILES_MAX ? NULL : realloc(files->file, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		files->file = more;
		files->room = room;
	}
	files->file[files->n++] = *file;
	files->bytes += file->bytes;
	return 0;
}

static void list_windows(struct window_files *files)
{
	uint64_t now_ms = unix_ns() / 1000000;
	struct dirent *entry;
	struct stat st;
	int err = 0;

	while (!err && (entry = readdir(files->dir))) {
		struct window_file file = { 0 };
		const char *rest = after_window(entry->d_name, &file.time_ms, &file.number);

		if (!rest || *rest || strlen(entry->d_name) >= sizeof(file.name) ||
		    fstatat(dirfd(files->dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		memcpy(file.name, entry->d_name, strlen(entry->d_name) + 1); /* checked above */
		file.bytes = st.st_size;
		file.to_come = file.time_ms > now_ms + AHEAD_MS;
		err = add_file(files, &file);
	}
}

/* False: the folder cannot be read. Else close_listing() it. */
static bool open_listing(const struct window_dir *dir, struct window_files *files)
{
	*files = (struct window_files){ .dir = opendir(dir->path) };
	if (!files->dir)
		return false;
	list_windows(files);
	if (files->n)
		qsort(files->file, files->n, sizeof(*files->file), by_age);
	return true;
}

static void close_listing(struct window_dir *dir, struct window_files *files)
{
	dir->bytes = files->bytes;
	dir->list_ns = monotonic_ns() + WINDOW_DIR_LIST_NS;
	closedir(files->dir);
	free(files->file);
}

static bool remove_file(struct window_files *files, size_t i)
{
	if (unlinkat(dirfd(files->dir), files->file[i].name, 0))
		return false;
	files->bytes -= files->file[i].bytes;
	return true;
}

/* `written`: the path of the window that stays; NULL: none was written. */
static void trim(struct window_dir *dir, const char *written)
{
	const char *stays = written ? strrchr(written, '/') + 1 : "";
	bool fits = dir->bytes <= dir->max_bytes && monotonic_ns() < dir->list_ns;
	struct window_files files;
	uint64_t most;

	if (!dir->max_bytes || fits || !open_listing(dir, &files))
		return;
	/* Some room is made for the next ones, too, or the folder would be listed for nearly each. */
	most = files.bytes > dir->max_bytes ? dir->max_bytes - dir->max_bytes / ROOM_PART : dir->max_bytes;
	for (size_t i = 0; i < files.n && files.bytes > most; i++)
		if (strcmp(files.file[i].name, stays))
			remove_file(&files, i);
	close_listing(dir, &files);
}

/* Removes the oldest that take so many bytes, if enough others are left. Returns how many. */
static size_t make_room(struct window_dir *dir, uint64_t bytes)
{
	struct window_files files;
	size_t n, removed = 0;
	uint64_t found = 0;

	if (!dir->max_bytes || !open_listing(dir, &files))
		return 0;
	for (n = 0; n + WINDOW_DIR_LEAST < files.n && found < bytes; n++)
		found += files.file[n].bytes;
	for (size_t i = 0; i < n && found >= bytes; i++)
		removed += remove_file(&files, i);
	close_listing(dir, &files);
	return removed;
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* Others may write there at the same time. */
static int write_window(const struct window_dir *dir, int64_t time_unix_ns, const void *bytes, size_t len,
                        struct window_dir_file *out)
{
	int err = -EEXIST;

	for (int tries = 0; err == -EEXIST && tries < SAME_TIME; tries++) {
		err = make_path(dir->path, time_unix_ns, out->path, sizeof(out->path));
		if (err) {
			snprintf(out->err, sizeof(out->err), "cannot name a file for the window: %s",
			         strerror(-err));
			return err;
		}
		err = pprof_file_write_new(out->path, bytes, len, out->err, sizeof(out->err));
	}
	return err;
}

int window_dir_write(struct window_dir *dir, int64_t time_unix_ns, const void *bytes, size_t len,
                     struct window_dir_file *out)
{
	int err = write_window(dir, time_unix_ns, bytes, len, out);

	/* Not below a mount point whose file system is gone. */
	if (err == -ENOENT && device_above(dir->path) == dir->above && !mkdir(dir->path, 0755))
		err = write_window(dir, time_unix_ns, bytes, len, out);
	out->made_room = 0;
	if (is_full(err) && !dir->in_vain)
		out->made_room = make_room(dir, len + ROOM_BYTES);
	if (out->made_room)
		err = write_window(dir, time_unix_ns, bytes, len, out);
	if (!err || out->made_room)
		dir->in_vain = is_full(err);
	dir->bytes += err ? 0 : len;
	trim(dir, err ? NULL : out->path);
	return err;
}

static bool is_left_over(const char *name)
{
	uint64_t time_ms, number, pid, attempt;
	const char *at = after_window(name, &time_ms, &number);

	if (!at || !take_text(&at, ".") || !take_number(&at, &pid) || !take_text(&at, "-") ||
	    !take_number(&at, &attempt) || strcmp(at, ".tmp"))
		return false;
	return pid > 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/*
 * Whether a process id means one of this host. Not the same as whether files may be mapped (regular_file_keeps_pages()): any
 * overlay will do, as it writes to a file system of this host.
 */
static bool only_this_host_writes(int fd)
{
	static const long ours[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
		                     TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC };
	struct statfs fs;
	size_t i;

	if (fstatfs(fd, &fs))
		return false;
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (fs.f_type == ours[i])
			return true;
	}
	return false;
}

void window_dir_clean(const char *dir)
{
	DIR *listing = opendir(dir);
	struct dirent *entry;

	if (!listing)
		return;
	while (only_this_host_writes(dirfd(listing)) && (entry = readdir(listing))) {
		if (is_left_over(entry->d_name))
			unlinkat(dirfd(listing), entry->d_name, 0);
	}
	closedir(listing);
}
