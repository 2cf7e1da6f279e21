/* Pushes and pops tags, and prints when each was held by the thread's own clocks. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "stalltag/stalltag.h"

#define NS_PER_SEC UINT64_C(1000000000)
#define TURNS      2000 /* of 10 ms */

/* Asked for by ASan (make asan): memory that a workload keeps to its end is no leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

/* stalltag.c: counts who listens to tags. */
extern const volatile uint64_t stalltag_change_semaphore;

void wait_until_heard(void)
{
	for (int i = 0; i < TURNS && !stalltag_change_semaphore; i++)
		sleep_ms(10);
}

void wait_until_hooked(const void *function)
{
	for (int i = 0; i < TURNS && *(const volatile unsigned char *)function != 0xcc; i++)
		sleep_ms(10);
}

pid_t thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

void tag_open(struct held_tag *tag, uint64_t id, const char *name)
{
	tag->name = name;
	tag->stolen_before_ns = stolen_ns();
	must(thread_clock_open(&tag->clock) == 0, "schedstat");
	tag->outer_begin_ns = monotonic_ns();
	stalltag_push(id, name);
	must(thread_clock_read(&tag->clock, &tag->began) == 0, "clocks");
}

void tag_close(struct held_tag *tag)
{
	struct moment now;
	uint64_t outer_end_ns, stolen;

	must(thread_clock_read(&tag->clock, &now) == 0, "clocks");
	stalltag_pop();
	outer_end_ns = monotonic_ns();
	thread_clock_close(&tag->clock);
	stolen = stolen_ns();
	printf("{\"tag\": \"%s\", \"tid\": %d, \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64
	       ", \"outer_begin_ns\": %" PRIu64 ", \"outer_end_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
	       ", \"runqueue_ns\": %" PRIu64 ", \"steal_ns\": %" PRIu64 "}\n",
	       tag->name, (int)thread_id(), tag->began.wall_ns, now.wall_ns, tag->outer_begin_ns,
	       outer_end_ns, now.cpu_ns - tag->began.cpu_ns, now.runqueue_ns - tag->began.runqueue_ns,
	       stolen ? stolen - tag->stolen_before_ns + NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK) : 0);
	fflush(stdout);
}

void sleep_us(unsigned int us)
{
	struct timespec pause = { us / 1000000, (long)(us % 1000000) * 1000 };

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

void sleep_ms(unsigned int ms)
{
	sleep_us(ms * 1000);
}

void spin_ms(unsigned int ms)
{
	uint64_t until = thread_cpu_ns() + ms * 1000000ull;
	volatile uint64_t sink = 0;

	while (thread_cpu_ns() < until)
		for (int i = 0; i < 100000; i++)
			sink += (uint64_t)i;
}

void compute_us(unsigned int us)
{
	uint64_t until = thread_cpu_ns() + us * 1000ull;

	while (thread_cpu_ns() < until)
		;
}

void *aligned_buffer(size_t bytes)
{
	void *buffer = aligned_alloc(4096, bytes);

	must(buffer != NULL, "memory");
	memset(buffer, 0x5a, bytes);
	return buffer;
}

const char *argument_text(int argc, char **argv, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, len) && argv[i][len] == '=')
			return argv[i] + len + 1;
	return otherwise;
}

long argument(int argc, char **argv, const char *name, long otherwise)
{
	const char *text = argument_text(argc, argv, name, NULL);

	return text ? strtol(text, NULL, 10) : otherwise;
}
