/* Times, in nanoseconds. Those that do not say otherwise are of CLOCK_MONOTONIC. */
#ifndef SYMBOLIZER_CLOCK_H
#define SYMBOLIZER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What the calling thread has had of a CPU. */
static inline uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* CLOCK_REALTIME: nanoseconds since 1970. */
static inline uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The Unix time at which CLOCK_BOOTTIME was 0. */
static inline uint64_t booted_unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return unix_ns() - ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

#endif
