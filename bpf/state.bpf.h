/* What the programs share: knobs set before loading, the maps, and the record of a tagged thread.
 *
 *   struct thread (task storage)
 *     word       where it stands; every nanosecond is settled through a change of it (cycle.bpf.h)
 *     sums[4]    what has run up under a tag and is not in the ledger yet; a tag change moves to another
 *                element, so a flush on another CPU never mixes two tags
 *     row        what the last sleep was, known at the wake, settled at the next switch-out
 *     told       the part of the sleep that is in the ledger already, as what it seemed to be (wait.bpf.h)
 *
 * Definitions are weak: each object that includes this gets them once in the linked result.
 */
#ifndef STALLPROF_STATE_BPF_H
#define STALLPROF_STATE_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/abi_known.h"
#include "bpf/inside.bpf.h"
#include "bpf/loop.bpf.h"
#include "bpf/numbers.bpf.h"
#include "bpf/waited.bpf.h"

/* What is done now and then is a function of its own, so that what is done at each switch lies together: there, memory that is
 * not in the caches, code or data, is most of what a hook takes. */
#define NOW_AND_THEN static __noinline __attribute__((unused))
/* … which the verifier walks through once, by itself, and not again for each way that leads to it: a global function. Its arguments are
 * numbers, and pointers to memory that may be NULL for all that it knows; it returns a number. Its stack adds up with those of its callers
 * as any function's does: to 512 bytes, each rounded up to 32 (Linux 6.1; newer kernels allow a little more). */
#define VERIFIED_ONCE __weak __noinline
#define RARELY(x)     __builtin_expect(!!(x), 0)
#define MOSTLY(x)     __builtin_expect(!!(x), 1)

/* --- knobs ----------------------------------------------------------------------------------------- */
const volatile __weak __u64 min_duration_ns = 0;
const volatile __weak __u32 ustack_limit = ABI_USTACK_MAX;
const volatile __weak __u32 n_buffers = 1; /* the scratch buffers of the CPUs follow these */
const volatile __weak __u32 walk_buffer =
        2; /* the one of the walk over all threads, which may be preempted */
const volatile __weak __u64 cpu_period_ns = 0;
const volatile __weak __u64 dma_threshold_ns = 20000; /* DMA maps that take this long, or longer, are slow */
const volatile __weak bool samples_oncpu = false;     /* also sample on-CPU time outside stalls */
const volatile __weak bool long_waits = false;        /* stacks also of waits that are no stalls, from T on */
const volatile __weak __s64 preempt_count_from_rq = 0; /* where a CPU's preemption count lies; 0: not known */
const volatile __weak __s64 storage_busy_from_rq = 0; /* … its count of users of task storage (found.bpf.h) */
const volatile __weak __u32 interrupt_bits = 0; /* of it: NMIs, hard interrupts, a soft one that is served */
const volatile __weak __u32 pause_arg = 0; /* which argument of balance_dirty_pages is its pause; 0: none */

const volatile __weak bool only_adopted =
        false; /* no thread but those of adopted processes and their children */

/* --- written by user space while running, and by the programs -------------------------------------- */
/* Begins a cache line: what follows is not written as often as what is above. */
#define OWN_LINE __attribute__((aligned(64)))

/* Looked at at each switch, and changed rarely. */
volatile __weak OWN_LINE __u32 hot_generation = 0; /* odd while the hot programs are attached */
volatile __weak __u32 any_requests = 0;            /* the map of requests was ever written to */
volatile __weak __u32 any_works = 0;               /* … of works */
volatile __weak __u32 any_resets = 0;              /* … of resets */
volatile __weak __u32 any_befallen = 0;            /* … of what befell requests */
volatile __weak __u32 any_recoverers = 0;          /* … of recoverers */
volatile __weak __u32 resets_noted = 0;            /* how often something was written to the map of resets */
/* A controller recovers whose reset began before the hooks were there; set by user space. */
volatile __weak __u32 resets_unseen = 0;
volatile __weak __u64 last_fault_ns = 0; /* when an IOMMU last reported a fault; 0: never */
/* A scope was ever begun in which the kernel may sleep interruptibly. */
volatile __weak __u32 any_interruptible_scopes = 0;
volatile __weak __u32 any_gpu_calls = 0;  /* a call that waits for a GPU was seen in a library */
volatile __weak __u32 any_uncopied = 0;   /* a sleep that may prove long has no copy of its stack */
volatile __weak __u32 any_python = 0;     /* Python frames are wanted */
volatile __weak __u32 clocks_renewed = 0; /* how often a CPU has come online and got a clock of its own */
volatile __weak __u64 stacks_from = 0; /* stacks that were known in earlier windows are not known any more */
/* T: longer waits are always kept, and CPU samples if it is no longer than their period. Set by user space from the first. */
volatile __weak __u64 threshold_ns[ABI_WAITS_MAX] = {};
/* Id of a cgroup v2, 0: any. Likewise, and again when the cgroup is made anew, which gives it another. */
volatile __weak __u64 filter_cgroup = 0;

/* Changed by what threads do. */
volatile __weak OWN_LINE __s64 n_tagged = 0;
volatile __weak __s64 n_tagged_walk = 0; /* as the last walk over all threads counted */
volatile __weak __u64 tagged_ns = 0;     /* when a first tag was announced last */
volatile __weak __u64 walked_ns = 0;     /* when the walk met its last tagged thread; 0: none */
volatile __weak __u32 iter_mode = 0;
volatile __weak __s64 n_parked = 0;       /* stack buffers of waits that are no stalls */
volatile __weak __u64 n_walked = 0;       /* threads that the walk has come to; user space begins anew */
volatile __weak __u32 any_to_read = 0;    /* it came to one whose stack or context is to be read; likewise */
volatile __weak __u32 met_more = 0;       /* processes that found no room in met_processes; likewise */
volatile __weak __u32 any_logs = 0;       /* a log of tag changes was ever met */
volatile __weak __u64 logs_walked_ns = 0; /* when this round's walk over the logs began; 0: there is none */
volatile __weak __u64 ring_bytes[ABI_WAITS_MAX] = {}; /* of samples */
volatile __weak __s64 python_asks =
        0; /* how many more times user space may be asked at once to look at a waiting thread */
OWN_LINE __u64 counters[ABI_COUNTER_MAX] __weak = {};

#define COUNT(name)        __sync_fetch_and_add(&counters[ABI_COUNT_##name], 1)
#define COUNT_BY(name, by) __sync_fetch_and_add(&counters[ABI_COUNT_##name], (by))

/* A thread of the kernel, or of io_uring. */
ALWAYS bool serves_others(const struct task_struct *task)
{
	return task->flags & PF_SERVES_OTHERS;
}

/* --- the thread -------------------------------------------------------------------------------------- */
struct wait_sum {
	u64 ns, count;
};

/* Sums of a thread's time under one tag. */
struct sums {
	u64 oncpu, runq, unobserved, cycles;
	struct wait_sum stall; /* those of the tag's usual cause and device */
	struct wait_sum blocked[ABI_WAIT_KINDS];
};

/* `run` only grows, and only on the thread's own CPU, so that a switch costs no atomic instruction for it;
 * `told` is how much of it the ledger has already, whoever told it. */
struct tag_sums {
	u64 tag;
	u32 cause,
	        dev; /* of its first stall: more of them are summed here; others go to the ledger at once */
	struct sums run, told;
	u64 unused[6]; /* to whole cache lines */
};

/* Where the time of a sleep goes in the ledger. */
struct wait_row {
	u32 state; /* ABI_SLEEP or ABI_STALL */
	u32 cause; /* enum abi_wait_kind or enum abi_cause */
	u32 dev;
};

struct split_part {
	u64 tag, oncpu;
};

/* A thread has as many Python thread states as it has called interpreters of its process. */
#define PYTHON_STATES 4

/* What each switch looks at comes first, by cache lines: the kernel keeps eight bytes of its own in front of it in the first. */
struct thread {
	u64 word;            /* cycle.bpf.h */
	u32 state;           /* enum abi_state, set by the thread's own switches */
	u32 followed_since;  /* hot_generation when it was last found in step */
	u64 in_ns;           /* since when it is on the CPU */
	u64 sleep_ns;        /* when the last sleep began */
	u64 wake_ns;         /* when it ended, 0 while it goes on, or WOKEN */
	u64 slept_begin;     /* begin of the cycle whose sleep is not settled; void for any other */
	u16 watches_context; /* the process publishes contexts that are read at switch-out */
	u16 in_file;         /* file_tag is set */
	u16 retag;           /* base_tag was changed from outside: to be taken at the next switch */
	u16 has_log;         /* whether log_at is set: that lies in a line which most switches leave alone */

	u64 exec_mark; /* CPU clock and run-queue clock at the cycle's begin */
	u64 queue_mark;
	s64 queue_owed; /* cycle.bpf.h: time on run queues that earlier cycles did not charge; below 0: charged too much */
	u64 split_begin; /* the cycle was split here; split_exec and split_queue are void for any other begin */
	u64 held_ns;
	u64 told_ns; /* of a sleep that a window cut: what earlier windows have been told of it, as the next four say */
	struct wait_row row; /* what the sleep was, from the wake on; cause 0: no stall */
	u32 exec_known;

	u16 kind; /* enum abi_wait_kind of the sleep, should it turn out to be no stall */
	u16 expect;
	u32 hint;            /* enum abi_cause that a tracepoint announced for the next sleep */
	u32 learned_syscall; /* + 1; its interruptible sleeps ended in a request before */
	u32 wait_seq;
	u16 has_issued;  /* a request since it last fell asleep */
	u16 own_request; /* enum own_request: … before the last sleep began */
	struct known_file file;
	u64 early_ns;  /* woken then, between falling asleep and its switch-out */
	u64 usual_ns;  /* how long its stalls last, at most, of late */
	u64 copied_ns; /* when its stack was last copied as it fell asleep, in what might be a stall */
	u32 lot;       /* random: whether this wait's stack is kept (capture.bpf.h) */
	u32 stack_buffer;

	/* On-CPU time that the splits of the cycle settled by the hooks' clocks: of the first tag, and of the longest of the others. None of
	 * what lies before the end of a window. */
	struct split_part first_split, longest_split;
	u64 split_exec;  /* on-CPU time settled by splits */
	u64 split_queue; /* run-queue clock at the split */
	u64 copied_ip,
	        copied_sp; /* where it stood at copied_ns; ip 0: with Python frames, of which these tell nothing */

	u64 copy_due_ns;   /* when its stack may be copied in a wait that is no stall (capture.bpf.h) */
	u64 allocating;    /* a blk_mq_alloc_data, while it is in the scope of tag_wait */
	u32 open_scopes;   /* a bit for each cause that it is in the scope of (scope.bpf.h) */
	u32 n_calls;       /* of `calls` */
	u32 calls_changed; /* … just now: who interrupts leaves them alone */
	u32 n_issued;
	u32 last_dev; /* of the last request that it issued or that ended a wait of its */
	u16 issued_cause; /* the worst that befell requests while it issued them since its last sleep (enum abi_cause, 0 nothing) */
	u16 own_cause;  /* … before the present sleep */
	u16 goes_on;    /* its last sleep ended, and the request that it was for has not */
	u16 unused[11]; /* to a whole cache line */

	struct tag_sums sums[4];
	struct {
		u64 request, ns; /* its address, and when it was issued: it starts then, or a moment later */
		u32 dev;
	} issued[REQUESTS_KEPT]; /* the last ones, in no order */
	struct scopes scopes;
	struct mapping mapping;
	struct gpu_call gpu;

	u64 held_tag;
	struct wait_row held;
	struct wait_row told;
	u64 told_tag;
	u64 told_sent_ns; /* of told_ns: parts whose stacks were sent */
	u32 told_seq;     /* wait_seq of the sleep that all that is of */
	u32 tgid;
	u32 tid;
	u32 context_known; /* read once, or told by the probe */
	u32 creator;       /* the thread that made it, where that was seen; 0: it was not */
	u64 born_ns;       /* when that was */
	u64 process_start_ns;
	u64 base_tag;
	u64 exec_tag; /* to be the base tag from its next exec on; 0: none */
	u64 thread_tag;
	u64 file_tag; /* of the file that it is in a call on (files.bpf.c); 0: none */
	u64 file_frame, file_ip,
	        file_sp;   /* which call that is: the hook's arguments, and the user's registers */
	u32 stalltag_held; /* the thread's tag is one of ours, not a foreign context */
	u16 own_base;  /* the process itself told base_tag (on_tag_process), or one that it comes from did */
	u8 log_unread; /* its log could not be read when that was looked at last */
	u8 context_unread;  /* likewise, its context */
	u32 refused_seq;    /* wait_seq + 1 of the last sleep that got no buffer for its stack; 0: none */
	u32 reading;        /* the scratch is in use: who interrupts leaves it alone */
	u64 log_at;         /* where its log of tag changes lies (log.bpf.h); 0: not known */
	u64 log_tail;       /* entries of that which were read */
	u64 log_mm;         /* the memory that its log of tag changes is in */
	u64 log_clock;      /* how far the clock of the log's times is ahead of the kernel's */
	u64 log_settled_ns; /* when the walk at a window's end settled its time last */
	u32 stopped_in;     /* kind of the sleep that the last stop interrupted */
	u32 hint_dev;
	u16 hint_timed;      /* … which a timer ends, not a request */
	u16 hint_lasts;      /* enum hint_lasts: … and for those after it */
	u64 hint_call;       /* the call that it was announced in, by call_made() */
	u32 adopted;         /* it was there before us, and may have held its tag for long */
	u32 buffer_parked;   /* its stack buffer counts in n_parked */
	u32 claimed;         /* somebody fills it for the first time; its word comes last */
	u32 reserved_buffer; /* for remote.bpf.c to fill while the thread sleeps */
	struct carried early;
	struct library_call calls[CALLS_KEPT]; /* the outermost first */
	u32 calls_since;                       /* hot_generation when they were begun */
	struct {
		u64 lists; /* what the interpreter's lists began with when it was last looked for */
		u64 state[PYTHON_STATES];
		u32 found, missed;
		u32 asked;
	} python;                       /* python.bpf.h */
	struct long_wait long_waits[2]; /* the last two places that were found; the newer first */
	struct abi_detail detail;       /* detail.bpf.h */
	struct shared_wait shared;      /* share.bpf.h */
	struct waker waker;             /* wait.bpf.h */
};

_Static_assert(__builtin_offsetof(struct thread, exec_mark) == 64 - 8, "the first line");
_Static_assert(__builtin_offsetof(struct thread, kind) == 2 * 64 - 8, "the second");
_Static_assert(__builtin_offsetof(struct thread, first_split) == 3 * 64 - 8, "the third");
_Static_assert(__builtin_offsetof(struct thread, copy_due_ns) == 4 * 64 - 8, "the fourth");
_Static_assert(__builtin_offsetof(struct thread, sums) == 5 * 64 - 8, "the fifth");
_Static_assert(sizeof(struct tag_sums) % 64 == 0, "and each element begins one");

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

/* Where a switch-out meets many tags at once, the kernel may have no memory at hand for the map above. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct abi_tag);
} tags_at_once SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct abi_process_key);
	__type(value, struct abi_process);
} processes SEC(".maps") __weak;

/* The CPython processes, by tgid; python_layout() finds one. */
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

/* By stack_key. Filled by user space (known.bpf.h). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, u64);
	__type(value, struct abi_known_stack);
} known_stacks SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps") __weak;

/* User space looks into a ring ten times a second; it is woken when one fills faster than that. */
ALWAYS u64 ring_wake(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4
	               ? BPF_RB_FORCE_WAKEUP
	               : BPF_RB_NO_WAKEUP;
}

/* struct abi_python_ask: looked at before the events. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} python_asked SEC(".maps") __weak;

/* --- stack buffers --------------------------------------------------------------------------------------- */
/* How far a loop has come is kept in such memory, not on the BPF stack: the verifier of Linux 6.12 follows values on the
 * stack from round to round, and takes more than its million steps for it. */
#define PYTHON_BYTES (ABI_PYTHON_FRAMES_MAX * sizeof(struct abi_python_frame))

struct stack_buffer {
	struct abi_event event;
	u8 ustack[ABI_USTACK_MAX + PYTHON_BYTES + sizeof(struct abi_detail)];
	struct captured {
		u32 len, n_python, flags;
		u64 key;          /* of struct abi_event, stack_key */
	} kept;                   /* what of a thread is in it, by buffer_keep() */
	struct abi_detail detail; /* to be sent behind the stack, if the event says that it has one */
	struct {
		u64 sp, top;
		u32 copied, faulted;
	} copy; /* where the loop over the stack's pages stands */
	struct {
		u64 interpreter, thread, self; /* of the search for the thread's states */
		u64 frame, code, fingerprint;  /* of the walk along its frames */
		u64 codes;                     /* hash of all code objects */
		u64 calls;                     /* … and of where in them the thread is */
		u32 at, n, states, faulted, cut, open;
		u8 frame_bytes[ABI_PYTHON_FRAME_BYTES];
		u8 code_bytes[ABI_PYTHON_CODE_BYTES];
		struct abi_python_ask ask;
	} python;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3); /* n_buffers + number of CPUs + 1; user space sets it */
	__type(key, u32);
	__type(value, struct stack_buffer);
} stack_buffers SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, u32);
} free_buffers SEC(".maps") __weak;

/* Buffers on their way back to the free ones. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u8);
} orphan_buffers SEC(".maps") __weak;

/* The processes of threads that have storage, so that a walk may leave out all others. User space takes one out before a walk over it, which
 * puts it back, and all before a walk over all. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_MET_PROCESSES);
	__type(key, u64); /* the process's id */
	__type(value, u8);
} met_processes SEC(".maps") __weak;

#endif
