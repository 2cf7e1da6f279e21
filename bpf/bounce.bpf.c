/* DMA maps that go through a bounce buffer (swiotlb), and those that find no room there. */
#include "bpf/dma.bpf.h"

ALWAYS void bounces(struct device *device)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *t = thread_that_maps(current, interrupt_depth(current));
	struct request *rq = request_mapped(device);

	if (t)
		t->mapping.bounced = 1;
	if (rq)
		mapped_befalls(rq, t, ABI_CAUSE_DMA_BOUNCE);
}

SEC("tp_btf/swiotlb_bounced")
int BPF_PROG(on_bounced, struct device *device)
{
	bounces(device);
	return 0;
}

/* DMA_MAPPING_ERROR */
#define NO_ADDRESS (~0ULL)

ALWAYS void may_be_full(u64 address, struct device *device)
{
	if (address != NO_ADDRESS)
		return;
	COUNT(swiotlb_full);
	bounces(device);
}

SEC("fexit/swiotlb_tbl_map_single")
int BPF_PROG(on_bounce_single, struct device *device)
{
	u64 address = 0;

	/* Before 5.17, which has this helper, it has more arguments than a hook may have. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_func_ret) &&
	    !bpf_get_func_ret(ctx, &address))
		may_be_full(address, device);
	return 0;
}

/* Its only caller but for IOMMUs', where it has more arguments than a hook may have (before 6.6). */
SEC("fexit/swiotlb_map")
int BPF_PROG(on_bounce_map, struct device *device, u64 paddr, u64 size, int dir, unsigned long attrs,
             u64 address)
{
	may_be_full(address, device);
	return 0;
}
