/* The work items by which NVMe's drivers bring a controller back. */
#include "bpf/thread.bpf.h"
#include "bpf/nvme.bpf.h"
#include "bpf/recovery.bpf.h"

ALWAYS int recovery_begins(struct nvme_ctrl *ctrl)
{
	struct recoverer recoverer = { .dev = controller_dev(ctrl), .generation = hot_generation };
	u64 key = (u64)bpf_get_current_task_btf();

	any_recoverers = 1;
	if (bpf_map_update_elem(&recoverers, &key, &recoverer, BPF_ANY))
		COUNT(follow_full);
	return 0;
}

ALWAYS int recovery_ends(void)
{
	u64 key = (u64)bpf_get_current_task_btf();

	bpf_map_delete_elem(&recoverers, &key);
	return 0;
}

ALWAYS struct nvme_ctrl *controller_of_reset(struct work_struct *work)
{
	return (void *)work - bpf_core_field_offset(struct nvme_ctrl, reset_work);
}

SEC("fentry/nvme_reset_work")
int BPF_PROG(on_reset_work, struct work_struct *work)
{
	return recovery_begins(controller_of_reset(work));
}

SEC("fexit/nvme_reset_work")
int BPF_PROG(on_reset_worked)
{
	return recovery_ends();
}

SEC("fentry/nvme_reset_ctrl_work")
int BPF_PROG(on_tcp_reset_work, struct work_struct *work)
{
	return recovery_begins(controller_of_reset(work));
}

SEC("fexit/nvme_reset_ctrl_work")
int BPF_PROG(on_tcp_reset_worked)
{
	return recovery_ends();
}

SEC("fentry/nvme_tcp_error_recovery_work")
int BPF_PROG(on_tcp_recovery_work, struct work_struct *work)
{
	struct nvme_tcp_ctrl *tcp = (void *)work - bpf_core_field_offset(struct nvme_tcp_ctrl, err_work);

	return recovery_begins((void *)tcp + bpf_core_field_offset(struct nvme_tcp_ctrl, ctrl));
}

SEC("fexit/nvme_tcp_error_recovery_work")
int BPF_PROG(on_tcp_recovery_worked)
{
	return recovery_ends();
}

/* The work item begins the delayed one. */
SEC("fentry/nvme_tcp_reconnect_ctrl_work")
int BPF_PROG(on_tcp_connect_work, struct work_struct *work)
{
	struct nvme_tcp_ctrl *tcp = (void *)work - bpf_core_field_offset(struct nvme_tcp_ctrl, connect_work);

	return recovery_begins((void *)tcp + bpf_core_field_offset(struct nvme_tcp_ctrl, ctrl));
}

SEC("fexit/nvme_tcp_reconnect_ctrl_work")
int BPF_PROG(on_tcp_connect_worked)
{
	return recovery_ends();
}

SEC("fentry/nvme_loop_reset_ctrl_work")
int BPF_PROG(on_loop_reset_work, struct work_struct *work)
{
	return recovery_begins(controller_of_reset(work));
}

SEC("fexit/nvme_loop_reset_ctrl_work")
int BPF_PROG(on_loop_reset_worked)
{
	return recovery_ends();
}
