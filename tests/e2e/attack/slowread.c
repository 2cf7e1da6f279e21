/*
 * slowread how=direct|aio|journal|writes|synced file=FILE count=N bytes=N [threads=N] [begin_ms=N]: waits of a known kind, one after the
 * other, under the tag `how`, then 50 ms of nothing.
 *   direct   O_DIRECT reads, pread
 *   aio      O_DIRECT reads by io_submit, waited for in io_getevents, which marks no I/O wait
 *   journal  appends to a file, and its fsync
 *   writes   O_DIRECT writes
 *   synced   the same with O_DSYNC
 * count=0: until it is killed or asked to stop by SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

static volatile sig_atomic_t stop;
static aio_context_t context;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static void aio_read(int fd, char *buffer, size_t bytes, off_t at)
{
	struct iocb block = { .aio_fildes = (unsigned int)fd,
		              .aio_lio_opcode = IOCB_CMD_PREAD,
		              .aio_buf = (uintptr_t)buffer,
		              .aio_nbytes = bytes,
		              .aio_offset = at };
	struct iocb *blocks[] = { &block };
	struct io_event event;
	long got;

	must(syscall(SYS_io_submit, context, 1, blocks) == 1, "io_submit");
	while ((got = syscall(SYS_io_getevents, context, 1, 1, &event, NULL)) < 0 && errno == EINTR)
		;
	must(got == 1 && event.res == (long long)bytes, "io_getevents");
}

int main(int argc, char **argv)
{
	const char *how = argument_text(argc, argv, "how", "direct");
	size_t bytes = (size_t)argument(argc, argv, "bytes", 65536);
	long count = argument(argc, argv, "count", 10);
	int journal = !strcmp(how, "journal"), synced = !strcmp(how, "synced");
	int writes = journal || synced || !strcmp(how, "writes");
	char *buffer = aligned_buffer(bytes);
	struct sigaction action = { .sa_handler = on_term };
	struct held_tag tag = { 0 };
	off_t size, at = 0;
	int fd = open(argument_text(argc, argv, "file", ""),
	              writes ? O_RDWR | O_CREAT | (journal ? 0 : O_DIRECT) | (synced ? O_DSYNC : 0)
	                     : O_RDONLY | O_DIRECT,
	              0644);

	must(fd >= 0, "open");
	size = lseek(fd, 0, SEEK_END);
	must(strcmp(how, "aio") || syscall(SYS_io_setup, 8, &context) == 0, "io_setup");
	sigaction(SIGTERM, &action, NULL);
	sleep_ms((unsigned int)argument(argc, argv, "begin_ms", 0));
	tag_open(&tag, 5, how);
	for (long i = 0; (!count || i < count) && !stop; i++) {
		if (journal)
			must(write(fd, buffer, bytes) == (ssize_t)bytes && fsync(fd) == 0, "fsync");
		else if (!strcmp(how, "aio"))
			aio_read(fd, buffer, bytes, at);
		else if (writes)
			must(pwrite(fd, buffer, bytes, at) == (ssize_t)bytes, "write");
		else
			must(pread(fd, buffer, bytes, at) == (ssize_t)bytes, "read");
		at += (off_t)bytes;
		if (size && at + (off_t)bytes > size)
			at = 0;
	}
	tag_close(&tag);
	sleep_ms(50);
	return 0;
}
