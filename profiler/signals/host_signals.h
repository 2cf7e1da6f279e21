/*
 * Signals of the host, read beside a recording: what else went on when a tagged thread lost time. A thread reads files of /proc
 * and /sys that it keeps open, and another one asks NVML, if that library is there; both sleep while nothing is tagged. NVML is open only while
 * it is asked, so that GPUs can be reset in between; where it cannot be opened, it is tried again the next time.
 *
 *     signals = host_signals_new()
 *     host_signals_run(signals, true)               while something is tagged
 *     host_signals_follow(signals, pid)             whose cgroups' CPU quotas matter
 *     host_signals_take(signals, timeline)          at the end of a window
 *     host_signals_free(signals)
 *
 * Files are read as often as HOST_SIGNALS_BUDGET of a CPU allows for all of them, those of cgroups and the search for these included, at
 * most 100 times a second: what each takes is measured in the first reads and watched later, and the dearest ones are read 20, 4 or 1 times
 * a second, or once in 5 seconds. A lane's buckets are as wide as that. While none of the followed processes runs, all are read a quarter
 * as often. Disks, PCI devices and sockets that come or go are noticed within 10 s or so. NVML is asked 5 times a second, or as often as HOST_SIGNALS_GPU_BUDGET allows.
 *
 * Each lane has the growth of a counter, or, for a state, that state times the microseconds for which it held:
 *
 *     run_queue         runnable threads of the host but for the reader, times us
 *     cpu_pressure, io_pressure, memory_pressure   us in which some thread waited (PSI)
 *     steal             us that the virtual machine's host took from all CPUs
 *     cpu_throttled     us that a cgroup was held back by its CPU quota; the device is the cgroup
 *     cpu_slow          share by which the first CPU of a socket is below its highest clock, times us
 *     thermal_throttle  times that a socket's CPUs were throttled for heat
 *     disk_queue        requests in flight of a disk, times us; disk_sectors: sectors of 512 bytes read and written
 *     net_rx            packets that a network adapter received (in a container, where there is none: each interface but the
 *                       loopback); tcp_retrans: TCP segments sent again; in the profiler's network namespace
 *     pcie_errors       PCIe errors that were corrected, of a device; GPUs, NVMe disks and network adapters first, should there be too many
 *     gpu_busy, gpu_throttled, gpu_clock_lost      shares times us; pcie_replays: times; of a GPU
 */
#ifndef STALLPROF_PROFILER_HOST_SIGNALS_H
#define STALLPROF_PROFILER_HOST_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

struct stamp;
struct timeline;

#define HOST_SIGNALS_BUDGET     0.0025 /* CPUs */
#define HOST_SIGNALS_GPU_BUDGET 0.0025

struct host_signals;

/* NULL with errno set. */
struct host_signals *host_signals_new(void);
/* Takes NULL. A thread that hangs in NVML is left behind. */
void host_signals_free(struct host_signals *signals);

/* Starts or halts reading. The threads are started by the first call that starts it. Takes NULL, as those below do. */
void host_signals_run(struct host_signals *signals, bool run);

/* The process has run: watches the CPU quota of its cgroups, where it is now and later; few processes at a time. */
void host_signals_follow(struct host_signals *signals, uint32_t pid);

/* Moves what was read so far to the timeline. 0 or what timeline_add() says. */
int host_signals_take(struct host_signals *signals, struct timeline *timeline);

/* Adds a hook for each signal: attached, or unused with the reason why it cannot be read; missing if not all of it can. 0, -ENOMEM,
 * -ENOSPC. */
int host_signals_describe(struct host_signals *signals, struct stamp *stamp);

#endif
