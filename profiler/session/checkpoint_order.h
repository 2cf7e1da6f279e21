/*
 * What has become of one file: what was written to it, which of that is on the device, and what was so when it got its name. Told event by
 * event (bpf/abi_files.h), in the order in which they were; times are CLOCK_MONOTONIC.
 *
 *     struct checkpoint_order order = { 0 };
 *     checkpoint_order_add(&order, event);          wrote, done, synced, closed
 *     name = checkpoint_order_judge(&order, dirty);   when it is about to be renamed
 *     checkpoint_order_renamed(&order, now, name);
 *     checkpoint_order_release(&order);
 */
#ifndef STALLPROF_PROFILER_CHECKPOINT_ORDER_H
#define STALLPROF_PROFILER_CHECKPOINT_ORDER_H

#include <stdbool.h>

#include "bpf/abi.h"
#include "profiler/format/checkpoint_rows.h"

#define CHECKPOINT_RANGES_KEPT 1024

struct checkpoint_judgement {
	enum checkpoint_durable durable;
	enum checkpoint_reason reason;
};

struct checkpoint_order {
	struct checkpoint_file sums;     /* its numbers alone: texts and ranges are NULL */
	struct checkpoint_range *ranges; /* by offset, none touching the next */
	size_t n_ranges, ranges_room;
	uint64_t ranges_refused; /* beyond CHECKPOINT_RANGES_KEPT, or without memory */
	uint64_t highest_done;   /* the largest offset of a request that has ended */
	uint64_t changed_ns;     /* the last write that did not wait for the device itself */
	uint64_t synchronous_writes;
	uint64_t lost_before; /* events that were lost before the file was opened for this save */
};

/* What is no ABI_FILE_WROTE, _DONE, _SYNCED or _CLOSED is left out. */
void checkpoint_order_add(struct checkpoint_order *order, const struct abi_file_event *event);

/* Whether all of its data is on the device. `dirty`: it has pages that are not. */
struct checkpoint_judgement checkpoint_order_judge(const struct checkpoint_order *order, bool dirty);

void checkpoint_order_renamed(struct checkpoint_order *order, uint64_t now_ns,
                              struct checkpoint_judgement judgement);

/* Whether all that was written was synced, whenever that was. */
bool checkpoint_order_is_synced(const struct checkpoint_order *order);

/* Frees what it holds; it is as new then. */
void checkpoint_order_release(struct checkpoint_order *order);

#endif
