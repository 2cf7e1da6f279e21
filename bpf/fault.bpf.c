/* Faults that IOMMUs report: a device wanted memory that is not mapped for it.
 *
 *   io_page_fault     by AMD's driver, and by others that have somebody to tell
 *   dmar_fault        Intel's: called in the interrupt, before it takes the records out of the IOMMU's registers. They are read here
 *                     likewise, as there is no function that is called with what is in them
 */
#include "bpf/bare_event.bpf.h"
#include "bpf/fault.bpf.h"

#define TOLD_NS 1000000000ULL

struct one_fault {
	u64 address;
	u32 place, reason, access;
	bool is_dma; /* else an interrupt that was not remapped */
};

/* User space prints a line. False: there was no room to say so. */
ALWAYS bool fault_tell(const struct one_fault *one, u64 now, u64 count)
{
	struct abi_event *event = bare_event(ABI_EVENT_IOMMU_FAULT, now);

	if (!event)
		return false;
	event->tag = one->address;
	event->dev = one->place;
	event->state = one->access;
	event->cause = one->reason;
	event->weight_ns = count;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return true;
}

NOW_AND_THEN void fault_made(const struct one_fault *one)
{
	u64 now = bpf_ktime_get_ns(), count;
	struct fault fresh = { .last_ns = now }, *known;
	u32 place = one->place;

	COUNT(iommu_faults);
	known = bpf_map_lookup_elem(&faults, &place);
	if (!known) {
		bpf_map_update_elem(&faults, &place, &fresh, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&faults, &place);
		if (!known)
			return;
	}
	if (one->is_dma) {
		known->last_ns = now;
		last_fault_ns = now;
	}
	__sync_fetch_and_add(&known->untold, 1);
	if (known->told_ns && since(now, known->told_ns) < TOLD_NS)
		return;
	count = __sync_lock_test_and_set(&known->untold, 0);
	if (!count)
		return; /* another CPU tells it */
	if (fault_tell(one, now, count))
		known->told_ns = now;
	else
		__sync_fetch_and_add(&known->untold, count);
}

#define IOMMU_FAULT_WRITE 1 /* without it: a read, or AMD's IOMMU does not know */

SEC("tp_btf/io_page_fault")
int BPF_PROG(on_page_fault, struct device *device, unsigned long address, unsigned int flags)
{
	struct one_fault one = { .address = address,
		                 .place = device_place(device),
		                 .access = flags & IOMMU_FAULT_WRITE ? ABI_FAULT_WRITE : ABI_FAULT_ACCESS,
		                 .is_dma = true };

	fault_made(&one);
	return 0;
}

/* --- Intel's registers (VT-d specification, chapter 11) -------------------------------------------------- */
#define STATUS_AT      0x34
#define RECORD_BYTES   16
#define RECORDS_MAX    256
#define RECORD_IS      (1U << 31)
#define RECORD_READ    (1U << 30)
#define REASON_IR      0x20 /* from here to … */
#define REASON_IR_LAST 0x26 /* … here: of interrupts */

struct records {
	void *at;
	u32 next, n, segment;
};

ALWAYS u32 register_32(const void *at)
{
	u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), at);
	return value;
}

/* One record; 1 ends the loop. */
ALWAYS long record_look(u32 i, struct records *records)
{
	const void *at = records->at + records->next * RECORD_BYTES;
	struct one_fault one = {};
	u32 high;

	if (i >= records->n)
		return 1; /* all have been looked at: they stay until the handler clears them */
	high = register_32(at + 12);
	if (!(high & RECORD_IS))
		return 1;
	one.reason = high & 0xff;
	one.access = high & RECORD_READ ? ABI_FAULT_READ : ABI_FAULT_WRITE;
	one.is_dma = one.reason < REASON_IR || one.reason > REASON_IR_LAST;
	one.place = place_of(records->segment, register_32(at + 8));
	bpf_probe_read_kernel(&one.address, sizeof(one.address), at);
	one.address &= ~0xfffULL;
	fault_made(&one);
	if (++records->next >= records->n)
		records->next = 0;
	return 0;
}

LOOP_OF(record_look, struct records)

SEC("fentry/dmar_fault")
int BPF_PROG(on_dmar_fault, int irq, struct intel_iommu *iommu)
{
	u64 capabilities = BPF_CORE_READ(iommu, cap);
	void *registers = BPF_CORE_READ(iommu, reg);
	struct records records = {
		.at = registers + (capabilities >> 24 & 0x3ff) * RECORD_BYTES,
		.next = register_32(registers + STATUS_AT) >> 8 & 0xff,
		.n = (capabilities >> 40 & 0xff) + 1,
		.segment = BPF_CORE_READ(iommu, segment),
	};

	record_look_loop(RECORDS_MAX, &records);
	return 0;
}
