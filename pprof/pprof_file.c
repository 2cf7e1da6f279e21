/* Reads a profile from a file or pipe; writes one beside the old file and renames it. */

#include "pprof/pprof_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BYTES = 65536, GZIP_FIRST = 0x1f };

/* What a user can do about an errno; "" when the error's text is enough. */
static const char *way_out(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "; free some space, or write elsewhere";
	case EACCES:
	case EPERM:
		return "; check its owner and permissions";
	case EROFS:
		return "; write elsewhere";
	case ENOENT:
		return "; check the path";
	case EISDIR:
		return "; give the name of a file";
	case EFBIG:
		return "; raise the limit on file sizes (ulimit -f), or write elsewhere";
	default:
		return "";
	}
}

static int fail(int error, char *err, size_t err_len, const char *action, const char *path)
{
	if (err_len)
		snprintf(err, err_len, "cannot %s %s: %s%s", action, path, strerror(error), way_out(error));
	return -error;
}

/* --- read --------------------------------------------------------------------------------------------- */

struct content {
	char *bytes;
	size_t len, capacity, max;
};

/* Whether a profile may begin with the byte: gzip's first, or a field of a message. So /dev/zero is not read up to the bound. */
static bool may_begin(unsigned char first)
{
	unsigned int wire_type = first & 7;

	return first == GZIP_FIRST || (first >> 3 && (wire_type < 3 || wire_type == 5));
}

/* Standard input may be set not to block by whoever shares it. */
static bool waits_for_more(int fd)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };

	return errno == EINTR || (errno == EAGAIN && (poll(&wanted, 1, -1) >= 0 || errno == EINTR));
}

static int read_all(int fd, struct content *c)
{
	for (;;) {
		if (c->len == c->capacity) {
			size_t want = c->capacity ? c->capacity * 2 : FIRST_BYTES;
			char *grown;

			if (c->len > c->max)
				return -EFBIG;
			/* One more than the bound, to see that there is more. */
			want = want > c->max ? c->max + 1 : want;
			grown = realloc(c->bytes, want);
			if (!grown)
				return -ENOMEM;
			c->bytes = grown;
			c->capacity = want;
		}

		ssize_t n = read(fd, c->bytes + c->len, c->capacity - c->len);

		if (n < 0 && !waits_for_more(fd))
			return -errno;
		if (n == 0)
			return 0;
		c->len += n > 0 ? (size_t)n : 0;
		if (c->len && !may_begin((unsigned char)c->bytes[0]))
			return 0;
	}
}

/* Standard input may be a socket, or a file that we may not open anew. */
static int open_to_read(const char *path)
{
	return !strcmp(path, "/dev/stdin") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
	                                   : open(path, O_RDONLY | O_CLOEXEC);
}

int pprof_file_read(const char *path, size_t max_bytes, struct profile **out, char *err, size_t err_len)
{
	struct content c = { .max = max_bytes < SIZE_MAX ? max_bytes : SIZE_MAX - 1 };
	char reason[256] = "";
	int ret, fd = open_to_read(path);

	*out = NULL;
	if (fd < 0)
		return fail(errno, err, err_len, "open", path);
	ret = read_all(fd, &c);
	close(fd);
	if (ret == -EFBIG && err_len)
		snprintf(err, err_len, "cannot read %s: it is larger than the %zu bytes allowed", path,
		         max_bytes);
	else if (ret < 0)
		fail(-ret, err, err_len, "read", path);
	if (!ret) {
		ret = profile_decode(c.bytes, c.len, max_bytes, out, reason, sizeof(reason));
		if (ret < 0 && err_len)
			snprintf(err, err_len, "%s is not a profile that can be read: %s", path, reason);
	}
	free(c.bytes);
	return ret;
}

/* --- write -------------------------------------------------------------------------------------------- */

static int write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int write_in_place(const char *path, bool is_file, const void *bytes, size_t len)
{
	int ret, fd = open(path, O_WRONLY | O_CLOEXEC | (is_file ? O_TRUNC : 0));

	if (fd < 0)
		return -errno;
	ret = write_all(fd, bytes, len);
	if (!ret && is_file && fsync(fd) < 0)
		ret = -errno;
	return close(fd) < 0 && !ret ? -errno : ret;
}

/* So that the rename itself survives a crash. File systems that can't sync a folder do without. */
static void sync_dir(const char *path)
{
	char copy[PATH_MAX];
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* Made by open() itself, so that the umask applies. */
static int open_beside(const char *path, char *temp, size_t temp_size)
{
	for (int attempt = 0; attempt < 100; attempt++) {
		int fd, n = snprintf(temp, temp_size, "%s.%d-%d.tmp", path, (int)getpid(), attempt);

		if ((size_t)n >= temp_size)
			return -ENAMETOOLONG;
		fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

/* A server may have made the link, and its answer was lost: asked again it says that it is there. `from` was ours alone. */
static bool is_linked(const char *from)
{
	struct stat st;

	return !stat(from, &st) && st.st_nlink == 2;
}

/* As rename(), but what is there stays: -EEXIST. Where neither a flag nor hard links can say so, it is replaced. */
static int rename_to_new(const char *from, const char *to)
{
	int err;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	err = link(from, to) ? -errno : 0;
	if (err == -EEXIST && !is_linked(from))
		return err;
	if (err && err != -EEXIST)
		return rename(from, to) < 0 ? -errno : 0;
	unlink(from);
	return 0;
}

static int rename_over(const char *from, const char *to)
{
	return rename(from, to) < 0 ? -errno : 0;
}

static int write_beside(const char *path, const struct stat *old, const void *bytes, size_t len,
                        int (*put)(const char *from, const char *to))
{
	char temp[PATH_MAX];
	int ret, fd = open_beside(path, temp, sizeof(temp));

	if (fd < 0)
		return fd;
	ret = old && fchmod(fd, old->st_mode & 0777) < 0 ? -errno : write_all(fd, bytes, len);
	if (!ret && fsync(fd) < 0)
		ret = -errno;
	if (close(fd) < 0 && !ret)
		ret = -errno;
	if (!ret)
		ret = put(temp, path);
	if (ret < 0)
		unlink(temp);
	else
		sync_dir(path);
	return ret;
}

/* Nothing can take its place: something is mounted on it, as on a file that a container was given, or its folder is not ours. */
static bool keeps_its_place(const char *path, int err)
{
	return err == -EBUSY || ((err == -EROFS || err == -EACCES) && !access(path, W_OK));
}

static int write_bytes(const char *path, const void *bytes, size_t len)
{
	char target[PATH_MAX];
	struct stat old;
	int ret;

	if (stat(path, &old) < 0)
		return errno == ENOENT ? write_beside(path, NULL, bytes, len, rename_over) : -errno;
	if (S_ISDIR(old.st_mode))
		return -EISDIR;
	if (!S_ISREG(old.st_mode))
		return write_in_place(path, false, bytes, len);
	if (!realpath(path, target))
		return -errno;
	ret = write_beside(target, &old, bytes, len, rename_over);
	return keeps_its_place(target, ret) ? write_in_place(target, true, bytes, len) : ret;
}

int pprof_file_write_bytes(const char *path, const void *bytes, size_t len, char *err, size_t err_len)
{
	int ret = write_bytes(path, bytes, len);

	return ret < 0 ? fail(-ret, err, err_len, "write", path) : 0;
}

int pprof_file_write_new(const char *path, const void *bytes, size_t len, char *err, size_t err_len)
{
	int ret = write_beside(path, NULL, bytes, len, rename_to_new);

	return ret < 0 ? fail(-ret, err, err_len, "write", path) : 0;
}

int pprof_file_write(const char *path, const struct profile *p, uint32_t types, char *err, size_t err_len)
{
	void *bytes;
	size_t len;
	int ret = profile_encode(p, types, true, &bytes, &len);

	if (ret < 0)
		return fail(-ret, err, err_len, "encode the profile for", path);
	ret = pprof_file_write_bytes(path, bytes, len, err, err_len);
	free(bytes);
	return ret;
}
