/* ptys pairs=N seconds=N: N pairs of threads; one writes a line to a terminal's master, the other, under the tag "pty-K", reads it from
 * the slave and answers. They wait for each other alone, and do no I/O. */
#include <pthread.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "attack.h"

#define MOST 16

struct pair {
	int master, slave;
	char name[16];
	int number;
	long lines;
	pthread_t reader, writer;
};

static uint64_t until_ns;

static void *answer(void *arg)
{
	struct pair *pair = arg;
	struct held_tag tag = { 0 };
	char line[8];

	tag_open(&tag, (uint64_t)pair->number, pair->name);
	while (read(pair->slave, line, 1) == 1 && line[0] != 'q') {
		must(write(pair->slave, "a", 1) == 1, "write");
		pair->lines++;
	}
	tag_close(&tag);
	return NULL;
}

static void *ask(void *arg)
{
	struct pair *pair = arg;
	char line[8];

	while (monotonic_ns() < until_ns)
		must(write(pair->master, "x", 1) == 1 && read(pair->master, line, 1) == 1, "ask");
	must(write(pair->master, "q", 1) == 1, "write");
	return NULL;
}

int main(int argc, char **argv)
{
	static struct pair pairs[MOST];
	long count = argument(argc, argv, "pairs", 4), lines = 0;
	struct termios raw;

	until_ns = monotonic_ns() + (uint64_t)argument(argc, argv, "seconds", 6) * 1000000000ull;
	for (int i = 0; i < count && i < MOST; i++) {
		struct pair *pair = &pairs[i];

		must(openpty(&pair->master, &pair->slave, NULL, NULL, NULL) == 0, "openpty");
		must(tcgetattr(pair->slave, &raw) == 0, "tcgetattr");
		cfmakeraw(&raw);
		must(tcsetattr(pair->slave, TCSANOW, &raw) == 0, "tcsetattr");
		pair->number = i + 1;
		snprintf(pair->name, sizeof(pair->name), "pty-%d", i);
		must(pthread_create(&pair->reader, NULL, answer, pair) == 0, "thread");
		must(pthread_create(&pair->writer, NULL, ask, pair) == 0, "thread");
	}
	for (int i = 0; i < count && i < MOST; i++) {
		pthread_join(pairs[i].writer, NULL);
		pthread_join(pairs[i].reader, NULL);
		lines += pairs[i].lines;
	}
	printf("{\"lines\": %ld}\n", lines);
	return 0;
}
