/* What the programs share: knobs set before loading, the maps, and the record of a tagged thread.
 *
 *   struct thread (task storage)
 *     word       where it stands; every nanosecond is settled through a change of it (cycle.bpf.h)
 *     slot[2]    what has run up under a tag and is not in the ledger yet; a tag change moves to the other
 *                slot, so a flush on another CPU never mixes two tags
 *     wait_*     why the last sleep ended, known at the wake, settled at the next switch-out
 *
 * Definitions are weak: each object that includes this gets them once in the linked result.
 */
#ifndef STALLPROF_STATE_BPF_H
#define STALLPROF_STATE_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/abi.h"

#define ALWAYS static __always_inline

/* --- knobs ----------------------------------------------------------------------------------------- */
const volatile __weak __u64 min_duration_ns = 0;
const volatile __weak __u32 ustack_limit = ABI_USTACK_MAX;
const volatile __weak __u32 n_slots = 1;   /* the scratch slots of the CPUs follow these */
const volatile __weak __u32 walk_slot = 2; /* the one of the walk over all threads, which may be preempted */
const volatile __weak __u64 cpu_period_ns = 0;
const volatile __weak bool cpu_baseline = false; /* also sample on-CPU time outside stalls */

const volatile __weak bool only_adopted =
        false; /* no thread but those of adopted processes and their children */
const volatile __weak __u64 filter_cgroup = 0; /* id of a cgroup v2; 0: any */
const volatile __weak __u32 filter_level = 0;  /* how deep it lies */

/* --- written by user space while running, and by the programs -------------------------------------- */
volatile __weak __u64 threshold_ns = 1000000; /* T: longer waits are always kept */
volatile __weak __u32 hot_generation = 0;     /* odd while the hot programs are attached */
volatile __weak __u32 iter_mode = 0;
volatile __weak __s64 n_tagged = 0;
volatile __weak __s64 n_tagged_walk = 0; /* as the last walk over all threads counted */
volatile __weak __u64 ring_bytes = 0;
volatile __weak __u32 any_python = 0; /* Python frames are wanted */
volatile __weak __s64 python_asks =
        0; /* how many more times user space may be asked at once to look at a waiting thread */
__u64 counters[ABI_COUNTER_MAX] __weak = {};

#define COUNT(name)        __sync_fetch_and_add(&counters[ABI_COUNT_##name], 1)
#define COUNT_BY(name, by) __sync_fetch_and_add(&counters[ABI_COUNT_##name], (by))

/* --- the thread -------------------------------------------------------------------------------------- */
/* Sums of a thread's time under one tag. */
struct sums {
	u64 oncpu, runq, blocked, unobserved;
	u64 cycles, sleeps;
};

/* `run` only grows, and only on the thread's own CPU, so that a switch costs no atomic instruction for it;
 * `told` is how much of it the ledger has already, whoever told it. */
struct tag_slot {
	u64 tag;
	struct sums run, told;
};

/* Why a sleep may turn out to be a stall, known when it begins. */
enum expectation {
	EXPECT_NOTHING = 0,
	EXPECT_IOWAIT = 1,
	EXPECT_UNINTERRUPTIBLE = 2,
	EXPECT_SYSCALL = 3,
};

/* A thread has as many Python thread states as it has called interpreters of its process. */
#define PYTHON_STATES 4

struct thread {
	u64 word;           /* cycle.bpf.h */
	u32 state;          /* enum abi_state, set by the thread's own switches */
	u32 followed_since; /* hot_generation when it was last found in step */
	struct tag_slot slot[2];
	u64 in_ns;     /* since when it is on the CPU */
	u64 exec_mark; /* CPU clock and run-queue clock at the cycle's begin */
	u64 queue_mark;
	u64 split_begin; /* the cycle was split here; the next two are void for any other begin */
	u64 split_exec;  /* on-CPU time settled by splits */
	u64 split_queue; /* run-queue clock at the split */
	u64 slept_begin; /* begin of the cycle whose sleep is not settled; void for any other */
	u64 sleep_ns;    /* when the last sleep began */
	u64 held_ns, held_tag;
	u32 held_cause, held_dev;
	u32 exec_known;
	u32 retag; /* base_tag was changed from outside: to be taken at the next switch */
	u32 wait_cause, wait_dev;
	u64 wake_ns; /* when the sleep ended, 0 while it goes on */
	u32 wait_seq;
	u32 tgid;
	u32 tid;
	u32 unused;
	u64 process_start_ns;
	u64 base_tag;
	u64 thread_tag;
	u32 watches_context; /* the process publishes contexts that are read at switch-out */
	u32 context_known;   /* read once, or told by the probe */
	u32 stalltag_held;   /* the thread's tag is one of ours, not a foreign context */
	u32 reading;         /* the scratch is in use: who interrupts leaves it alone */
	u32 hint;            /* enum abi_cause that a tracepoint announced for the next sleep */
	u32 last_dev;        /* of the last followed request */
	u32 expect;
	u32 learned_syscall; /* + 1; its interruptible sleeps ended in a request before */
	u32 stack_slot;
	u32 stack_flags;
	u32 stack_len;
	u32 adopted;       /* it was there before us, and may have held its tag for long */
	u32 reserved_slot; /* for remote.bpf.c to fill while the thread sleeps */
	u32 stack_python;  /* Python frames in its slot */
	struct {
		u64 lists; /* what the interpreter's lists began with when it was last looked for */
		u64 state[PYTHON_STATES];
		u32 found, missed;
		u32 asked, unused;
	} python; /* python.bpf.h */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps") __weak;

#define CONTEXT_ATTRS_MAX 512
#define CONTEXT_ATTRS     16
#define NAME_MAX_LEN      (ABI_TAG_NAME_LEN - 1)

struct context_head {
	u8 trace_id[16];
	u8 span_id[8];
	u8 valid;
	u8 flags;
	u16 attrs_size;
};

struct context_scratch {
	struct context_head head;
	u32 unused;
	u8 attrs[CONTEXT_ATTRS_MAX + 256 + 8]; /* room so that a masked offset plus a length stays inside */
	struct abi_tag tag;
	struct {
		u32 at, size, found, len;
	} search; /* where the loop over the attributes stands */
};

/* A thread's own, because the programs on the tag library's probes may be preempted. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct context_scratch);
} scratches SEC(".maps") __weak;

/* --- maps that user space reads ---------------------------------------------------------------------- */
struct ledger_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(key_size, sizeof(struct abi_ledger_key)); /* sizes: clang forgets the types of an inner map */
	__uint(value_size, sizeof(struct abi_ledger_value));
};

/* The ledger of the running window. User space swaps the inner map (which waits for programs that still
 * use the old one) and reads the old one at leisure. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ledger_map);
} ledgers SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* most hosts have few */
	__type(key, u64);
	__type(value, struct abi_tag);
} tags SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct abi_process);
} processes SEC(".maps") __weak;

/* The CPython processes, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct abi_python);
} pythons SEC(".maps") __weak;

/* Hashes of the code objects of which user space was told, and of whole stacks of them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} python_told SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps") __weak;

/* struct abi_python_ask: looked at before the events. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} python_asked SEC(".maps") __weak;

/* --- stack slots --------------------------------------------------------------------------------------- */
/* How far a loop has come is kept in such memory, not on the BPF stack: the verifier of Linux 6.12 follows values on the
 * stack from round to round, and takes more than its million steps for it. */
#define PYTHON_BYTES (ABI_PYTHON_FRAMES_MAX * sizeof(struct abi_python_frame))

struct stack_slot {
	struct abi_event event;
	u8 ustack[ABI_USTACK_MAX + PYTHON_BYTES];
	struct {
		u64 sp, top;
		u32 copied, faulted;
	} copy; /* where the loop over the stack's pages stands */
	struct {
		u64 interpreter, thread, self; /* of the search for the thread's states */
		u64 frame, code, fingerprint;  /* of the walk along its frames */
		u64 codes;                     /* hash of all code objects */
		u32 at, n, faulted, cut, open;
		u8 frame_bytes[ABI_PYTHON_FRAME_BYTES];
		u8 code_bytes[ABI_PYTHON_CODE_BYTES];
		struct abi_python_ask ask;
	} python;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3); /* n_slots + number of CPUs + 1; user space sets it */
	__type(key, u32);
	__type(value, struct stack_slot);
} stack_slots SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, u32);
} free_slots SEC(".maps") __weak;

#endif
