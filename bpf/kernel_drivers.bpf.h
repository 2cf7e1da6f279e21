/* The kernel's types, as in kernel.bpf.h: those of drivers and of file systems that are modules. */
#ifndef STALLPROF_KERNEL_DRIVERS_BPF_H
#define STALLPROF_KERNEL_DRIVERS_BPF_H

#include "bpf/kernel.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pci_sysdata {
	u32 domain;
};

struct pci_bus {
	void *sysdata; /* a struct pci_sysdata, on x86 */
	unsigned char number;
};

struct pci_dev {
	struct pci_bus *bus;
	unsigned int devfn;
	struct device dev;
};

struct intel_iommu {
	void *reg; /* where its registers are mapped */
	u64 cap;
	u16 segment;
};

struct nvme_ctrl;

struct bio_list {
	struct bio *head;
};

struct nvme_ns_head {
	struct bio_list requeue_list; /* bios that wait for a path, where the driver knows several */
	struct gendisk *disk; /* of all paths to the namespace; NULL: there is but one, which has its own */
};

struct nvme_ns {
	struct list_head list;
	struct nvme_ctrl *ctrl;
	struct nvme_ns_head *head;
	struct gendisk *disk;
};

/* Whatever their numbers are here. */
enum blk_eh_timer_return {
	BLK_EH_DONE,
	BLK_EH_RESET_TIMER,
};

enum nvme_ctrl_state {
	NVME_CTRL_NEW,
	NVME_CTRL_LIVE,
	NVME_CTRL_RESETTING,
	NVME_CTRL_CONNECTING,
	NVME_CTRL_DELETING,
	NVME_CTRL_DELETING_NOIO,
	NVME_CTRL_DEAD,
};

struct nvme_ctrl {
	enum nvme_ctrl_state state;
	struct blk_mq_tag_set *tagset;
	struct list_head namespaces;
	struct device ctrl_device;
	struct work_struct reset_work;
};

struct delayed_work {
	struct work_struct work;
};

struct nvme_tcp_ctrl {
	struct nvme_ctrl ctrl;
	struct work_struct err_work;
	struct delayed_work connect_work;
};

/* NVMe's driver for PCI begins its part of a request, behind struct request, with this. */
struct nvme_iod {
	unsigned char aborted;
	unsigned char flags; /* in place of it, in newer kernels */
};

enum nvme_iod_flags { IOD_ABORTED = 1 };

struct nvme_dev {
	struct nvme_ctrl ctrl;
};

struct dma_fence_ops {
	void *get_driver_name;
};

struct dma_fence {
	struct dma_fence_ops *ops; /* since 7.1 NULL once it is signalled */
	u64 context;
	u64 seqno;
	unsigned long flags;
	int error; /* below 0: what it stands for failed */
};

struct device_driver {
	const char *name;
};

struct device___driven {
	struct device_driver *driver;
};

struct drm_gpu_scheduler {
	const char *name;
	struct device *dev; /* since 5.18 */
};

struct drm_sched_fence {
	struct dma_fence scheduled;
	struct dma_fence finished;
	struct drm_gpu_scheduler *sched; /* of the job whose fence it is */
};

struct drm_sched_job {
	struct drm_gpu_scheduler *sched;
	struct drm_sched_fence *s_fence;
};

struct intel_engine_cs {
	char name[8];
};

struct i915_request {
	struct dma_fence fence;
	struct intel_engine_cs *engine;
};

struct virtqueue {
	const char *name;
};

struct virtio_gpu_vbuffer {
	char *buf;
	char *resp_buf;
	int resp_size;
};

struct virtio_gpu_ctrl_hdr {
	u32 type;
};

#define VIRTIO_GPU_RESP_ERR 0x1200 /* the first answer that is an error */

/* What the tracepoints of fences hand to the classic kind of program: where the strings lie behind the record's begin. */
struct trace_event_raw_dma_fence {
	u32 __data_loc_driver;
	u32 __data_loc_timeline;
};

struct vm_area_struct {
	struct file *vm_file;
};

struct vm_fault {
	struct vm_area_struct *vma; /* a part without a name holds it */
};

struct kiocb {
	struct file *ki_filp;
};

#pragma clang attribute pop

#endif
