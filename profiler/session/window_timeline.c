/* Puts the samples and rows of a window on its timeline. */

#include "profiler/session/window_timeline.h"

#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "profiler/format/timeline.h"
#include "symbolizer/base/clock.h"

int window_timeline_init(struct window_timeline *timeline)
{
	memset(timeline, 0, sizeof(*timeline));
	timeline->timeline = timeline_new(0);
	timeline->begin_ns = monotonic_ns();
	timeline->unix_offset_ns = unix_ns() - timeline->begin_ns;
	return timeline->timeline ? 0 : -ENOMEM;
}

void window_timeline_release(struct window_timeline *timeline)
{
	timeline_free(timeline->timeline);
	timeline->timeline = NULL;
}

void window_timeline_add(struct window_timeline *timeline, const struct timeline_lane *lane,
                         uint64_t begin_ns, uint64_t end_ns, int64_t value)
{
	if (value && timeline_add(timeline->timeline, lane, begin_ns + timeline->unix_offset_ns,
	                          end_ns + timeline->unix_offset_ns, value))
		timeline->refused++;
}

static struct timeline_lane lane_of_wait(unsigned int state, const char *class, const char *name,
                                         const char *device)
{
	return (struct timeline_lane){ .kind = state == ABI_STALL       ? TIMELINE_STALL
		                               : state == ABI_CPU_STALL ? TIMELINE_SPIN
		                                                        : TIMELINE_BLOCKED,
		                       .class = class,
		                       .name = name,
		                       .device = state == ABI_SLEEP ? "" : device,
		                       .bucket_ns = TIMELINE_WAITS_BUCKET_NS };
}

void window_timeline_event(struct window_timeline *timeline, const struct abi_event *event, const char *class,
                           const char *name, const char *device)
{
	struct timeline_lane lane = lane_of_wait(event->state, class, name, device);

	if (event->state == ABI_STALL || event->state == ABI_SLEEP || event->state == ABI_CPU_STALL)
		window_timeline_add(timeline, &lane, event->time_ns - event->duration_ns, event->time_ns,
		                    (int64_t)event->weight_ns);
}

void window_timeline_moved(struct window_timeline *timeline, const struct abi_event *event, const char *class,
                           const char *name, const char *device)
{
	struct timeline_lane lane = lane_of_wait(event->moved_state, class, name, device);
	uint64_t begin_ns = event->time_ns - event->duration_ns;

	window_timeline_add(timeline, &lane, begin_ns, begin_ns + (uint64_t)event->moved_ns,
	                    -event->moved_ns);
}

static struct taken_class *class_of(struct window_timeline *timeline, const char *class)
{
	struct taken_class *taken = timeline->taken;
	size_t i;

	for (i = 0; i < timeline->taken_count; i++) {
		if (taken[i].class == class)
			return &taken[i];
	}
	if (i == WINDOW_TAKEN_CLASSES) {
		timeline->refused++;
		return NULL;
	}
	timeline->taken_count++;
	taken[i] = (struct taken_class){ .class = class };
	return &taken[i];
}

void window_timeline_row(struct window_timeline *timeline, unsigned int state, const char *class, int64_t ns,
                         bool is_new)
{
	bool oncpu = state == ABI_ONCPU;
	struct taken_class *taken = oncpu || state == ABI_RUNQ ? class_of(timeline, class) : NULL;

	if (!taken)
		return;
	*(oncpu ? &taken->oncpu_ns : &taken->runqueue_ns) += ns;
	taken->steps += is_new;
}

void window_timeline_taken(struct window_timeline *timeline, uint64_t begin_ns, uint64_t end_ns)
{
	for (size_t i = 0; i < timeline->taken_count; i++) {
		const struct taken_class *taken = &timeline->taken[i];
		struct timeline_lane lane = { .class = taken->class, .bucket_ns = TIMELINE_LEDGER_BUCKET_NS };

		lane.kind = TIMELINE_ONCPU;
		window_timeline_add(timeline, &lane, begin_ns, end_ns, taken->oncpu_ns);
		lane.kind = TIMELINE_RUNQUEUE;
		window_timeline_add(timeline, &lane, begin_ns, end_ns, taken->runqueue_ns);
		lane.kind = TIMELINE_STEPS;
		window_timeline_add(timeline, &lane, begin_ns, end_ns, taken->steps);
	}
	timeline->taken_count = 0;
}
