/* Reads a file block by block for its sha256, and leaves the page cache as it was. */

#include "profiler/session/file_sum.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "symbolizer/base/regular_file.h"

#define BLOCK      ((size_t)1 << 20)
#define LOOK_BYTES ((off_t)256 << 20)
#define PAGE       ((size_t)4096)
#define SUM_BYTES  32
#define VALUE_MAX  256
#define SUM_PREFIX "sha256:"

struct reading {
	int fd;
	EVP_MD_CTX *digest;
	char *block;
	unsigned char was_there[BLOCK / PAGE]; /* pages of the block that were in memory before it was read */
};

bool file_sum_parse(const char *value, size_t size, char sum[FILE_SUM_TEXT])
{
	const size_t digits = FILE_SUM_TEXT - 1;

	sum[0] = '\0';
	if (size >= strlen(SUM_PREFIX) && !strncmp(value, SUM_PREFIX, strlen(SUM_PREFIX))) {
		value += strlen(SUM_PREFIX);
		size -= strlen(SUM_PREFIX);
	}
	if (size < digits)
		return false;
	for (size_t i = 0; i < digits; i++)
		if (!isxdigit((unsigned char)value[i]))
			return false;
	for (size_t i = digits; i < size; i++)
		if (value[i] && !isspace((unsigned char)value[i]))
			return false;
	for (size_t i = 0; i < digits; i++)
		sum[i] = (char)tolower((unsigned char)value[i]);
	sum[digits] = '\0';
	return true;
}

static void read_said(int fd, char said[FILE_SUM_TEXT])
{
	char value[VALUE_MAX];
	ssize_t size = fgetxattr(fd, FILE_SUM_XATTR, value, sizeof(value));

	said[0] = '\0';
	if (size > 0)
		file_sum_parse(value, (size_t)size, said);
}

static bool is_meant(int fd, const struct stat *info, const struct file_identity *identity)
{
	unsigned long generation = 0; /* the kernel writes an int */

	if (!S_ISREG(info->st_mode) || info->st_ino != identity->number)
		return false;
	if ((major(info->st_dev) << 20 | minor(info->st_dev)) == identity->dev)
		return true;
	return !ioctl(fd, FS_IOC_GETVERSION, &generation) && generation && generation == identity->generation;
}

/* How much of the path is another process's root folder, /proc/PID/root; 0: it is a path of ours. */
static size_t root_length(const char *path)
{
	int length = 0;

	sscanf(path, "/proc/%*[0-9]/root%n", &length);
	return length > 0 && path[length] == '/' ? (size_t)length : 0;
}

/* The folders may be a user's, who may have put links in their place: only a regular file is opened, below that user's root folder.
 * Returns the descriptor or -errno. */
static int open_file(const char *path)
{
	size_t length = root_length(path);
	char root[64];
	int fd;

	if (length >= sizeof(root))
		return -ENAMETOOLONG;
	snprintf(root, sizeof(root), "%.*s", (int)length, path);
	fd = regular_file_open_in(root, path + length, O_NOFOLLOW);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NOATIME); /* only of files that are ours, if we are not root */
	return fd;
}

/* --- the page cache ------------------------------------------------------------------------------------- */

/* Where that is not known all of it was there. */
static void look_what_is_there(struct reading *reading, off_t at, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, reading->fd, at);

	if (map == MAP_FAILED || mincore(map, size, reading->was_there))
		memset(reading->was_there, 1, sizeof(reading->was_there));
	if (map != MAP_FAILED)
		munmap(map, size);
}

static bool was_there(const struct reading *reading, size_t page)
{
	return reading->was_there[page] & 1;
}

static void drop_what_was_not(const struct reading *reading, off_t at, size_t size)
{
	size_t pages = (size + PAGE - 1) / PAGE, first, i;

	for (i = 0; i < pages; i++) {
		if (was_there(reading, i))
			continue;
		for (first = i; i + 1 < pages && !was_there(reading, i + 1); i++)
			;
		posix_fadvise(reading->fd, at + (off_t)(first * PAGE), (off_t)((i + 1 - first) * PAGE),
		              POSIX_FADV_DONTNEED);
	}
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* 0; -errno; -ESTALE: the file has become shorter. */
static int read_block(struct reading *reading, off_t at, size_t size)
{
	size_t done = 0;

	look_what_is_there(reading, at, size);
	while (done < size) {
		ssize_t n = pread(reading->fd, reading->block + done, size - done, at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ESTALE;
		done += (size_t)n;
	}
	drop_what_was_not(reading, at, size);
	return EVP_DigestUpdate(reading->digest, reading->block, size) ? 0 : -ENOMEM;
}

static bool same_moment(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* -ESTALE once it was written to or deleted: its rest may be long, and is of no use. */
static int look_again(int fd, const struct stat *before)
{
	struct stat now;

	if (fstat(fd, &now))
		return -errno;
	return now.st_nlink && now.st_size == before->st_size && same_moment(&now.st_mtim, &before->st_mtim)
	               ? 0
	               : -ESTALE;
}

static int read_all(struct reading *reading, const struct stat *before, struct file_sum *sum)
{
	off_t size = before->st_size;
	unsigned char digest[EVP_MAX_MD_SIZE];
	int err = EVP_DigestInit_ex(reading->digest, EVP_sha256(), NULL) ? 0 : -ENOMEM;

	/* What is read ahead would be taken for what was there before. */
	posix_fadvise(reading->fd, 0, 0, POSIX_FADV_RANDOM);
	for (off_t at = 0; at < size && !err; at += BLOCK) {
		err = at % LOOK_BYTES ? 0 : look_again(reading->fd, before);
		if (!err)
			err = read_block(reading, at, size - at < (off_t)BLOCK ? (size_t)(size - at) : BLOCK);
	}
	if (!err && !EVP_DigestFinal_ex(reading->digest, digest, NULL))
		err = -ENOMEM;
	for (size_t i = 0; i < SUM_BYTES && !err; i++)
		snprintf(sum->sha256 + 2 * i, 3, "%02x", digest[i]);
	return err;
}

static int read_file(int fd, const struct stat *before, struct file_sum *sum)
{
	struct reading reading = { .fd = fd, .digest = EVP_MD_CTX_new(), .block = malloc(BLOCK) };
	int err = reading.digest && reading.block ? read_all(&reading, before, sum) : -ENOMEM;

	EVP_MD_CTX_free(reading.digest);
	free(reading.block);
	return err;
}

/* A rename and another xattr change the ctime, too: the mtime says whether it was written. */
static enum file_sum_result take(int fd, const struct file_identity *identity, struct file_sum *sum)
{
	struct stat before, after;
	int err;

	if (fstat(fd, &before) || !is_meant(fd, &before, identity))
		return FILE_SUM_GONE;
	err = read_file(fd, &before, sum);
	if (!err && fstat(fd, &after))
		err = -errno;
	if (err == -ESTALE ||
	    (!err && (before.st_size != after.st_size || !same_moment(&before.st_mtim, &after.st_mtim))))
		return FILE_SUM_CHANGED;
	sum->error = -err;
	if (err)
		return FILE_SUM_UNREADABLE;
	read_said(fd, sum->said);
	return FILE_SUM_TAKEN;
}

enum file_sum_result file_sum_take(const char *path, const struct file_identity *identity,
                                   struct file_sum *sum)
{
	static const int gone[] = { ENOENT, ENOTDIR, ELOOP, EBADMSG };
	int fd = open_file(path);
	enum file_sum_result result;

	*sum = (struct file_sum){ .error = fd < 0 ? -fd : 0 };
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (fd == -gone[i])
			return FILE_SUM_GONE;
	if (fd < 0)
		return FILE_SUM_UNREADABLE;
	result = take(fd, identity, sum);
	if (result != FILE_SUM_TAKEN)
		sum->sha256[0] = '\0';
	close(fd);
	return result;
}
