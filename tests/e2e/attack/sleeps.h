/* What sleeps.bpf.c tells sleeps.c. Times are CLOCK_MONOTONIC, ns. */
#ifndef ATTACK_SLEEPS_H
#define ATTACK_SLEEPS_H

#define SLEEPS_STACK_DEPTH 28

enum sleeps_flags {
	SLEEPS_IOWAIT = 1,    /* the kernel's in_iowait flag when the thread was switched out */
	SLEEPS_UNINT = 2,     /* TASK_UNINTERRUPTIBLE */
	SLEEPS_WAKE_LOST = 4, /* no wake-up was seen: the scheduler's own counts tell when it was */
	SLEEPS_IN_LOST = 8,   /* the switch-in was not seen: in_ns is the next switch-out */
};

/* A wake-up has two moments: somebody begins it (waking), and it is done, which is when the scheduler's own count of run
 * queue delay begins (wake). In between lies an interrupt to another CPU, which may have to be woken itself. */
struct sleep_record { /* tid 0: a block request of the process tgid ended at wake_ns */
	unsigned long long out_ns, waking_ns, wake_ns, in_ns;
	int tid, tgid;
	int stack; /* id in the map of stacks, negative: none */
	unsigned int syscall;
	unsigned int flags;
	int waker; /* tid of who was current at the wake-up */
};

struct thread_total {
	unsigned long long oncpu_ns, runq_ns, slept_ns;
	unsigned long long sleeps, switches;
	int tgid, unused;
	char comm[16];
};

/* A thread's state in the BPF programs: what it does, since when, and its sums. */
struct traced_thread {
	unsigned long long at_ns;
	unsigned long long waking_ns, wake_ns;
	unsigned long long in_ns;             /* the switch-in, where no wake-up was seen; else 0 */
	unsigned long long exec_ns, delay_ns; /* the scheduler's own counts at the begin of a sleep */
	struct sleep_record sleep;
	struct thread_total total;
	unsigned int kind, unused;
};

#endif
