/* The few structs and numbers that the BPF programs and user space share.
 *
 * Everything here is host byte order and laid out without padding that matters; sizes are tied by static
 * assertions, because both sides are compiled apart. Times are CLOCK_MONOTONIC nanoseconds unless said.
 */
#ifndef STALLPROF_ABI_H
#define STALLPROF_ABI_H

#ifndef __bpf__
#include <stdint.h>
#include <linux/types.h>
#endif

#include "bpf/abi_counters.h"
#include "bpf/abi_gpu.h"
#include "bpf/abi_files.h"

/* What a tagged thread is doing. A thread is in exactly one state at any time, so the rows of a tag tile its
 * wall time. ABI_CPU_STALL is not a state: it counts perf-event samples inside a stall, a part of ONCPU.
 * Nor is ABI_RECOVERY, which is of samples alone: what a kernel thread does to end the stalls of others; nor ABI_REQUESTS,
 * which is of ledger rows alone: whose requests a device served, and ABI_CPU_USER, rows of processes, tagged or not, by samples. */
enum abi_state {
	ABI_NONE = 0,
	ABI_ONCPU = 1,
	ABI_RUNQ = 2,
	ABI_SLEEP = 3,
	ABI_DEAD = 4,
	ABI_STALL = 5,
	ABI_UNOBSERVED = 6,
	ABI_CPU_STALL = 7,
	ABI_RECOVERY = 8,
	ABI_REQUESTS = 9,
	ABI_CPU_USER = 10,
};

/* Why a sleep was a stall; the higher number wins when several apply. */
enum abi_cause {
	ABI_CAUSE_NONE = 0,
	ABI_CAUSE_BLOCK_IO = 1,
	ABI_CAUSE_WRITEBACK = 2,
	ABI_CAUSE_JOURNAL = 3,
	ABI_CAUSE_THROTTLE = 4,
	ABI_CAUSE_TAG_WAIT = 5,
	ABI_CAUSE_NFS_READ = 6,
	ABI_CAUSE_NFS_WRITE = 7,
	ABI_CAUSE_DMA_MAP = 8,
	ABI_CAUSE_DMA_BOUNCE = 9,
	ABI_CAUSE_GPU_SYNC = 10,
	ABI_CAUSE_COLLECTIVE = 11,
	ABI_CAUSE_GPU_RING = 12,
	ABI_CAUSE_GPU_FENCE = 13,
	ABI_CAUSE_NVME_TIMEOUT = 14,
	ABI_CAUSE_NVME_ABORT = 15,
	ABI_CAUSE_NVME_RESET = 16,
	ABI_CAUSE_IOMMU_FAULT = 17,
	ABI_CAUSE_MAX,
};

/* What a thread waits for when its sleep is no stall: in a row of state ABI_SLEEP these stand in place of a cause. */
enum abi_wait_kind {
	ABI_WAIT_OTHER = 32,
	ABI_WAIT_LOCK = 33, /* futex */
	ABI_WAIT_PIPE = 34,
	ABI_WAIT_SOCKET = 35,
	ABI_WAIT_POLL = 36,      /* poll, select, epoll */
	ABI_WAIT_SLEEP = 37,     /* nanosleep */
	ABI_WAIT_CHILD = 38,     /* wait4, waitid */
	ABI_WAIT_STOPPED = 39,   /* a signal, a tracer or the freezer holds it */
	ABI_WAIT_UNDECIDED = 40, /* not over yet, and may turn out to be a stall */
	ABI_WAIT_END,
};
#define ABI_WAIT_KINDS (ABI_WAIT_END - ABI_WAIT_OTHER)

/* One row of the ledger. `tag` is the key of the tags map; dev is the kernel's dev_t, 0 unknown. */
struct abi_ledger_key {
	__u64 tag;
	__u64 process_start_ns; /* CLOCK_BOOTTIME, of the thread-group leader */
	__u32 tgid;
	__u32 dev;
	__u16 state;
	__u16 cause;
	__u32 below_min; /* 1: shorter than --min-duration-ns, so no stack was taken */
};

/* `ns` may be negative: a wait's part that an earlier window told provisionally moves to the row that it belongs to. */
struct abi_ledger_value {
	__s64 ns;
	__u64 count;
	__u64 bytes; /* of requests */
};

/* `cause` of a row of the state ABI_REQUESTS, which is of the process that issues it only if it is of no tag: what the requests do, and a bit for how they came about. `ns` is how
 * long they took in all. */
enum abi_requests {
	ABI_REQUESTS_READ = 0,
	ABI_REQUESTS_WRITE = 1,
	ABI_REQUESTS_FLUSH = 2,
	ABI_REQUESTS_DISCARD = 3,
	ABI_REQUESTS_OTHER = 4,
	ABI_REQUESTS_OPS = 5,
	/* A bit: the pages were made dirty under the tag, and are written by somebody else. */
	ABI_REQUESTS_WRITEBACK = 8,
};

/* The tag of requests that are of no tag, or began before they could be told. */
#define ABI_NOBODYS_TAG (~0ULL)

/* The row with this key holds, in `ns`, the number of the window that the map serves. */
#define ABI_LEDGER_META_TAG 0ULL

#define ABI_TAG_NAME_LEN 256 /* what stalltag and OTEP 4947 can hold, and a NUL */

enum abi_tag_source {
	ABI_TAG_PROCESS = 1, /* record, stallprof tag: the whole process tree */
	ABI_TAG_STALLTAG = 2,
	ABI_TAG_OTEL = 3, /* somebody else's OpenTelemetry thread context */
	ABI_TAG_FILE = 4, /* a file's, while a thread is in a call on it */
	ABI_TAG_REQUEST =
	        5, /* of an id that a patched kernel keeps in a request, and that no tag is known to have */
};

struct abi_tag {
	char name[ABI_TAG_NAME_LEN]; /* zero filled */
	__u64 id;                    /* span id as a number, 0 none */
	__u8 trace_id[16];
	__u32 source;
	__u32 unused;
};

/* Files in some folders are tagged: "NAME_read/FILE" while a thread reads one, "NAME_write/FILE" while it writes or syncs one. */
enum abi_file_call { ABI_FILE_READ = 0, ABI_FILE_WRITE = 1, ABI_FILE_CALLS };

#define ABI_FOLDERS_MAX     64
#define ABI_FOLDER_NAME_LEN 64

struct abi_folder {
	char name[ABI_FILE_CALLS][ABI_FOLDER_NAME_LEN]; /* "NAME_read/", … */
	__u32 len[ABI_FILE_CALLS];                      /* … without a NUL */
	__u32 source;                                   /* which entry of tag_files it is */
	__u32 unused;
};

/* Where a thread of a process keeps the pointer to its context record. */
enum abi_tls_kind {
	ABI_TLS_ABSENT = 0,
	ABI_TLS_STATIC = 1,  /* at thread pointer + offset */
	ABI_TLS_DYNAMIC = 2, /* at dtv[module] + offset, by glibc's table */
	ABI_TLS_MUSL = 3,    /* … by musl's */
};

struct abi_tls {
	__u32 kind;
	__u32 module;
	__s64 offset;
};

/* Which process: pids are used again. The start as /proc/PID/stat has it, a leader's start_boottime in such ticks. */
#define ABI_TICK_NS 10000000ULL
struct abi_process_key {
	__u32 tgid;
	__u32 unused;
	__u64 start_ticks;
};

/* A process to watch: user space fills it before it runs the task iterator with ABI_ITER_ADOPT. */
struct abi_process {
	__u64 base_tag; /* key into tags; 0: none */
	struct abi_tls stalltag;
	struct abi_tls otel;
	__u32 ai_tag_key;     /* index of `ai_tag` in the process context's key map, 256 when absent */
	__u32 exact_stalltag; /* enum abi_exact */
	__u32 from_exec;      /* base_tag counts from its next exec on */
	__u32 unused;
};

/* Whether the library tells each change of tag, so that the slot need not be read. */
enum abi_exact {
	ABI_EXACT_NONE = 0,
	ABI_EXACT_PROBE = 1, /* by the probe */
	ABI_EXACT_LOG = 2,   /* by a thread's log, once the probe has told where that is */
};

/* A thread's log of its changes of tag as the tag library writes it: struct stalltag_log of stalltag/stalltag.h. */
#define ABI_LOG_ENTRIES 1024
#define ABI_LOG_ROWS    64 /* the last is no tag's */
#define ABI_LOG_NONE    63

struct abi_log_state {
	__u64 head;
	__u32 fires;
	__u16 closed, clock;
};

struct abi_log_head {
	struct abi_log_state state;
	__u32 made[ABI_LOG_ROWS];
	struct {
		__u64 moment, ns, rate;
	} clocks[2];
};
#define ABI_LOG_RATE_BITS 24

/* Begins as struct abi_tag does. */
struct abi_log_row {
	char name[ABI_TAG_NAME_LEN];
	__u64 id;
	__u8 trace_id[16];
};

#define ABI_LOG_ENTRIES_AT sizeof(struct abi_log_head)
#define ABI_LOG_ROWS_AT    (ABI_LOG_ENTRIES_AT + ABI_LOG_ENTRIES * 8)

/* How a frame says that the C code of the interpreter called it, so that the C stack has an evaluator for it. */
enum abi_python_entry {
	ABI_PYTHON_ENTRY_EACH = 0, /* to 3.10: each has its own */
	ABI_PYTHON_ENTRY_BYTE = 1, /* 3.11: the byte at `entry` is not 0 */
	ABI_PYTHON_ENTRY_SHIM =
	        2, /* from 3.12: a frame of no function follows, whose byte at `entry` is `shim` or more */
};

/* Where a CPython process keeps its frames: user space fills it from what it knows of the version. Offsets are in
 * bytes. interpreters -> interpreter -> threads -> the one of this thread -> frame -> previous -> ... */
struct abi_python {
	__u64 start_ticks; /* of the process, as in struct abi_process_key: another that has its pid is not meant */
	__u64 interpreters; /* the address of the pointer to the first; 0: the process is not Python's */
	__u64 code_mask;    /* what of a frame's pointer to its code is the address */
	__u32 interpreter_next, interpreter_threads;
	__u32 thread_next, thread_id, thread_frame;
	__u32 frame_indirect; /* 1: thread_frame is the offset of a pointer to what holds the frame at `cframe_frame` */
	__u32 cframe_frame;
	__u32 frame_from, frame_bytes; /* what is read of a frame, in which the fields below lie */
	__u32 frame_previous, frame_code, frame_instr, frame_entry;
	__u32 instr_bytes; /* 4: an index, 8: a pointer */
	__u32 entry_kind;  /* enum abi_python_entry */
	__u32 shim;
	__u32 code_from, code_bytes; /* of a code object, likewise */
	__u32 code_name, code_file, code_lines, code_first_line;
};

/* The most that is read of each. */
#define ABI_PYTHON_FRAME_BYTES 128
#define ABI_PYTHON_CODE_BYTES  128

/* What one run of the task iterator does. */
enum abi_iter_mode {
	ABI_ITER_ADOPT = 1,  /* start accounting for threads of the processes in the map */
	ABI_ITER_FLUSH = 2,  /* close every interval at "now", so that a window is complete */
	ABI_ITER_REBASE = 4, /* hooks were just attached: what went before was not observed */
	ABI_ITER_STACKS = 8, /* copy the stacks of threads that have slept for long and have no copy yet */
	ABI_ITER_LOGS = 16,  /* settle the time of threads on a CPU by their logs of tag changes */
	ABI_ITER_BUFFERS =
	        32, /* hooks were just detached: take back the stack buffers of threads that sleep */
	ABI_ITER_SUMS =
	        64, /* tell the ledger what has run up; intervals go on, but those of long turns on a CPU */
};

/* Of how many processes threads are walked over process by process. */
#define ABI_MET_PROCESSES 256

/* Stalls, waits that are none, and periods of the clock of on-CPU samples: each has a sampling threshold of its own. */
enum abi_waits { ABI_WAITS_STALL, ABI_WAITS_BLOCKED, ABI_WAITS_CPU, ABI_WAITS_MAX };

enum abi_event_kind {
	ABI_EVENT_WAIT = 1,     /* a blocked interval that has ended */
	ABI_EVENT_INFLIGHT = 2, /* the part of one, still going on, that belongs to this window */
	ABI_EVENT_CPU = 3,      /* an on-CPU sample inside a stall */
	ABI_EVENT_TAGGED =
	        4, /* the first thread got a tag: attach the hot programs; ten times a second at most */
	ABI_EVENT_IOMMU_FAULT = 5, /* see enum abi_fault_access */
	ABI_EVENT_GPU_JOB = 6,     /* a struct abi_gpu_job (abi_gpu.h), in place of a struct abi_event */
	ABI_EVENT_EXEC =
	        7, /* a thread of interest executes another program: what that maps is to be looked at */
};

/* Of ABI_EVENT_IOMMU_FAULT, in `state`. `tag` is the address, `cause` the IOMMU's reason (0: not known), `dev` the PCI device's place,
 * segment << 16 | bus << 8 | device << 3 | function, and `weight_ns` how many there were since the last that was sent. */
enum abi_fault_access {
	ABI_FAULT_WRITE = 0,
	ABI_FAULT_READ = 1,
	ABI_FAULT_ACCESS = 2, /* one or the other */
};
#define ABI_FAULT_NO_PLACE 0xffffffffU /* it is not PCI's */

#define ABI_KSTACK_MAX 96
#define ABI_USTACK_MAX 65536
#define ABI_NO_BUFFER  0xffffffffU

/* Python frames of a stack; those outside of that many are cut. Recursion alone gets this deep. */
#define ABI_PYTHON_FRAMES_MAX 256

enum abi_python_frame_flags {
	ABI_PYTHON_ENTRY = 1, /* the C stack has an evaluator between this frame and the next */
};

/* A Python frame, innermost first. Names are read later by `code`; `fingerprint` tells whether it still is that code.
 * Code 0, with ABI_PYTHON_ENTRY: an evaluator that has no frame yet, or none any more. */
struct abi_python_frame {
	__u64 code;
	__u64 instr; /* as the frame has it: an index to 3.10, a pointer from 3.11 on */
	__u64 fingerprint;
	__u32 flags; /* enum abi_python_frame_flags */
	__u32 unused;
};

/* Of a code object: where its name, its file's name and its line table lie, and its first line. symbolizer/python/python.h has
 * the same formula, and a test that they agree. */
static inline __attribute__((always_inline)) __u64 abi_python_fingerprint(__u64 name, __u64 file, __u64 lines,
                                                                          __u32 first_line)
{
	const __u64 odd = 0x9e3779b97f4a7c15ULL;
	__u64 hash = name;

	hash = (hash ^ file) * odd;
	hash = (hash ^ lines) * odd;
	hash = (hash ^ first_line) * odd;
	return hash ^ hash >> 32;
}

#define ABI_PYTHON_ASK_MAX 32

/* A thread goes to sleep just now, and these of its frames are of code objects that were not met before: they may be gone
 * when its stack comes. Without any: is its process Python's? */
struct abi_python_ask {
	__u32 tgid;
	__u32 parent; /* its parent process */
	__u32 n;
	__u32 unused;
	struct abi_python_frame frames[ABI_PYTHON_ASK_MAX];
};

/* User registers of the interrupted or sleeping thread, in the order of the DWARF register numbers 0–16. */
struct abi_regs {
	__u64 ax, dx, cx, bx, si, di, bp, sp, r8, r9, r10, r11, r12, r13, r14, r15, ip;
};

enum abi_event_flags {
	ABI_NO_USER_COPY = 1,    /* no stack buffer was free, or the wait was not expected to be a stall */
	ABI_USER_TRUNCATED = 2,  /* the copy stopped at the limit, not at the end of the stack */
	ABI_USER_FAULTED = 4,    /* a page of the stack could not be read */
	ABI_KERNEL_THREAD = 8,   /* there is no user stack */
	ABI_PYTHON_CUT = 16,     /* there are Python frames outside of those sent */
	ABI_PYTHON_FAULTED = 32, /* a frame, or what leads there, could not be read */
	ABI_STACK_AS_SENT = 64,  /* user stack and Python frames are not sent again: see stack_id */
};

/* What a thread waits for, beyond cause and device: labels of the sample. What each text and number is, is the cause's own
 * affair: the enums below, and profiler/session/detail_labels.c. */
#define ABI_DETAIL_TEXTS   2
#define ABI_DETAIL_NUMBERS 4
struct abi_detail {
	__u32 cause; /* enum abi_cause, or abi_wait_kind, of whose waits it tells; 0: of none */
	__u32 known; /* a bit for each number that is known */
	__u64 number[ABI_DETAIL_NUMBERS];
	char text[ABI_DETAIL_TEXTS][32]; /* "": not known; what lies behind the NUL is void */
};

/* Waits that are no stalls (enum abi_wait_kind): who ended a long one. text[0] is its program's comm. */
enum abi_wait_detail {
	ABI_WAKER_TAG = 0, /* key into tags; 0: none */
	ABI_WAKER_TID = 1,
	/* Where it was made during the sleep: by which thread, and when. */
	ABI_WAKER_CREATOR = 2,
	ABI_WAKER_BORN_NS = 3,
};

/* nvme_timeout, nvme_abort, nvme_reset */
enum abi_nvme_detail {
	ABI_NVME_QID = 0,
	ABI_NVME_STATE =
	        1, /* enum abi_nvme_state: when it timed out or was aborted; of a reset the last one before it was over */
};

enum abi_nvme_state {
	ABI_NVME_UNKNOWN = 0,
	ABI_NVME_NEW = 1,
	ABI_NVME_LIVE = 2,
	ABI_NVME_RESETTING = 3,
	ABI_NVME_CONNECTING = 4,
	ABI_NVME_DELETING = 5,
	ABI_NVME_DEAD = 6,
};

/* tag_wait */
enum abi_tag_wait_detail {
	ABI_TAG_HCTX = 0,
	ABI_TAG_POOL = 1, /* enum abi_tag_pool */
	ABI_TAG_DEPTH = 2,
};

enum abi_tag_pool {
	ABI_POOL_HARDWARE = 1,
	ABI_POOL_SCHEDULER = 2,
	ABI_POOL_RESERVED = 3,
};

struct abi_event {
	__u32 kind;
	__u32 flags;
	__u64 time_ns; /* when the interval ended */
	__u64 duration_ns;
	__u64 weight_ns; /* max(duration, T): what the sample stands for */
	__u64 tag;
	__u64 process_start_ns;
	__u32 tgid;
	__u32 tid;
	__u32 dev;
	__u16 state;
	__u16 cause;
	__u64 window;
	__s64 moved_ns; /* of this wait, which earlier windows have told as the next three */
	__u16 moved_state;
	__u16 moved_cause;
	__u32 moved_dev;
	__u32 kstack_len; /* entries */
	__u32 ustack_len; /* bytes */
	__u32 n_python;   /* frames */
	__u32 has_detail; /* 1: a struct abi_detail follows, at abi_detail_offset() */
	__u64 switches;   /* the task's voluntary switches, this sleep's included */
	/* Of a stack with Python frames: its process, its frames, and where it begins; 0: of none, or not all of them are known. */
	__u64 stack_key;
	__u64 stack_id; /* with ABI_STACK_AS_SENT: which it is (abi_known.h); else 0 */
	__u64 stack_top; /* of a user stack that was copied: where it ends; 0: that is not known, or farther up than is copied */
	char comm[16];
	struct abi_regs regs;
	__u64 kstack[ABI_KSTACK_MAX];
	/* ustack_len bytes of user stack follow, from regs.sp upwards; at abi_python_offset() Python's frames; then the detail */
};
/* Where the Python frames begin, counted from the end of the event's head; where they end, and the detail begins. */
#define abi_python_offset(ustack_len) (((__u64)(ustack_len) + 7) & ~7ULL)
#define abi_detail_offset(ustack_len, n_python)                                                              \
	(abi_python_offset(ustack_len) + (__u64)(n_python) * sizeof(struct abi_python_frame))

#define ABI_EVENT_HEAD (sizeof(struct abi_event))
/* Whether an event is of time in a stall, asleep or on a CPU. */
#define abi_of_stall(event)                                                                                  \
	((event)->state == ABI_STALL || ((event)->state == ABI_CPU_STALL && (event)->cause))

_Static_assert(sizeof(struct abi_ledger_key) == 32, "ledger key");
_Static_assert(sizeof(struct abi_tag) == ABI_TAG_NAME_LEN + 32, "tag");
_Static_assert(sizeof(struct abi_process) == 56, "process");
_Static_assert(sizeof(struct abi_log_head) == 320, "log head");
_Static_assert(sizeof(struct abi_log_row) == 280, "log row");
_Static_assert(sizeof(struct abi_process_key) == 16, "process key");
_Static_assert(sizeof(struct abi_python) == 112, "python");
_Static_assert(sizeof(struct abi_python_frame) == 32, "python frame");
_Static_assert(sizeof(struct abi_python_ask) == 16 + ABI_PYTHON_ASK_MAX * 32, "python ask");
_Static_assert(sizeof(struct abi_detail) == 104, "detail");
_Static_assert(sizeof(struct abi_event) == 152 + 17 * 8 + ABI_KSTACK_MAX * 8, "event");

#endif
