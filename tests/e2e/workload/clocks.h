/*
 * A thread's own measurements of its time, made without any profiler.
 *
 *   wall      CLOCK_MONOTONIC
 *   cpu       CLOCK_THREAD_CPUTIME_ID (the kernel leaves time stolen by the hypervisor out of it)
 *   runqueue  second field of /proc/thread-self/schedstat: time runnable but not running, counted by the
 *             scheduler from the enqueue on a run queue to the switch-in
 *
 * For any stretch of one thread's life, wall - cpu - runqueue is the time that it slept. A stretch that is
 * one blocking call thus gives the time stalled in that call. The three are read together; a read that was
 * disturbed (a switch between the clocks) is done again, so that sums over many calls do not drift.
 *
 * Call order: thread_clock_open() on the thread itself, any number of thread_clock_read() on that same
 * thread, thread_clock_close(). One read costs about 1.5 us.
 */
#ifndef WORKLOAD_CLOCKS_H
#define WORKLOAD_CLOCKS_H

#include <stdint.h>

struct moment {
	uint64_t first_ns; /* CLOCK_MONOTONIC before the other clocks were read for the first time */
	uint64_t wall_ns; /* CLOCK_MONOTONIC after the last: the one that belongs to cpu_ns and runqueue_ns */
	uint64_t cpu_ns;
	uint64_t runqueue_ns;
};

struct thread_clock {
	int schedstat_fd;
	uint64_t reread; /* reads that were disturbed and repeated */
};

/* Opens the calling thread's schedstat. 0, or -errno (-ENODATA: the kernel keeps no run queue delay). */
int thread_clock_open(struct thread_clock *clock);
void thread_clock_close(struct thread_clock *clock);

/* Reads all clocks of the calling thread. 0, or -errno. */
int thread_clock_read(struct thread_clock *clock, struct moment *now);

uint64_t monotonic_ns(void);
uint64_t thread_cpu_ns(void);

/* CLOCK_REALTIME - CLOCK_MONOTONIC, ns. */
int64_t realtime_offset_ns(void);

/*
 * Block I/O delay of the calling thread (field 42 of its stat, in ticks of 10 ms), ns. It only counts waits
 * in io_schedule(), and stands at 0 unless sysctl kernel.task_delayacct was 1 when the thread was made.
 */
uint64_t thread_blkio_delay_ns(void);

/* Time stolen by the hypervisor from all CPUs since boot, ns (/proc/stat, in ticks of 10 ms). */
uint64_t stolen_ns(void);

#endif
