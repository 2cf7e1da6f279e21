/* What is known of a thread's sleeps, and of who ends them. */
#ifndef STALLPROF_WAITED_BPF_H
#define STALLPROF_WAITED_BPF_H

#include "bpf/kernel.bpf.h"

/* Whether who carries was woken when about to sleep, so that its switch-out comes after the wake. */
enum carried_early {
	CARRIED_IN_TIME,
	CARRIED_EARLY, /* its switch-out, if it comes soon, does not end the carrying */
	CARRIED_KEPT   /* that switch-out was */
};

/* What the wake of a thread stands for (follow.bpf.h). */
struct carried {
	u64 request; /* its address, 0 none */
	u64 hctx; /* the hardware queue that it was on: the request itself tells only until its tag is freed */
	u64 since_ns;
	u32 dev;
	u16 cause;
	u8 sticky;   /* a journal commit, a work item: lasts over sleeps */
	u8 ending;   /* … and is over when the thread next sleeps; of a mark: the completion is over */
	u16 freed;   /* of a mark: the cause of those who wait for what the completion frees */
	u16 state;   /* enum abi_nvme_state of the controller, where that has to do with the cause */
	u16 endless; /* of a mark: nothing tells when the completion is over */
	u16 unused;
	u32 depth;        /* of a mark: how deep in interrupts the completion runs */
	u32 early;        /* enum carried_early */
	u64 reset_end_ns; /* of the last reset of the request's controller (struct reset); 0: there was none */
};

/* The request that the last sleep was for, which others may have waited for, too (share.bpf.h). */
struct shared_wait {
	struct carried request; /* its since_ns is when it was completed */
	u64 ip, call; /* the user's registers as the last sleep began that is flagged as one for I/O: which call, or fault, it is in */
	u32 seq;      /* wait_seq of the sleep */
};

/* The file that a thread's sleeps were in calls on, when it was last looked at (kind.bpf.h). */
struct known_file {
	u32 looked; /* at that time, in units of 1 << FILE_TIME_BITS ns */
	u16 fd;
	u16 call;    /* the system call's number + 1, 0: none */
	u16 kind;    /* enum abi_wait_kind */
	u16 assumed; /* for the present sleep the file was not looked at again */
};

/* Where a wait that is no stall proved long though its stack had not been copied (capture.bpf.h). */
struct long_wait {
	u64 ip, sp;
	u64 copied_ns;
};

/* Who ended a sleep that is no stall, if that was a long one. */
struct waker {
	u64 tag;       /* that it held; 0: none */
	u32 seq;       /* wait_seq of the sleep */
	char comm[16]; /* of its program */
	u32 tid;
	u32 creator; /* the thread that made it during the sleep; 0: it was there before */
	u32 unused;
	u64 born_ns; /* when that was */
};

#define REQUESTS_KEPT 16 /* of those that a thread has issued */

/* Why a sleep may turn out to be a stall, known when it begins. */
enum expectation {
	EXPECT_NOTHING = 0,
	EXPECT_IOWAIT = 1,
	EXPECT_UNINTERRUPTIBLE = 2,
	EXPECT_SYSCALL =
	        3,        /* one that waits for I/O of any kind, or whose sleeps ended in a request before */
	EXPECT_SCOPE = 4, /* in a scope: it is one */
};

/* How long what a tracepoint announced holds. */
enum hint_lasts {
	HINT_ENDS,       /* with the sleep that it announces */
	HINT_LASTS,      /* longer, see hint_sleeps() */
	HINT_HAS_LASTED, /* the first of its sleeps is over */
};

/* Whether the thread issued a request right before it fell asleep. */
enum own_request {
	OWN_REQUEST_NONE = 0,
	OWN_REQUEST_ISSUED = 1,
	OWN_REQUEST_UNKNOWN = 2, /* it slept before it was followed */
};

/* In place of wake_ns: the sleep has ended, and when was not looked at. 0 may say the same: woken_unlooked(). */
#define WOKEN 1

#endif
