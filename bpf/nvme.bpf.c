/* NVMe's side: commands that time out or are aborted, and controllers that are being reset. */
#include "bpf/nvme.bpf.h"
#include "bpf/wait.bpf.h"

/* By its name, as the numbers differ from kernel to kernel. */
ALWAYS u32 state_told(u32 state)
{
	if (state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_NEW))
		return ABI_NVME_NEW;
	if (state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_LIVE))
		return ABI_NVME_LIVE;
	if (state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_RESETTING))
		return ABI_NVME_RESETTING;
	if (state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_CONNECTING))
		return ABI_NVME_CONNECTING;
	if (state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_DELETING))
		return ABI_NVME_DELETING;
	if (bpf_core_enum_value_exists(enum nvme_ctrl_state, NVME_CTRL_DELETING_NOIO) &&
	    state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_DELETING_NOIO))
		return ABI_NVME_DELETING;
	if (bpf_core_enum_value_exists(enum nvme_ctrl_state, NVME_CTRL_DEAD) &&
	    state == bpf_core_enum_value(enum nvme_ctrl_state, NVME_CTRL_DEAD))
		return ABI_NVME_DEAD;
	return ABI_NVME_UNKNOWN;
}

/* Also of one whose begin was not seen. `state`: the controller's. What was noted while the reset went on tells more than that it is live
 * again, or still; of one that has ended with a live controller nothing else is known. */
ALWAYS void reset_note(struct nvme_ctrl *ctrl, u64 end_ns, u32 state)
{
	struct reset reset = { .end_ns = end_ns, .state = state }, *known;
	u64 key = (u64)ctrl;

	known = bpf_map_lookup_elem(&resets, &key);
	if (known)
		reset.before_ns = known->end_ns;
	if (known && known->end_ns == RESET_GOES_ON && (state == ABI_NVME_UNKNOWN || state == ABI_NVME_LIVE))
		reset.state = known->state;
	else if (end_ns != RESET_GOES_ON && state == ABI_NVME_LIVE)
		reset.state = ABI_NVME_UNKNOWN;
	if (bpf_map_update_elem(&resets, &key, &reset, BPF_ANY))
		COUNT(follow_full);
	/* Before the flag: forget_resets() takes that back, and looks again. */
	__sync_fetch_and_add(&resets_noted, 1);
	any_resets = 1;
}

/* The kworker that resets the controller: who waits for the queues, which are closed meanwhile, is woken by it. */
ALWAYS void worker_resets(struct nvme_ctrl *ctrl, u32 state)
{
	struct task_struct *worker = bpf_get_current_task_btf();
	struct carried reset = { .cause = ABI_CAUSE_NVME_RESET, .state = state, .sticky = 1 };

	if (!(worker->flags & PF_WQ_WORKER) || interrupt_depth(worker))
		return; /* it may be an interrupt's doing, whatever that has interrupted */
	reset.dev = controller_dev(ctrl);
	carry_now(worker, &reset);
}

/* It is about to be live, and what waited for it goes on before the function is over: a reset whose begin was not seen is noted here. */
SEC("fentry/nvme_change_ctrl_state")
int BPF_PROG(on_nvme_state_begin, struct nvme_ctrl *ctrl, u32 state)
{
	if (state_told(state) == ABI_NVME_LIVE)
		reset_note(ctrl, RESET_GOES_ON, ABI_NVME_UNKNOWN);
	return 0;
}

/* It was not let: what was known before stands. */
ALWAYS void reset_take_back(struct nvme_ctrl *ctrl)
{
	u64 key = (u64)ctrl;
	struct reset *known = bpf_map_lookup_elem(&resets, &key);

	if (known && known->end_ns == RESET_GOES_ON)
		known->end_ns = known->before_ns;
}

/* A controller's state has changed: it is live, dead, or on its way to either. */
SEC("fexit/nvme_change_ctrl_state")
int BPF_PROG(on_nvme_state, struct nvme_ctrl *ctrl, u32 state, u64 changed)
{
	u32 told = state_told(state);

	if (!(u8)changed) { /* a bool has but one byte */
		if (told == ABI_NVME_LIVE)
			reset_take_back(ctrl);
		return 0;
	}
	if (told == ABI_NVME_LIVE || told == ABI_NVME_DEAD) {
		reset_note(ctrl, bpf_ktime_get_ns(), told);
		return 0;
	}
	reset_note(ctrl, RESET_GOES_ON, told);
	worker_resets(ctrl, told);
	return 0;
}

/* The PCI driver stops the device, which ends what is under way; older kernels change the state only afterwards. */
SEC("fentry/nvme_dev_disable")
int BPF_PROG(on_nvme_disable, struct nvme_dev *dev)
{
	struct nvme_ctrl *ctrl = (void *)dev + bpf_core_field_offset(struct nvme_dev, ctrl);
	u32 state = state_told(BPF_CORE_READ(ctrl, state));

	reset_note(ctrl, RESET_GOES_ON, state);
	worker_resets(ctrl, state);
	return 0;
}

/* Its memory goes. What comes before that, nvme_uninit_ctrl, is inlined where fabrics' controllers go. */
SEC("fentry/nvme_free_ctrl")
int BPF_PROG(on_nvme_gone, struct device *device)
{
	u64 key = (u64)device - bpf_core_field_offset(struct nvme_ctrl, ctrl_device);

	bpf_map_delete_elem(&resets, &key);
	return 0;
}

/* Of a disk with several paths, when none of them is usable now: the bio is kept for later, and is the disk's still. Else it is one of the
 * paths' now, whose own disks are hidden. The rest of a bio that was split is the disk's as well, but then none is kept. */
SEC("fexit/nvme_ns_head_submit_bio")
int BPF_PROG(on_head_submitted, struct bio *bio)
{
	struct gendisk *disk = BPF_CORE_READ(bio, bi_bdev, bd_disk);
	struct nvme_ns_head *head;

	if (!disk || BPF_CORE_READ(disk, flags) & DISK_HIDDEN)
		return 0;
	head = BPF_CORE_READ(disk, private_data);
	if (BPF_CORE_READ(head, disk) != disk)
		return 0; /* it is no disk of several paths */
	if (HAS_FIELD(head, requeue_list) && BPF_CORE_READ(head, requeue_list.head))
		hint_next_sleep(ABI_CAUSE_NVME_RESET, disk_dev_at(disk), false);
	return 0;
}

/* Of the driver's own commands nobody waits with a tag. */
ALWAYS bool request_of_disk(struct request *rq)
{
	return BPF_CORE_READ(rq, q, disk) != NULL;
}

ALWAYS void befalls(struct request *rq, u32 cause)
{
	struct nvme_ctrl *ctrl = queue_controller(BPF_CORE_READ(rq, q));

	request_befalls(rq, cause, ctrl ? state_told(BPF_CORE_READ(ctrl, state)) : ABI_NVME_UNKNOWN);
}

ALWAYS int times_out(struct request *rq)
{
	if (request_of_disk(rq))
		befalls(rq, ABI_CAUSE_NVME_TIMEOUT);
	return 0;
}

/* Whether the PCI driver has sent an abort command for the request. */
ALWAYS bool request_aborted(struct request *rq)
{
	struct nvme_iod *iod = (void *)rq + bpf_core_type_size(struct request);

	if (HAS_FIELD(iod, aborted))
		return BPF_CORE_READ(iod, aborted);
	if (HAS_FIELD(iod, flags) && bpf_core_enum_value_exists(enum nvme_iod_flags, IOD_ABORTED))
		return BPF_CORE_READ(iod, flags) & bpf_core_enum_value(enum nvme_iod_flags, IOD_ABORTED);
	return false;
}

SEC("fentry/nvme_timeout")
int BPF_PROG(on_nvme_timeout, struct request *rq)
{
	return times_out(rq);
}

/* What nvme_timeout() returned. Before 5.17, which has this helper, it has two arguments. */
ALWAYS u32 timeout_result(unsigned long long *ctx)
{
	u64 result = 0;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_func_ret))
		bpf_get_func_ret(ctx, &result);
	else /* ctx[2]; clang would add to ctx first, which the verifier refuses */
		asm volatile("%0 = *(u64 *)(%1 + 16)" : "=r"(result) : "r"(ctx));
	return result;
}

/* An abort command has been sent only if the request is waited for further. Else it may be over by now, and what is noted of it would
 * stay. */
SEC("fexit/nvme_timeout")
int BPF_PROG(on_nvme_timed_out, struct request *rq)
{
	if (timeout_result(ctx) != bpf_core_enum_value(enum blk_eh_timer_return, BLK_EH_RESET_TIMER))
		return 0;
	if (request_of_disk(rq) && request_aborted(rq))
		befalls(rq, ABI_CAUSE_NVME_ABORT);
	return 0;
}

SEC("fentry/nvme_tcp_timeout")
int BPF_PROG(on_nvme_tcp_timeout, struct request *rq)
{
	return times_out(rq);
}

SEC("fentry/nvme_rdma_timeout")
int BPF_PROG(on_nvme_rdma_timeout, struct request *rq)
{
	return times_out(rq);
}

SEC("fentry/nvme_fc_timeout")
int BPF_PROG(on_nvme_fc_timeout, struct request *rq)
{
	return times_out(rq);
}
