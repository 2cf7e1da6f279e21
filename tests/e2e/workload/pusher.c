/*
 * pusher: a process that is hard to look at: many executable mappings, many tags, or one tag held for good.
 *
 *   pusher [--mappings N] [--rate N] [--hold sleep|spin] [--remap] --seconds S
 *
 * Maps its own file N times to execute from, and pushes and pops "pusher/step" N times a second; or holds
 * "pusher/held" (id 77) from the start, asleep or on the CPU, and never changes it. With --remap it maps and unmaps
 * its file, too, as often as it pushes. Says {"pid"} once it is under way, and at the end {"began_ns", "ended_ns",
 * "pushes"}; times are CLOCK_MONOTONIC.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"

#define PAGE_BYTES 4096

struct options {
	unsigned long mappings, rate;
	double seconds;
	const char *hold;
	bool remap;
};

static int parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--remap")) {
			o->remap = true;
			continue;
		}
		if (!value)
			return -EINVAL;
		if (!strcmp(argv[i], "--mappings"))
			o->mappings = strtoul(value, NULL, 10);
		else if (!strcmp(argv[i], "--rate"))
			o->rate = strtoul(value, NULL, 10);
		else if (!strcmp(argv[i], "--seconds"))
			o->seconds = strtod(value, NULL);
		else if (!strcmp(argv[i], "--hold"))
			o->hold = value;
		else
			return -EINVAL;
		i++;
	}
	return o->seconds > 0 && (o->rate || o->hold) ? 0 : -EINVAL;
}

static int map_often(int fd, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		if (mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return -errno;
	return 0;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = { .tv_sec = (time_t)(at_ns / 1000000000),
		               .tv_nsec = (long)(at_ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static uint64_t push_until(const struct options *o, int fd, uint64_t end_ns)
{
	uint64_t period_ns = 1000000000 / o->rate, at_ns = monotonic_ns(), pushes = 0;

	for (; at_ns < end_ns; at_ns += period_ns) {
		stalltag_push(++pushes, "pusher/step");
		if (o->remap)
			munmap(mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), PAGE_BYTES);
		sleep_until(at_ns + period_ns / 2);
		stalltag_pop();
		sleep_until(at_ns + period_ns);
	}
	return pushes;
}

static void hold_until(const struct options *o, uint64_t end_ns)
{
	if (strcmp(o->hold, "spin"))
		sleep_until(end_ns);
	while (monotonic_ns() < end_ns)
		;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	uint64_t began_ns, end_ns, pushes = 0;
	int fd, err = parse(argc, argv, &o);

	if (err) {
		fprintf(stderr, "usage: pusher [--mappings N] [--rate N] [--hold sleep|spin] [--remap] "
		                "--seconds S\n");
		return 2;
	}
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : map_often(fd, o.mappings);
	if (err) {
		fprintf(stderr, "pusher: %s\n", strerror(-err));
		return 1;
	}
	if (o.hold)
		stalltag_push(77, "pusher/held");
	began_ns = monotonic_ns();
	end_ns = began_ns + (uint64_t)(o.seconds * 1e9);
	printf("{\"pid\": %d}\n", (int)getpid());
	fflush(stdout);
	if (o.hold)
		hold_until(&o, end_ns);
	else
		pushes = push_until(&o, fd, end_ns);
	printf("{\"began_ns\": %" PRIu64 ", \"ended_ns\": %" PRIu64 ", \"pushes\": %" PRIu64 "}\n", began_ns,
	       monotonic_ns(), pushes);
	return 0;
}
