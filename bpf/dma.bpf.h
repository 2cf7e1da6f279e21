/* Which request memory is mapped for, here and now.
 *
 * Drivers map a request's memory while they prepare it: NVMe's between nvme_setup_cmd and block_rq_issue, the others right after
 * block_rq_issue. So the last of the two on this CPU tells, as long as the same task is on it, at the same depth of interrupts.
 */
#ifndef STALLPROF_DMA_BPF_H
#define STALLPROF_DMA_BPF_H

#include "bpf/wait.bpf.h"

struct prepared {
	u64 request; /* its address, 0: none */
	u64 switches, task;
	u32 depth;  /* in interrupts */
	u32 begins; /* not issued yet: nothing else is mapped here until it is */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct prepared);
} prepared SEC(".maps") __weak;

ALWAYS void prepares(struct request *rq, bool begins)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 zero = 0;
	struct prepared *here = bpf_map_lookup_elem(&prepared, &zero);

	if (!here)
		return;
	if (!begins && here->request == (u64)rq && here->begins) {
		here->request = 0; /* its memory is mapped */
		return;
	}
	here->request = (u64)rq;
	here->begins = begins;
	here->task = (u64)current;
	here->switches = switches_of(current);
	here->depth = interrupt_depth(current);
}

struct ancestor_search {
	struct device *device;
	struct device *wanted;
	bool found;
};

/* One step up; 1 ends the loop. */
ALWAYS long ancestor_look(u32 i, struct ancestor_search *s)
{
	struct device *device = s->device;

	if (!device)
		return 1;
	s->found = device == s->wanted;
	if (s->found)
		return 1;
	s->device = BPF_CORE_READ(device, parent);
	return 0;
}

LOOP_OF(ancestor_look, struct ancestor_search)

/* Whether the disk is one of the device's. */
ALWAYS bool disk_hangs_on(struct gendisk *disk, struct device *device)
{
	struct block_device *whole = BPF_CORE_READ(disk, part0);
	struct ancestor_search s = { .device = BPF_CORE_READ(whole, bd_device.parent), .wanted = device };

	ancestor_look_loop(ANCESTORS_MAX, &s);
	return s.found;
}

/* What the task, or an interrupt upon it, prepares on this CPU; NULL: nothing. */
ALWAYS struct prepared *prepared_upon(struct task_struct *current)
{
	u32 zero = 0;
	struct prepared *here = bpf_map_lookup_elem(&prepared, &zero);

	return here && here->request && here->task == (u64)current && here->switches == switches_of(current)
	               ? here
	               : NULL;
}

/* The request whose memory is mapped for the device here and now; NULL: it is no request's, or that is not known. */
ALWAYS struct request *request_mapped(struct device *device)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct prepared *here = prepared_upon(current);
	struct request *rq;
	struct gendisk *disk;

	if (!here || here->depth != interrupt_depth(current))
		return NULL;
	rq = (struct request *)here->request;
	disk = BPF_CORE_READ(rq, q, disk);
	return disk && (here->begins || disk_hangs_on(disk, device)) ? rq : NULL;
}

/* The current task's storage, if it is a thread that holds a tag, and no interrupt is served on top of it. */
ALWAYS struct thread *thread_that_maps(struct task_struct *current, u32 depth)
{
	struct thread *t = depth || serves_others(current) ? NULL : thread_find(current);

	return t && thread_sums(t)->tag ? t : NULL;
}

/* Those who wait for the request bear it; so does the thread, if it is the one that issues it. */
ALWAYS void mapped_befalls(struct request *rq, struct thread *t, u32 cause)
{
	request_befalls(rq, cause, 0);
	if (t && t->issued_cause < cause)
		t->issued_cause = cause;
}

#endif
