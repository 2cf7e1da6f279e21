/*
 * saver folder=DIR outside=DIR [small=DIR] [bad=FILE]: writes files as programs that save checkpoints do, well and badly, and prints what it did:
 * {"file", "writes", "bytes", "short", "failed", "error", "syncs", "failed_syncs", "ranges": [[offset, length], …], "begin_ns", "renamed_from_ns",
 *  "renamed_to_ns" (Unix time before and after), "folder_synced": 0 or 1, "durable": what is to be judged of it, "reason", "synced"}
 *   DIR is of a tagged folder; files in OUTSIDE have the xattr user.ai.checkpoint, OUTSIDE/old has had it for long
 *   SMALL is a file system that gets full
 *   FILE takes "+FIRST-LAST": sectors of the disk below that are bad from then on
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/attack/attack.h"

#define PART   (256u << 10)
#define RANGES 8

struct file {
	char path[512];
	int fd;
	uint64_t writes, bytes, cut, failed, syncs, failed_syncs, begin_ns, from_ns, to_ns;
	int error;
	bool folder_synced;
	size_t n_ranges;
	uint64_t ranges[RANGES][2];
};

static char *buffer;
static const char *folder, *outside, *small, *bad;

static uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void open_file(struct file *file, const char *in, const char *name, int flags)
{
	*file = (struct file){ .begin_ns = unix_ns() };
	snprintf(file->path, sizeof(file->path), "%s/%s", in, name);
	file->fd = open(file->path, O_RDWR | flags, 0644);
	must(file->fd >= 0, file->path);
}

static void failed(struct file *file)
{
	file->error = file->error ? file->error : errno;
}

static ssize_t write_at(struct file *file, uint64_t at, size_t n)
{
	ssize_t done = pwrite(file->fd, buffer, n, (off_t)at);

	file->writes++;
	if (done < 0) {
		file->failed++;
		failed(file);
		return done;
	}
	file->bytes += (uint64_t)done;
	file->cut += (size_t)done < n;
	return done;
}

static void range(struct file *file, uint64_t at, uint64_t n)
{
	file->ranges[file->n_ranges][0] = at;
	file->ranges[file->n_ranges++][1] = n;
}

static void synced(struct file *file, int result)
{
	file->syncs++;
	file->failed_syncs += result != 0;
	if (result)
		failed(file);
}

static void rename_to(struct file *file, const char *in, const char *name)
{
	char to[sizeof(file->path)];

	snprintf(to, sizeof(to), "%s/%s", in, name);
	file->from_ns = unix_ns();
	must(rename(file->path, to) == 0, to);
	file->to_ns = unix_ns();
	snprintf(file->path, sizeof(file->path), "%s", to);
}

static void sync_folder(struct file *file, const char *in)
{
	int fd = open(in, O_RDONLY | O_DIRECTORY);

	must(fd >= 0 && fsync(fd) == 0 && close(fd) == 0, in);
	file->folder_synced = true;
}

static void done(struct file *file, const char *durable, const char *reason, bool is_synced)
{
	if (file->fd >= 0)
		close(file->fd);
	printf("{\"file\": \"%s\", \"writes\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"short\": %" PRIu64
	       ", \"failed\": %" PRIu64 ", \"error\": %d, \"syncs\": %" PRIu64 ", \"failed_syncs\": %" PRIu64
	       ", \"begin_ns\": %" PRIu64 ", \"renamed_from_ns\": %" PRIu64 ", \"renamed_to_ns\": %" PRIu64
	       ", \"folder_synced\": %d"
	       ", \"durable\": \"%s\", \"reason\": \"%s\", \"synced\": %d, \"ranges\": [",
	       file->path, file->writes, file->bytes, file->cut, file->failed, file->error, file->syncs,
	       file->failed_syncs, file->begin_ns, file->from_ns, file->to_ns, file->folder_synced, durable,
	       reason, is_synced);
	for (size_t i = 0; i < file->n_ranges; i++)
		printf("%s[%" PRIu64 ", %" PRIu64 "]", i ? ", " : "", file->ranges[i][0], file->ranges[i][1]);
	printf("]}\n");
}

static void write_parts(struct file *file)
{
	for (unsigned int i = 0; i < 4; i++)
		write_at(file, i * PART, PART);
	range(file, 0, 4 * PART);
}

static void good(void)
{
	struct file file;

	open_file(&file, folder, "good.tmp", O_CREAT | O_TRUNC);
	write_parts(&file);
	synced(&file, fsync(file.fd));
	rename_to(&file, folder, "good");
	sync_folder(&file, folder);
	done(&file, "yes", "", true);
}

static void early(void)
{
	struct file file;

	open_file(&file, folder, "early.tmp", O_CREAT | O_TRUNC);
	write_parts(&file);
	rename_to(&file, folder, "early");
	synced(&file, fsync(file.fd));
	done(&file, "no", "still_dirty", true);
}

static void never(void)
{
	struct file file;

	open_file(&file, folder, "never.tmp", O_CREAT | O_TRUNC);
	write_parts(&file);
	rename_to(&file, folder, "never");
	done(&file, "no", "still_dirty", false);
}

/* Another write behind the fsync, which is on its way to the device by itself when the file is renamed. */
static void again(void)
{
	struct file file;

	open_file(&file, folder, "again.tmp", O_CREAT | O_TRUNC);
	write_parts(&file);
	synced(&file, fdatasync(file.fd));
	write_at(&file, 4 * PART, 100);
	must(sync_file_range(file.fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0,
	     "sync_file_range");
	file.ranges[0][1] += 100;
	rename_to(&file, folder, "again");
	done(&file, "unknown", "changed_after_sync", false);
}

static void sparse(void)
{
	struct file file;

	open_file(&file, folder, "sparse.tmp", O_CREAT | O_TRUNC);
	write_at(&file, 3u << 20, 65536);
	write_at(&file, 0, 65536);
	write_at(&file, 3u << 19, 65536);
	write_at(&file, 65536, 1000);
	range(&file, 0, 66536);
	range(&file, 3u << 19, 65536);
	range(&file, 3u << 20, 65536);
	synced(&file, fdatasync(file.fd));
	rename_to(&file, folder, "sparse");
	done(&file, "yes", "", true);
}

/* From its end to its beginning. */
static void direct(void)
{
	struct file file;

	open_file(&file, folder, "direct.tmp", O_CREAT | O_TRUNC | O_DIRECT);
	must(ftruncate(file.fd, 4 * PART) == 0, "ftruncate");
	for (unsigned int i = 4; i--;)
		write_at(&file, i * PART, PART);
	range(&file, 0, 4 * PART);
	synced(&file, fsync(file.fd));
	rename_to(&file, folder, "direct");
	done(&file, "yes", "", true);
}

static void mapped(const char *name, bool syncs)
{
	struct file file;
	char temporary[64];
	char *map;

	snprintf(temporary, sizeof(temporary), "%s.tmp", name);
	open_file(&file, folder, temporary, O_CREAT | O_TRUNC);
	must(ftruncate(file.fd, 4 * PART) == 0, "ftruncate");
	map = mmap(NULL, 4 * PART, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	must(map != MAP_FAILED, "mmap");
	memset(map, 7, 4 * PART);
	range(&file, 0, 4 * PART);
	if (syncs)
		synced(&file, msync(map, 4 * PART, MS_SYNC));
	must(munmap(map, 4 * PART) == 0, "munmap");
	rename_to(&file, folder, name);
	if (!syncs)
		must(fsync(file.fd) == 0 && ++file.syncs, "fsync"); /* so that it is seen by its requests */
	done(&file, syncs ? "yes" : "no", syncs ? "" : "still_dirty", true);
}

static void synchronous(void)
{
	struct iovec parts[] = { { buffer, PART }, { buffer, PART } };
	struct file file;

	open_file(&file, folder, "synchronous.tmp", O_CREAT | O_TRUNC | O_DSYNC);
	for (unsigned int i = 0; i < 2; i++) {
		must(writev(file.fd, parts, 2) == 2 * PART, "writev");
		file.writes++;
		file.bytes += 2 * PART;
		file.syncs++; /* the kernel's own */
	}
	range(&file, 0, 4 * PART);
	rename_to(&file, folder, "synchronous");
	done(&file, "yes", "", true);
}

/* All files of a folder get their names with it. */
static void in_folder(void)
{
	char temporary[400], final[400], name[64];
	struct file files[2];

	snprintf(temporary, sizeof(temporary), "%s/step.tmp", folder);
	snprintf(final, sizeof(final), "%s/step", folder);
	must(mkdir(temporary, 0755) == 0, temporary);
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "rank-%u", i);
		open_file(&files[i], temporary, name, O_CREAT);
		write_parts(&files[i]);
		synced(&files[i], fsync(files[i].fd));
	}
	files[0].from_ns = files[1].from_ns = unix_ns();
	must(rename(temporary, final) == 0, final);
	files[0].to_ns = files[1].to_ns = unix_ns();
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(files[i].path, sizeof(files[i].path), "%s/rank-%u", final, i);
		done(&files[i], "yes", "", true);
	}
}

static void with_xattr(void)
{
	struct file file;

	open_file(&file, outside, "new.tmp", O_CREAT | O_TRUNC);
	must(fsetxattr(file.fd, "user.ai.checkpoint", "", 0, 0) == 0, "fsetxattr");
	write_parts(&file);
	synced(&file, fsync(file.fd));
	rename_to(&file, outside, "new");
	done(&file, "yes", "", true);
	open_file(&file, outside, "old", 0);
	sleep_ms(700); /* until the profiler has looked at it */
	write_parts(&file);
	synced(&file, fsync(file.fd));
	done(&file, "not_renamed", "", true);
}

static void full(void)
{
	struct file file;

	open_file(&file, small, "full", O_CREAT | O_TRUNC);
	while (write_at(&file, file.bytes, 3 * PART) > 0)
		;
	range(&file, 0, file.bytes);
	synced(&file, fsync(file.fd));
	done(&file, "not_renamed", "", true);
}

/* Its blocks go bad, and are written again. */
static void broken(void)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extent;
	} where = { .map = { .fm_length = FIEMAP_MAX_OFFSET, .fm_extent_count = 1 } };
	struct file file;
	FILE *sectors;

	open_file(&file, folder, "broken.tmp", O_CREAT | O_TRUNC);
	write_parts(&file);
	synced(&file, fsync(file.fd));
	must(ioctl(file.fd, FS_IOC_FIEMAP, &where) == 0 && where.map.fm_mapped_extents == 1, "FIEMAP");
	sectors = fopen(bad, "w");
	must(sectors &&
	             fprintf(sectors, "+%llu-%llu", where.extent.fe_physical / 512,
	                     where.extent.fe_physical / 512 + 7) > 0 &&
	             fclose(sectors) == 0,
	     bad);
	write_at(&file, 0, PART);
	synced(&file, fsync(file.fd));
	synced(&file, fsync(file.fd));
	rename_to(&file, folder, "broken");
	done(&file, "no", "write_failed", false);
}

int main(int argc, char **argv)
{
	folder = argument_text(argc, argv, "folder", "");
	outside = argument_text(argc, argv, "outside", "");
	small = argument_text(argc, argv, "small", "");
	bad = argument_text(argc, argv, "bad", "");
	buffer = aligned_buffer(4 * PART);
	good();
	early();
	never();
	again();
	sparse();
	direct();
	mapped("mapped", true);
	mapped("mapped_early", false);
	synchronous();
	in_folder();
	with_xattr();
	if (*small)
		full();
	if (*bad)
		broken();
	sleep_ms(300);
	return 0;
}
