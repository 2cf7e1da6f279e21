/*
 * The kernel's side-band records of the whole host (PERF_RECORD_MMAP2, COMM, FORK, EXIT, KSYMBOL), in order of time.
 *
 * One dummy software event for each CPU that is online; it counts nothing, so it costs nothing but these records.
 * Each CPU writes into a ring of its own. A pass copies what all rings hold and hands out, sorted by time, what is
 * older than the pass's start less PERF_RINGS_SETTLE_NS; the rest waits for the next pass, as a ring that was read
 * early may lack what another CPU recorded before. A pass takes PERF_RINGS_PASS_NS at most, and leaves the rest to
 * the next. Of a CPU that goes offline or comes online later the caller tells: perf_rings_cpu().
 *
 * Times are CLOCK_MONOTONIC nanoseconds. Needs CAP_PERFMON (or perf_event_paranoid < 1). Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_PERF_RINGS_H
#define STALLPROF_PROFILER_PERF_RINGS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_rings;

#define PERF_RINGS_BYTES     (128 << 10) /* of a ring: a thousand records, or some 150 execs */
#define PERF_RINGS_SETTLE_NS 1000000     /* a record's time is taken before it is in the ring */

#define PERF_RINGS_PASS_NS 50000000

/* `record` lives until the call returns; record->size bytes. */
typedef void (*perf_record_fn)(void *ctx, const struct perf_event_header *record, uint64_t time_ns);

/* NULL with errno set: EACCES or EPERM without privilege, ENOMEM, EMFILE, … */
struct perf_rings *perf_rings_new(void);
/* For tests, over rings that the test fills: each is a page and PERF_RINGS_BYTES behind it from one mmap(), which
 * are unmapped by perf_rings_free(). NULL with errno ENOMEM. */
struct perf_rings *perf_rings_over(void *const pages[], size_t n);
void perf_rings_free(struct perf_rings *rings);

/* Readable (for poll and epoll) when a ring is a quarter full; a few records do not make it so. */
int perf_rings_fd(const struct perf_rings *rings);

/* Makes one pass; returns the number of records handed out. */
int perf_rings_read(struct perf_rings *rings, perf_record_fn record, void *ctx);
/* All records up to then have been handed out. */
uint64_t perf_rings_settled(const struct perf_rings *rings);

/* The CPU went offline or came online, or both, since the last call or the start (online_cpus.h): its ring, if it has one, is
 * dead. What that holds is handed out with the other rings' records by later passes. If the CPU is `online` it gets a new ring,
 * which has nothing of what was recorded before: that is missed, unless the CPU was offline until now. */
void perf_rings_cpu(struct perf_rings *rings, unsigned int cpu, bool online);

/* Rings that a CPU got so. */
uint64_t perf_rings_late(const struct perf_rings *rings);

/* Records dropped by the kernel as a ring was full, or here as they made no sense. */
uint64_t perf_rings_lost(const struct perf_rings *rings);

/* CPUs that are online now and have no ring; those whose change was not told yet may be missing. */
unsigned int perf_rings_cpus_not_covered(const struct perf_rings *rings);

#endif
