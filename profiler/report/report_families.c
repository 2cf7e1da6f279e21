/* The tables of causes and signals. */

#include "profiler/report/report_families.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const family_names[FAMILIES] = {
	[FAMILY_DISK] = "disk",       [FAMILY_CPU] = "cpu",       [FAMILY_NETWORK] = "network",
	[FAMILY_GPU] = "gpu",         [FAMILY_MEMORY] = "memory", [FAMILY_THREADS] = "threads",
	[FAMILY_UNKNOWN] = "unknown",
};

struct cause {
	const char *name;
	enum report_family family;
	bool indirect;
	const char *words;
	const char *advice[REPORT_ADVICE_MAX + 1];
};

static const struct cause causes[] = {
	{ "block_io",
	  FAMILY_DISK,
	  false,
	  "waiting for requests of a disk",
	  { "See above whose requests the disk served: if most are another class's, or nobody's, move those "
	    "to another disk "
	    "or another time, or limit them (ionice, io.max of their cgroup).",
	    "If they are the class's own: read further ahead (more loader workers, larger prefetch), read "
	    "larger blocks, "
	    "or keep the data on a faster disk or in memory.",
	    NULL } },
	{ "writeback",
	  FAMILY_DISK,
	  false,
	  "waiting for dirty pages to be written",
	  { "Write checkpoints with direct I/O, or in a thread of their own, so that fsync() does not stand "
	    "in the way of "
	    "steps.",
	    "Lower vm.dirty_background_bytes, so that writing begins before much is dirty.", NULL } },
	{ "journal",
	  FAMILY_DISK,
	  false,
	  "waiting for the file system's journal",
	  { "Fewer fsync() and renames: write one file for all shards, or sync once at the end.",
	    "Put the checkpoints on a file system of their own, so that other files' commits do not wait for "
	    "their data.",
	    NULL } },
	{ "throttle",
	  FAMILY_DISK,
	  false,
	  "held back by a limit on the cgroup's disk use (io.max, io.latency, io.cost)",
	  { "Raise the limit of the job's cgroup (io.max, io.weight; blkio.throttle.* of cgroup v1), or the "
	    "io.latency of others, or spread the reads and writes over time.",
	    NULL } },
	{ "tag_wait",
	  FAMILY_DISK,
	  false,
	  "waiting for a free tag of the disk's queue",
	  { "Lower the number of requests in flight (io_uring depth, loader workers), or raise the disk's "
	    "queue/nr_requests.",
	    NULL } },
	{ "nfs_read",
	  FAMILY_NETWORK,
	  false,
	  "waiting for an NFS server to read",
	  { "Look at the server and the path to it: nfsiostat, retransmits above.",
	    "Copy shards to a local disk first, or mount with a larger rsize and nconnect.", NULL } },
	{ "nfs_write",
	  FAMILY_NETWORK,
	  false,
	  "waiting for an NFS server to write",
	  { "Look at the server and the path to it: nfsiostat, retransmits above.",
	    "Write checkpoints to a local disk, and copy them in the background.", NULL } },
	{ "dma_map",
	  FAMILY_DISK,
	  false,
	  "waiting for a slow mapping of memory for DMA",
	  { "Boot with iommu.strict=0 or iommu=pt if the host's security rules allow it; use huge pages for "
	    "buffers.",
	    NULL } },
	{ "dma_bounce",
	  FAMILY_DISK,
	  false,
	  "waiting for a request whose data is copied through a bounce buffer",
	  { "Find out why the device cannot reach the memory: swiotlb=force, a confidential guest, or a "
	    "32-bit DMA mask.",
	    "Enlarge swiotlb= on the kernel's command line if it was full.", NULL } },
	{ "gpu_sync",
	  FAMILY_GPU,
	  false,
	  "waiting for the GPU in a driver's library",
	  { "If the GPU was throttled (above): look at its power limit, temperature and cooling (nvidia-smi "
	    "-q -d "
	    "PERFORMANCE).",
	    "If it was not: the kernels themselves took longer. Profile the GPU, and look for another job on "
	    "it.",
	    NULL } },
	{ "gpu_ring",
	  FAMILY_GPU,
	  false,
	  "waiting for room in a GPU's ring or queue",
	  { "Submit less at a time, and look for another job on the GPU.", NULL } },
	{ "gpu_fence",
	  FAMILY_GPU,
	  false,
	  "waiting for a fence of a GPU",
	  { "Look at what the fence's timeline ran: another context on the same GPU, or throttling.",
	    NULL } },
	{ "collective",
	  FAMILY_NETWORK,
	  false,
	  "waiting for other ranks",
	  { "Look at the rank that waits least in collectives, as the others wait for it: record all of "
	    "them, on one host with -a.",
	    "If all wait: the network between them (retransmits, packets received above; NCCL_DEBUG=INFO).",
	    NULL } },
	{ "nvme_timeout",
	  FAMILY_DISK,
	  false,
	  "waiting for an NVMe request that timed out",
	  { "The device or the path to it fails: see dmesg, `nvme smart-log`, `nvme error-log`, PCIe errors "
	    "(AER).",
	    "Take the device out of use before the next checkpoint.", NULL } },
	{ "nvme_abort",
	  FAMILY_DISK,
	  false,
	  "waiting for an NVMe request that the driver aborted",
	  { "The device answers late: see dmesg, `nvme smart-log`, its firmware's notes, PCIe errors (AER).",
	    NULL } },
	{ "nvme_reset",
	  FAMILY_DISK,
	  false,
	  "waiting while the NVMe controller was reset",
	  { "The device or the path to it fails: see dmesg, `nvme smart-log`, `nvme error-log`, PCIe errors "
	    "(AER).",
	    "Take the device out of use before the next checkpoint.", NULL } },
	{ "iommu_fault",
	  FAMILY_DISK,
	  false,
	  "waiting for a request that was under way when the device made an IOMMU fault",
	  { "The driver or the device uses memory that it was not given: see dmesg for address and reason, "
	    "and update "
	    "driver and firmware.",
	    NULL } },
	{ "runqueue",
	  FAMILY_CPU,
	  false,
	  "runnable, but without a CPU",
	  { "If the run queues were long (above): keep others off the job's CPUs (cpuset, taskset, "
	    "isolcpus), or start "
	    "fewer threads (OMP_NUM_THREADS, loader workers).",
	    "If its cgroup was throttled (above): raise cpu.max. If the host took CPU time (steal): the "
	    "virtual machine's "
	    "host is overcommitted.",
	    NULL } },
	{ "socket",
	  FAMILY_NETWORK,
	  true,
	  "waiting for a peer on a socket",
	  { "If packets were sent again or more were received (above): look for other traffic on the link "
	    "(sar -n "
	    "DEV, ethtool "
	    "-S), and give the job a link or a traffic class of its own.",
	    "Else the peer itself was slow: record there.", NULL } },
	{ "lock",
	  FAMILY_THREADS,
	  true,
	  "waiting for another thread (a lock, a queue)",
	  { "Tag the thread that is waited for, so that its own waits are seen.", NULL } },
	{ REPORT_GIL,
	  FAMILY_THREADS,
	  true,
	  "waiting for Python's global interpreter lock",
	  { "Threads of one Python process run its code one at a time: move work into processes (loader "
	    "workers, "
	    "multiprocessing), or into calls that release the lock (torch, NumPy, file and socket I/O).",
	    "Where one call into C holds the lock for long (a sort, a parser), others wait for all of it: "
	    "call it in a process of its own.",
	    NULL } },
	{ "pipe",
	  FAMILY_THREADS,
	  true,
	  "waiting for another process on a pipe",
	  { "Tag the process that is waited for, so that its own waits are seen.", NULL } },
	{ "poll",
	  FAMILY_THREADS,
	  true,
	  "waiting for one of several files, pipes or sockets",
	  { "Tag the process that is waited for, so that its own waits are seen.", NULL } },
	{ "child", FAMILY_THREADS, true, "waiting for a child process", { "Tag the child process.", NULL } },
	{ "sleep",
	  FAMILY_THREADS,
	  true,
	  "sleeping for a time that the program chose",
	  { "`stallprof top FILE --stall sleep` has the line of code that asks for the sleep.", NULL } },
	{ "stopped",
	  FAMILY_THREADS,
	  true,
	  "stopped by a signal or a debugger",
	  { "See who sent SIGSTOP.", NULL } },
};

static const struct cause unknown = {
	"", FAMILY_UNKNOWN, true, "waiting", { "`stallprof top FILE` has the line of code that waits.", NULL }
};

/* Lanes of one of these are of the family, whatever their names. */
static const char *const runqueue_name = "runqueue";

#define PER_SECOND 1e9

const struct report_signal report_signals[] = {
	{ "run_queue", FAMILY_CPU, "runnable threads of the host, the profiler's own left out", "at a time",
	  1000, 0.3, true, "more runnable threads than before" },
	{ "cpu_pressure", FAMILY_CPU, "time in which a thread of the host waited for a CPU (PSI)",
	  "of the time", 1000, 0.05, false, NULL },
	{ "steal", FAMILY_CPU, "CPU time that the virtual machine's host took (steal)", "CPUs", 1000, 0.05,
	  true, "the virtual machine's host took CPU time" },
	{ "cpu_throttled", FAMILY_CPU, "time in which the job's cgroup was held back by its CPU quota",
	  "of the time", 1000, 0.02, true, "the CPU quota of its cgroup held it back" },
	{ "cpu_slow", FAMILY_CPU, "how far below its highest clock was the first CPU", "of its clock", 1000,
	  0.1, false, NULL },
	{ "thermal_throttle", FAMILY_CPU, "times that heat throttled the CPUs", "/s", PER_SECOND, 0.5, true,
	  "CPUs were throttled for heat" },
	{ "io_pressure", FAMILY_DISK, "time in which a thread of the host waited for I/O (PSI)",
	  "of the time", 1000, 0.05, false, NULL },
	{ "disk_queue", FAMILY_DISK, "requests in flight", "at a time", 1000, 0.2, false, NULL },
	{ "disk_sectors", FAMILY_DISK, "data read and written", "MB/s", PER_SECOND * 512 / 1e6, 5, false,
	  NULL },
	{ "net_rx", FAMILY_NETWORK, "packets received", "/s", PER_SECOND, 500, true,
	  "many more packets than before" },
	{ "tcp_retrans", FAMILY_NETWORK, "TCP segments sent again", "/s", PER_SECOND, 2, true,
	  "TCP segments had to be sent again" },
	{ "memory_pressure", FAMILY_MEMORY, "time in which a thread of the host waited for memory (PSI)",
	  "of the time", 1000, 0.02, false, NULL },
	{ "gpu_busy", FAMILY_GPU, "GPU utilisation (NVML)", "of the time", 1000, 0.05, false, NULL },
	{ "gpu_throttled", FAMILY_GPU, "time in which the GPU was throttled for heat or power (NVML)",
	  "of the time", 1000, 0.05, true, "the GPU was throttled for heat or power" },
	{ "gpu_clock_lost", FAMILY_GPU, "how far the GPU's clock was below its highest (NVML)",
	  "of its clock", 1000, 0.1, false, NULL },
	{ "pcie_replays", FAMILY_GPU, "PCIe packets of the GPU sent again (NVML)", "/s", PER_SECOND, 1, true,
	  "the GPU's PCIe link sent packets again" },
	{ "pcie_errors", FAMILY_DISK, "PCIe errors that were corrected (AER)", "/s", PER_SECOND, 0.5, false,
	  NULL },
};

const size_t report_signal_count = COUNT(report_signals);

const char *report_family_name(enum report_family family)
{
	return (unsigned)family < FAMILIES ? family_names[family] : "?";
}

static const struct cause *cause_of(const char *name)
{
	for (size_t i = 0; i < COUNT(causes); i++)
		if (!strcmp(causes[i].name, name))
			return &causes[i];
	return &unknown;
}

static const struct cause *cause_of_lane(enum timeline_kind kind, const char *name)
{
	return cause_of(kind == TIMELINE_RUNQUEUE ? runqueue_name : name);
}

enum report_family report_family_of(enum timeline_kind kind, const char *name)
{
	return cause_of_lane(kind, name)->family;
}

bool report_is_indirect(enum timeline_kind kind, const char *name)
{
	return kind == TIMELINE_BLOCKED || cause_of_lane(kind, name)->indirect;
}

bool report_is_fault(const char *name)
{
	static const char *const faults[] = { "nvme_timeout", "nvme_abort", "nvme_reset", "iommu_fault" };

	for (size_t i = 0; i < COUNT(faults); i++)
		if (!strcmp(faults[i], name))
			return true;
	return false;
}

const struct report_signal *report_signal_of(const char *name)
{
	for (size_t i = 0; i < COUNT(report_signals); i++)
		if (!strcmp(report_signals[i].name, name))
			return &report_signals[i];
	return NULL;
}

const char *const *report_advice(const char *name)
{
	return cause_of(name)->advice;
}

const char *report_cause_words(const char *name)
{
	return cause_of(name)->words;
}
