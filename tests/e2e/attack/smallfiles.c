/*
 * smallfiles folder=DIR threads=N seconds=N: threads that make files with an attribute and remove them, each in a folder of its own and under
 * the tag "files": nothing but changes for a file system's log.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

#define FILES     64
#define ATTRIBUTE 2000
#define MAX       16

static const char *parent;
static uint64_t until_ns;

static void make(const char *path)
{
	char value[ATTRIBUTE] = { 0 };
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	must(fd >= 0 && close(fd) == 0, path);
	must(setxattr(path, "user.small", value, sizeof(value), 0) == 0, path);
}

static void *work(void *number)
{
	char folder[4096], path[4200];
	struct held_tag tag = { 0 };

	snprintf(folder, sizeof(folder), "%s/%ld", parent, (long)number);
	must(mkdir(folder, 0700) == 0, folder);
	tag_open(&tag, 1, "files");
	while (monotonic_ns() < until_ns) {
		for (int i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), "%s/%d", folder, i);
			make(path);
		}
		for (int i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), "%s/%d", folder, i);
			must(unlink(path) == 0, path);
		}
	}
	tag_close(&tag);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argument(argc, argv, "threads", 4);
	pthread_t thread[MAX];

	must(n <= MAX, "threads");
	parent = argument_text(argc, argv, "folder", "");
	until_ns = monotonic_ns() + (uint64_t)argument(argc, argv, "seconds", 3) * 1000000000ull;
	for (long i = 0; i < n; i++)
		must(pthread_create(&thread[i], NULL, work, (void *)i) == 0, "thread");
	for (long i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
