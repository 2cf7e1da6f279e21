/* What a thread is inside of: parts of struct thread (state.bpf.h). */
#ifndef STALLPROF_INSIDE_BPF_H
#define STALLPROF_INSIDE_BPF_H

#include "bpf/kernel_drivers.bpf.h"

/* What the thread is inside of (scope.bpf.h), by enum abi_cause. */
#define SCOPE_CAUSES 32

struct scopes {
	u32 generation;        /* hot_generation when the outermost was begun */
	u64 frame;             /* … where on the kernel stack */
	u64 user_ip, user_sp;  /* … and by which system call, or fault */
	u32 dev[SCOPE_CAUSES]; /* 0: none */
	u8 depth[SCOPE_CAUSES];
	u32 of_fault; /* 1: one of them is a page fault in a file of an NFS server's */
};

/* A DMA mapping call that the thread is in, at its begin (dma.bpf.c). */
struct mapping {
	u64 frame; /* where its arguments lie on the kernel stack, which no other call of that time has; 0: in none */
	u64 begin_ns;
	u64 oncpu, queued; /* the thread's time on CPUs and on run queues by then */
	u32 generation;    /* hot_generation by then */
	u16 bounced;       /* it went through a bounce buffer */
	u16 sampled;       /* the clock of on-CPU samples ticked in it */
};

/* A call of a GPU's driver that the thread is in (gpu_jobs.bpf.c). */
struct gpu_call {
	u64 begin_ns;   /* …, or when it handed over a job in it; 0: in none */
	u64 room_ns;    /* when it began to look for room in the ring for its next job; 0: not yet */
	u32 generation; /* hot_generation when the call began */
};

/* A call of a library that the thread is inside of (library.bpf.h). */
#define CALLS_KEPT 8

struct library_call {
	u64 sp;        /* where its return address is */
	u64 return_to; /* … which is that */
	u32 cause, unused;
};

#endif
