/* Sums a file's events, and judges whether its data is on the device. */

#include "profiler/session/checkpoint_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"

#define BLOCK 4096 /* requests are of whole blocks, also where less was written */

/* What the kernel uses in itself where a call is begun again by itself. */
#define ERESTARTSYS           512
#define ERESTART_RESTARTBLOCK 516

static uint64_t earlier(uint64_t known, uint64_t ns)
{
	return known && known < ns ? known : ns;
}

static uint64_t later(uint64_t known, uint64_t ns)
{
	return known > ns ? known : ns;
}

/* --- ranges ------------------------------------------------------------------------------------------- */

static uint64_t end_of(const struct checkpoint_range *range)
{
	return range->offset + range->length;
}

static void take_times(struct checkpoint_range *to, const struct checkpoint_range *from)
{
	if (!from->last_done_ns)
		return;
	to->first_done_ns = earlier(to->first_done_ns, from->first_done_ns);
	to->last_done_ns = later(to->last_done_ns, from->last_done_ns);
}

/* Those from `first` to before `last` become one with `range`, or it stands between them. */
static void put(struct checkpoint_order *order, size_t first, size_t last, struct checkpoint_range range)
{
	size_t n = last - first;

	for (size_t i = first; i < last; i++) {
		uint64_t end = later(end_of(&range), end_of(&order->ranges[i]));

		if (order->ranges[i].offset < range.offset)
			range.offset = order->ranges[i].offset;
		range.length = end - range.offset;
		take_times(&range, &order->ranges[i]);
	}
	if (!n && growing_array_reserve((void **)&order->ranges, order->n_ranges + 1, &order->ranges_room,
	                                sizeof(*order->ranges), CHECKPOINT_RANGES_KEPT)) {
		order->ranges_refused++;
		return;
	}
	memmove(&order->ranges[first + 1], &order->ranges[last],
	        (order->n_ranges - last) * sizeof(*order->ranges));
	order->ranges[first] = range;
	order->n_ranges += 1 - n;
}

static void add_range(struct checkpoint_order *order, struct checkpoint_range range)
{
	size_t first = search_past(i, 0, order->n_ranges, end_of(&order->ranges[i]) < range.offset);
	size_t last = search_past(i, first, order->n_ranges, order->ranges[i].offset <= end_of(&range));

	put(order, first, last, range);
}

/* Whether what was written, in whole blocks, has all of the range. */
static bool has_blocks(const struct checkpoint_order *order, const struct checkpoint_range *range,
                       size_t first, size_t last)
{
	uint64_t at = range->offset;

	for (size_t i = first; i < last; i++) {
		if (order->ranges[i].offset / BLOCK * BLOCK > at)
			return false;
		at = later(at, (end_of(&order->ranges[i]) + BLOCK - 1) / BLOCK * BLOCK);
	}
	return at >= end_of(range);
}

/* A request for the range has ended: the ranges that it is in have that time. Where no call has written, it was written by other ways. */
static void range_done(struct checkpoint_order *order, struct checkpoint_range range)
{
	size_t first = search_past(i, 0, order->n_ranges, end_of(&order->ranges[i]) <= range.offset);
	size_t last = search_past(i, first, order->n_ranges, order->ranges[i].offset < end_of(&range));

	if (!has_blocks(order, &range, first, last)) {
		add_range(order, range);
		return;
	}
	for (size_t i = first; i < last; i++)
		take_times(&order->ranges[i], &range);
}

/* --- events ------------------------------------------------------------------------------------------- */

static bool range_of(const struct abi_file_event *event, uint64_t length, struct checkpoint_range *range)
{
	uint64_t end;

	*range = (struct checkpoint_range){ .offset = event->offset, .length = length };
	return length && !__builtin_add_overflow(event->offset, length, &end) && end <= INT64_MAX;
}

static void take_error(struct checkpoint_order *order, int64_t result)
{
	if (!order->sums.error)
		order->sums.error = -result;
}

/* Whether the call is no failure, but to be made again. */
static bool is_interrupted(int64_t result)
{
	return result == -EINTR || result == -EAGAIN ||
	       (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK);
}

static void wrote(struct checkpoint_order *order, const struct abi_file_event *event)
{
	struct checkpoint_file *sums = &order->sums;
	struct checkpoint_range range;

	if (is_interrupted(event->result))
		return;
	sums->writes++;
	sums->first_write_ns = earlier(sums->first_write_ns, event->end_ns);
	sums->last_write_ns = later(sums->last_write_ns, event->end_ns);
	if (event->result < 0) {
		sums->failed_writes++;
		take_error(order, event->result);
		return;
	}
	sums->written_bytes += (uint64_t)event->result;
	sums->short_writes += (uint64_t)event->result < event->length;
	if (event->flags & ABI_FILE_SYNCHRONOUS)
		order->synchronous_writes++;
	else
		order->changed_ns = later(order->changed_ns, event->end_ns);
	if (range_of(event, (uint64_t)event->result, &range))
		add_range(order, range);
}

static void done(struct checkpoint_order *order, const struct abi_file_event *event)
{
	struct checkpoint_file *sums = &order->sums;
	struct checkpoint_range range;

	sums->completions++;
	sums->first_done_ns = earlier(sums->first_done_ns, event->end_ns);
	sums->last_done_ns = later(sums->last_done_ns, event->end_ns);
	if (event->result) {
		sums->failed_completions++;
		take_error(order, event->result < 0 ? event->result : -EIO);
		return;
	}
	sums->completed_bytes += event->length;
	if (event->flags & ABI_FILE_SCATTERED) {
		sums->scattered++;
		return;
	}
	sums->out_of_order += event->offset < order->highest_done;
	order->highest_done = later(order->highest_done, event->offset);
	if (!range_of(event, event->length, &range))
		return;
	range.first_done_ns = range.last_done_ns = event->end_ns;
	range_done(order, range);
}

/* Whether the sync was of all that is known to be written. */
static bool is_of_all(const struct checkpoint_order *order, const struct abi_file_event *event)
{
	uint64_t end = order->n_ranges ? end_of(&order->ranges[order->n_ranges - 1]) : 0, synced;

	if (order->n_ranges && event->offset > order->ranges[0].offset)
		return false;
	return __builtin_add_overflow(event->offset, event->length, &synced) || synced >= end;
}

static void synced(struct checkpoint_order *order, const struct abi_file_event *event)
{
	struct checkpoint_file *sums = &order->sums;

	sums->syncs++;
	if (event->result < 0) {
		sums->failed_syncs++;
		take_error(order, event->result);
	} else if (is_of_all(order, event) && event->begin_ns >= sums->sync_begin_ns) {
		sums->sync_begin_ns = event->begin_ns;
		sums->sync_end_ns = event->end_ns;
	}
}

static void closed(struct checkpoint_order *order, const struct abi_file_event *event)
{
	order->sums.closes++;
	order->sums.closed_ns = event->end_ns;
}

void checkpoint_order_add(struct checkpoint_order *order, const struct abi_file_event *event)
{
	static void (*const by_kind[])(struct checkpoint_order *, const struct abi_file_event *) = {
		[ABI_FILE_WROTE] = wrote,
		[ABI_FILE_DONE] = done,
		[ABI_FILE_SYNCED] = synced,
		[ABI_FILE_CLOSED] = closed,
	};

	if (event->kind >= sizeof(by_kind) / sizeof(by_kind[0]) || !by_kind[event->kind])
		return;
	by_kind[event->kind](order, event);
	if (event->lost > order->lost_before)
		order->sums.lost = later(order->sums.lost, event->lost - order->lost_before);
}

/* --- judging ------------------------------------------------------------------------------------------ */

bool checkpoint_order_is_synced(const struct checkpoint_order *order)
{
	const struct checkpoint_file *sums = &order->sums;

	if (sums->failed_syncs || sums->failed_completions || sums->lost)
		return false;
	if (order->synchronous_writes && !order->changed_ns)
		return true;
	return sums->sync_end_ns && sums->sync_begin_ns >= order->changed_ns &&
	       sums->sync_end_ns >= sums->last_done_ns;
}

struct checkpoint_judgement checkpoint_order_judge(const struct checkpoint_order *order, bool dirty)
{
	const struct checkpoint_file *sums = &order->sums;
	enum checkpoint_reason reason = CHECKPOINT_CHANGED_AFTER_SYNC;

	/* An fsync that succeeds after one that failed tells nothing: the kernel reports an error once, and takes the pages for written. */
	if (sums->failed_syncs || sums->failed_completions)
		return (struct checkpoint_judgement){ CHECKPOINT_NOT_DURABLE, CHECKPOINT_WRITE_FAILED };
	if (dirty)
		return (struct checkpoint_judgement){ CHECKPOINT_NOT_DURABLE, CHECKPOINT_STILL_DIRTY };
	if (checkpoint_order_is_synced(order))
		return (struct checkpoint_judgement){ CHECKPOINT_DURABLE, CHECKPOINT_NO_REASON };
	if (sums->lost)
		reason = CHECKPOINT_EVENTS_LOST;
	else if (!sums->writes && !sums->completions)
		reason = CHECKPOINT_BEGUN_BEFORE;
	else if (!sums->sync_end_ns)
		reason = CHECKPOINT_NEVER_SYNCED;
	return (struct checkpoint_judgement){ CHECKPOINT_DURABLE_UNKNOWN, reason };
}

void checkpoint_order_renamed(struct checkpoint_order *order, uint64_t now_ns,
                              struct checkpoint_judgement judgement)
{
	order->sums.renames++;
	order->sums.renamed_ns = now_ns;
	order->sums.folder_synced_ns = 0;
	order->sums.durable_before_name = judgement.durable;
	order->sums.reason = judgement.reason;
}

void checkpoint_order_release(struct checkpoint_order *order)
{
	free(order->ranges);
	*order = (struct checkpoint_order){ .ranges = NULL };
}
