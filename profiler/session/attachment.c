/* Attaches the hot BPF programs while something is tagged, and detaches them after a delay. */

#include "profiler/session/attachment.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/base/clock.h"
#include "bpf/abi.h"
#include "profiler/tags/families.h"
#include "profiler/tags/tag_watch.h"
#include "profiler/tracer/tracer.h"

#define LOOKS_MAX                                                                                            \
	16 /* for children of those given; each finds those that were forked during the one before */

static const struct attachment_finder *finder(const struct attachment *a)
{
	static const struct attachment_finder found_by_watch = { .take_held = tag_watch_take_held,
		                                                 .take_changed = tag_watch_take_changed,
		                                                 .needs_attach = tag_watch_needs_attach,
		                                                 .look = families_look };

	return a->finder ? a->finder : &found_by_watch;
}

/* Whether a thread is tagged, may be, or was since the last call, as a tag may be held for a moment only. */
static bool is_tagged(struct attachment *a, bool tagged_since)
{
	bool may_hold = finder(a)->take_held(a->watch);

	return a->always || tagged_since || may_hold || tracer_tagged(a->tracer) > 0 ||
	       finder(a)->needs_attach(a->watch);
}

bool attachment_wanted(struct attachment *a, uint64_t now_ns)
{
	uint64_t tagged_ns = tracer_tagged_ns(a->tracer);
	bool tagged_since = tagged_ns != a->tagged_ns;

	a->tagged_ns = tagged_ns;
	if (is_tagged(a, tagged_since)) {
		if (!a->wanted)
			a->due_ns = tagged_since && tagged_ns < now_ns ? tagged_ns : now_ns;
		a->wanted_ns = now_ns;
		a->wanted = true;
	} else if (now_ns - a->wanted_ns > ATTACHMENT_LINGER_NS) {
		a->wanted = false;
	}
	return a->wanted;
}

/* Threads that were tagged already have their time from the walk on that adopted them. */
static void count_lateness(struct attachment *a)
{
	uint64_t walked_ns = tracer_walked_ns(a->tracer), from_ns = walked_ns ? walked_ns : monotonic_ns();

	if (from_ns > a->due_ns)
		a->late_ns += from_ns - a->due_ns;
}

static int attach_or_adopt(struct attachment *a, char *err, size_t err_len)
{
	int result;

	if (tracer_attached(a->tracer)) {
		result = tracer_iterate(a->tracer, ABI_ITER_ADOPT);
		if (result)
			snprintf(err, err_len, "cannot walk over the threads: %s", strerror(-result));
	} else {
		result = tracer_attach(a->tracer, err, err_len);
		a->count += tracer_attached(a->tracer);
	}
	a->adopt = result != 0;
	return result;
}

int attachment_begin(struct attachment *a, char *err, size_t err_len)
{
	int result = a->wanted ? attach_or_adopt(a, err, err_len) : 0, looks;

	for (looks = 0; !result && looks < LOOKS_MAX && finder(a)->look(a->families) > 0; looks++)
		result = attach_or_adopt(a, err, err_len);
	return result;
}

void attachment_hold(struct attachment *a, uint64_t now_ns)
{
	char err[512];
	bool was_attached;

	a->adopt |= finder(a)->take_changed(a->watch);
	if (!attachment_wanted(a, now_ns)) {
		tracer_detach(a->tracer);
		tracer_rest(a->tracer);
	}
	if (!a->wanted || (tracer_attached(a->tracer) && !a->adopt))
		return;
	if (a->failed_ns && now_ns - a->failed_ns < ATTACHMENT_RETRY_NS)
		return;
	was_attached = tracer_attached(a->tracer);
	if (!attach_or_adopt(a, err, sizeof(err))) {
		a->failed_ns = 0;
		if (!was_attached)
			count_lateness(a);
	} else {
		if (!a->failed_ns)
			a->say(err);
		a->failed_ns = now_ns;
	}
}
