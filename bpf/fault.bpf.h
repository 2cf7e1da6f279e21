/* IOMMU faults, by the device that made them, and which requests were under way then.
 *
 * A PCI device is known by its segment, bus, device and function, as the IOMMU has it. A request was under way when its device made a
 * fault if it had started before: after it, others do not bear it.
 */
#ifndef STALLPROF_FAULT_BPF_H
#define STALLPROF_FAULT_BPF_H

#include "bpf/request_flags.bpf.h"
#include "bpf/state.bpf.h"

struct fault {
	u64 last_ns; /* the last one */
	u64 told_ns; /* when user space was told last */
	u64 untold;  /* how many it was not told of since */
};

/* By the device's place, see place_of(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct fault);
} faults SEC(".maps") __weak;

ALWAYS u32 place_of(u32 segment, u32 bus_devfn)
{
	return segment << 16 | (bus_devfn & 0xffff);
}

ALWAYS bool device_is_pci(struct device *device)
{
	char name[4] = "";

	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(device, bus, name));
	return name[0] == 'p' && name[1] == 'c' && name[2] == 'i' && !name[3];
}

/* PCI segments. From there on Linux has numbers for what lies behind one device, a VMD, which makes the faults. */
#define SEGMENTS 0x10000

/* Fills in the place of a PCI device, if it has one of its own. */
ALWAYS bool pci_place(struct device *device, u32 *place)
{
	struct pci_dev *pci = (void *)device - bpf_core_field_offset(struct pci_dev, dev);
	struct pci_bus *bus = BPF_CORE_READ(pci, bus);
	struct pci_sysdata *data = (struct pci_sysdata *)BPF_CORE_READ(bus, sysdata);
	u32 segment = BPF_CORE_READ(data, domain);

	if (segment >= SEGMENTS)
		return false;
	*place = place_of(segment, BPF_CORE_READ(bus, number) << 8 | (BPF_CORE_READ(pci, devfn) & 0xff));
	return true;
}

struct place_search {
	struct device *device;
	u32 place;
};

/* One step up; 1 ends the loop. */
ALWAYS long place_look(u32 i, struct place_search *s)
{
	struct device *device = s->device;

	if (!device)
		return 1;
	if (device_is_pci(device) && pci_place(device, &s->place))
		return 1;
	s->device = BPF_CORE_READ(device, parent);
	return 0;
}

LOOP_OF(place_look, struct place_search)

#define ANCESTORS_MAX 16

/* The place of the PCI device that a device is, or belongs to. */
ALWAYS u32 device_place(struct device *device)
{
	struct place_search s = { .device = device, .place = ABI_FAULT_NO_PLACE };

	place_look_loop(ANCESTORS_MAX, &s);
	return s.place;
}

/* Whether the request was under way while its device made a fault. */
ALWAYS bool request_was_faulted(struct request *rq)
{
	u64 start_ns = last_fault_ns ? request_start_ns(rq) : 0;
	struct block_device *whole;
	struct fault *fault;
	u32 place;

	if (!start_ns || start_ns > last_fault_ns)
		return false;
	whole = BPF_CORE_READ(rq, q, disk, part0);
	if (!whole)
		return false;
	place = device_place(BPF_CORE_READ(whole, bd_device.parent));
	if (place == ABI_FAULT_NO_PLACE)
		return false;
	fault = bpf_map_lookup_elem(&faults, &place);
	return fault && start_ns <= fault->last_ns;
}

#endif
