/*
 * slowfs FOLDER MEGABYTES READ_MS WRITE_MS CACHED: a FUSE file system with one file, `disk`, kept in memory, whose
 * reads and writes (and syncs, as a write) take so long. Prints "ready" when it is mounted; a line "1" or "0" on its
 * standard input turns the delays on and off (they are off at first), "2" makes all reads and writes fail, "3" leaves those
 * who ask for xattrs without an answer until the next line, "4" those who read; each is answered by "done". Ends when it is unmounted. With CACHED=0
 * the page cache is bypassed, with CACHED=1 only where it is opened with O_DIRECT. `disk` may be a program.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attack.h"

#define DISK_NODE 2
#define THREADS   8
#define MOST_IO   (1 << 20)

static int device;
static char *content;
static size_t content_bytes;
static unsigned int read_ms, write_ms;
static int cached;
static atomic_int slow, failing, silent, was_silent, holding;

static void reply(uint64_t unique, int err, const void *body, size_t bytes)
{
	struct fuse_out_header head = { (uint32_t)(sizeof(head) + bytes), err, unique };
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)body, bytes } };

	if (writev(device, parts, bytes ? 2 : 1) < 0 && errno != ENOENT)
		perror("slowfs: reply");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .blksize = 4096 };

	attr.mode = node == DISK_NODE ? S_IFREG | 0755 : S_IFDIR | 0755;
	if (node == DISK_NODE) {
		attr.size = content_bytes;
		attr.blocks = content_bytes / 512;
	}
	return attr;
}

static void lookup(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out entry = {
		.nodeid = DISK_NODE, .entry_valid = 3600, .attr_valid = 3600, .attr = attributes(DISK_NODE)
	};

	if (strcmp(name, "disk"))
		reply(in->unique, -ENOENT, NULL, 0);
	else
		reply(in->unique, 0, &entry, sizeof(entry));
}

static void start(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
		                     .minor = FUSE_KERNEL_MINOR_VERSION,
		                     .max_readahead = 0,
		                     .max_background = 64,
		                     .congestion_threshold = 64,
		                     .max_write = MOST_IO,
		                     .max_pages = MOST_IO / 4096,
		                     .flags = FUSE_MAX_PAGES | FUSE_BIG_WRITES |
		                              (init->flags & FUSE_ASYNC_READ) | FUSE_ASYNC_DIO };

	reply(in->unique, 0, &out, sizeof(out));
}

static size_t within(uint64_t offset, size_t bytes)
{
	if (offset >= content_bytes)
		return 0;
	return bytes < content_bytes - offset ? bytes : content_bytes - offset;
}

static void delay(unsigned int ms)
{
	if (slow && ms)
		sleep_ms(ms);
}

/* Who is told that there are no xattrs at all, never asks again. */
static void answer_xattr(const struct fuse_in_header *in)
{
	while (silent)
		sleep_ms(10);
	reply(in->unique, was_silent ? -ENODATA : -ENOSYS, NULL, 0);
}

static void answer(const struct fuse_in_header *in, const void *body)
{
	const struct fuse_read_in *read = body;
	const struct fuse_write_in *write = body;
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attributes(in->nodeid) };
	const struct fuse_open_in *opened = body;
	struct fuse_open_out open = { 0 };
	struct fuse_write_out written = { 0 };

	switch (in->opcode) {
	case FUSE_LOOKUP:
		lookup(in, body);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		reply(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		open.open_flags = cached && !(opened->flags & O_DIRECT) ? 0 : FOPEN_DIRECT_IO;
		reply(in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		while (holding)
			sleep_ms(10);
		delay(read_ms);
		if (failing)
			reply(in->unique, -EIO, NULL, 0);
		else
			reply(in->unique, 0, content + read->offset, within(read->offset, read->size));
		break;
	case FUSE_WRITE:
		delay(write_ms);
		written.size = (uint32_t)within(write->offset, write->size);
		memcpy(content + write->offset, write + 1, written.size);
		reply(in->unique, failing ? -EIO : 0, &written, failing ? 0 : sizeof(written));
		break;
	case FUSE_FSYNC:
		delay(write_ms);
		reply(in->unique, 0, NULL, 0);
		break;
	case FUSE_GETXATTR:
		answer_xattr(in);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_FALLOCATE:
		reply(in->unique, in->opcode == FUSE_FALLOCATE ? -EOPNOTSUPP : 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_INIT:
		start(in, body);
		break;
	default:
		reply(in->unique, -ENOSYS, NULL, 0);
	}
}

static void *serve(void *unused)
{
	char *request = aligned_buffer(MOST_IO + 65536);

	(void)unused;
	for (;;) {
		ssize_t got = read(device, request, MOST_IO + 65536);

		if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
			continue;
		if (got < 0)
			break; /* unmounted */
		answer((struct fuse_in_header *)request, request + sizeof(struct fuse_in_header));
	}
	free(request);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	char options[128], line[16];

	must(argc == 6, "usage: slowfs FOLDER MEGABYTES READ_MS WRITE_MS CACHED");
	content_bytes = (size_t)strtol(argv[2], NULL, 10) << 20;
	read_ms = (unsigned int)strtol(argv[3], NULL, 10);
	write_ms = (unsigned int)strtol(argv[4], NULL, 10);
	cached = strtol(argv[5], NULL, 10) != 0;
	content = calloc(1, content_bytes);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	must(content && device >= 0, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	must(mount("slowfs", argv[1], "fuse.slowfs", MS_NOSUID | MS_NODEV, options) == 0, "mount");
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, serve, NULL) == 0, "thread");
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		slow = line[0] == '1';
		failing = line[0] == '2';
		silent = line[0] == '3';
		was_silent = was_silent || silent;
		holding = line[0] == '4';
		puts("done");
		fflush(stdout);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
