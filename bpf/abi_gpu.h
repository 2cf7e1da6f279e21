/* What the BPF programs tell of GPUs, as a part of bpf/abi.h. */
#ifndef STALLPROF_ABI_GPU_H
#define STALLPROF_ABI_GPU_H

#ifndef __bpf__
#include <stdint.h>
#include <linux/types.h>
#endif

/* gpu_fence, gpu_ring; texts: the fence's driver and timeline. */
enum abi_gpu_detail {
	ABI_GPU_CONTEXT = 0,
	ABI_GPU_SEQNO = 1,
	ABI_GPU_FUNCTION =
	        2, /* address of a function of the driver's, by which it is named if the text is missing */
	ABI_GPU_DRIVER = 3, /* enum abi_gpu_driver: whose ring it is; likewise */
};

enum abi_gpu_driver {
	ABI_GPU_VIRTIO = 1,
	ABI_GPU_I915 = 2,
	ABI_GPU_XE = 3,
	ABI_GPU_NOUVEAU = 4,
	ABI_GPU_AMDGPU = 5,
};

/* What a GPU's job spends its time with. */
enum abi_gpu_phase {
	ABI_GPU_SUBMIT = 0, /* its thread is in the call that hands it over */
	ABI_GPU_QUEUE = 1,  /* in the driver's queue, behind others, or for want of room in the ring */
	ABI_GPU_WAIT = 2,   /* … and not before another job is over */
	ABI_GPU_RUN = 3,    /* with the device */
	ABI_GPU_PHASES,
};

#define ABI_GPU_NAME_LEN 24

/* A job that is over. */
struct abi_gpu_job {
	__u32 kind;  /* ABI_EVENT_GPU_JOB */
	__u32 known; /* a bit for each phase that the hooks tell */
	__u64 tag;   /* or ABI_NOBODYS_TAG */
	__u64 window;
	__u64 ns[ABI_GPU_PHASES];
	__u64 total_ns;
	__s32 error; /* below 0: it failed */
	__u32 unused;
	char driver[ABI_GPU_NAME_LEN], ring[ABI_GPU_NAME_LEN];
};

_Static_assert(sizeof(struct abi_gpu_job) == 120, "GPU's job");

#endif
