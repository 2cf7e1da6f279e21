/* What is asked of an NVMe controller. */
#ifndef STALLPROF_NVME_BPF_H
#define STALLPROF_NVME_BPF_H

#include "bpf/follow.bpf.h"

/* The first disk of the controller, 0 when it has none. */
ALWAYS u32 controller_dev(struct nvme_ctrl *ctrl)
{
	struct list_head *first = BPF_CORE_READ(ctrl, namespaces.next);
	struct nvme_ns *ns = (void *)first - bpf_core_field_offset(struct nvme_ns, list);

	if (!first || first == &ctrl->namespaces)
		return 0;
	return disk_dev_at(BPF_CORE_READ(ns, disk));
}

#endif
