/* What is asked of an NVMe controller. */
#ifndef STALLPROF_NVME_BPF_H
#define STALLPROF_NVME_BPF_H

#include "bpf/state.bpf.h"

/* The first disk of the controller, 0 when it has none. Of disks with several paths, whose own are hidden, the one that is used. */
ALWAYS u32 controller_dev(struct nvme_ctrl *ctrl)
{
	struct list_head *first = BPF_CORE_READ(ctrl, namespaces.next);
	struct nvme_ns *ns = (void *)first - bpf_core_field_offset(struct nvme_ns, list);
	struct gendisk *disk, *whole;

	if (!first || first == &ctrl->namespaces)
		return 0;
	disk = BPF_CORE_READ(ns, disk);
	if (disk && BPF_CORE_READ(disk, flags) & DISK_HIDDEN && HAS_FIELD(ns, head)) {
		whole = BPF_CORE_READ(ns, head, disk);
		if (whole)
			disk = whole;
	}
	return disk ? BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
}

#endif
