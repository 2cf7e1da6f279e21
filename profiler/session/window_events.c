/* Adds events to a window: samples of waits and of CPUs, and jobs of GPUs. */

#include <errno.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/process/process_table.h"
#include "profiler/session/detail_labels.h"
#include "profiler/session/device_names.h"
#include "profiler/session/gpu_jobs.h"
#include "profiler/session/inherited_waits.h"
#include "profiler/session/stack_location.h"
#include "profiler/session/stack_resolve.h"
#include "profiler/tracer/tracer.h"
#include "profiler/session/window_state.h"
#include "profiler/session/window_timeline.h"
#include "profiler/session/working_call.h"
#include "symbolizer/symbolizer.h"

/* pprof takes mapping 0 for the main binary: let it be the program of the first process that is seen. */
static void add_main_binary(struct window *window, const struct abi_event *event)
{
	struct process *process =
	        process_table_get(window->deps.processes, event->tgid, event->process_start_ns, event->comm);
	const struct sym_module *module;

	if (window->has_main_binary || !process)
		return;
	window->has_main_binary = true;
	module = process_table_main_module(window->deps.processes, process);
	if (module)
		stack_mapping(window->profile, module);
	else
		profile_mapping(window->profile, 0, 0, 0,
		                process->program[0] ? process->program : process->comm, NULL, true, false);
}

static void event_key(struct abi_ledger_key *key, const struct abi_event *event)
{
	memset(key, 0, sizeof(*key));
	key->tag = event->tag;
	key->process_start_ns = event->process_start_ns;
	key->tgid = event->tgid;
	key->dev = event->dev;
	key->state = event->state;
	key->cause = event->cause;
}

static int count_lost(struct window *window, const struct abi_event *event, int err)
{
	window->n_lost++;
	if (abi_of_stall(event))
		window->lost_ns += event->duration_ns;
	return err;
}

void window_lose_event(struct window *window, const struct abi_event *event)
{
	count_lost(window, event, 0);
}

/* The row's sample with that stack, and with the detail if that is of the row's cause. */
static int sample_of(struct window *window, const struct abi_ledger_key *key, const struct told *told,
                     struct row **row, struct sample **sample)
{
	struct told of_row = *told;

	if (told->detail && key->cause != told->detail->cause)
		of_row.detail = NULL;
	*row = window_row(window, key);
	if (*row && !(*row)->tag)
		window_name_row(window, *row);
	*sample = *row ? row_sample(*row, &of_row, &window->room) : NULL;
	return *sample ? 0 : -errno;
}

/* That needs no stack: where there is no room for more of these, the timeline goes on. */
static void tell_timeline(struct window *window, const struct abi_event *event)
{
	struct window_timeline *timeline = &window->timeline;
	struct device_names *devices = window->deps.devices;
	const char *class = window_class(window, event->tag);

	window_timeline_event(timeline, event, class, window_cause_name(event->cause),
	                      device_names_of(devices, event->dev, event->tgid));
	if (event->moved_ns > 0)
		window_timeline_moved(timeline, event, class, window_cause_name(event->moved_cause),
		                      device_names_of(devices, event->moved_dev, event->tgid));
}

/* Time that earlier windows counted for this wait was taken out of another row: notes that there, with the same
 * stack. */
static int add_moved(struct window *window, const struct abi_event *event, const struct told *told)
{
	struct abi_ledger_key key;
	struct sample *sample;
	struct row *row;
	int err;

	event_key(&key, event);
	key.state = event->moved_state;
	key.cause = event->moved_cause;
	key.dev = event->moved_dev;
	err = sample_of(window, &key, told, &row, &sample);
	if (err)
		return err;
	sample->taken_back += event->moved_ns;
	return 0;
}

static const char *class_of_waker(void *window, uint64_t tag)
{
	return window_class(window, tag);
}

static bool detail_of(struct window *window, const struct abi_event *event, struct abi_detail *detail)
{
	return event->state == ABI_SLEEP ? detail_of_wait(event, class_of_waker, window, detail)
	                                 : detail_of_event(event, window->deps.symbolizer, detail);
}

/* Adds to the row a sample that stands for so much. */
static int add_weight(struct window *window, const struct abi_ledger_key *key, const struct told *told,
                      uint64_t weight, uint64_t times, struct row **row)
{
	struct sample *sample;
	int err = sample_of(window, key, told, row, &sample);

	if (err)
		return err;
	sample->weight += weight;
	sample->times += times;
	(*row)->weight += weight;
	(*row)->times += times;
	return 0;
}

/* What a wait was for through another thread. */
struct split {
	struct inherited_part part[INHERITED_PARTS];
	size_t n;
};

/* Before its stack is looked at: should that fail, others may have waited for this wait all the same. */
static void split_wait(struct window *window, const struct abi_event *event, struct split *split)
{
	struct inherited_waker waker = { .class = NULL };
	struct detail_waker by;
	bool ended;

	split->n = 0;
	if (!window->deps.inherited || !inherited_waits_wants(event))
		return;
	ended = detail_waker(event, &by);
	if (ended)
		waker = (struct inherited_waker){ .tid = by.tid,
			                          .class = by.tag ? window_class(window, by.tag) : NULL,
			                          .creator = by.creator,
			                          .born_ns = by.born_ns };
	split->n = inherited_waits_take(window->deps.inherited, event, window_class(window, event->tag),
	                                device_names_of(window->deps.devices, event->dev, event->tgid),
	                                ended ? &waker : NULL, split->part);
}

/* The wait itself, in its parts and what is left. The first is where it counts. */
static int add_wait(struct window *window, const struct abi_event *event, const struct split *split,
                    struct told *told, struct row **row)
{
	uint64_t left = event->weight_ns;
	uint64_t times = event->duration_ns ? event->weight_ns * 1000 / event->duration_ns : 1000;
	struct abi_ledger_key key;
	int err = 0;

	event_key(&key, event);
	for (size_t i = 0; i < split->n && !err; i++) {
		uint64_t ns = split->part[i].ns < left ? split->part[i].ns : left;

		told->inherited = split->part[i].what;
		err = add_weight(window, &key, told, ns, times, row);
		left -= ns;
		times = 0;
	}
	told->inherited = (struct inherited){ .state = 0 };
	if (!err && (left || !split->n))
		err = add_weight(window, &key, told, left, times, row);
	return err;
}

/* What has come once is not sent again; what was lost is. */
static void tell_known(struct window *window, const struct abi_event *event)
{
	const struct abi_known_stack *known;
	bool lost;

	if (!event->stack_key)
		return;
	known = stack_resolver_known(window->deps.resolver, &lost);
	if (known || lost)
		tracer_know_stack(window->deps.tracer, event->stack_key, known);
}

/* Whether it is a CPU sample of a thread that waits. Those of other stalls are work, beside a request that is under way. */
static bool spins(const struct window *window, const struct abi_event *event, const struct told *told)
{
	return event->state == ABI_CPU_STALL && working_call_may_spin(window_cause_name(event->cause)) &&
	       !working_call(window->profile, told->ids, told->n);
}

int window_add_event(struct window *window, const struct abi_event *event)
{
	struct abi_detail detail;
	struct told told = { .ids = window->ids };
	struct split split;
	struct row *row;
	int err;

	split_wait(window, event, &split);
	if (event->state != ABI_CPU_STALL)
		tell_timeline(window, event);
	if (event->state == ABI_RECOVERY) /* a kernel thread, whose name is known now */
		process_table_get(window->deps.processes, event->tgid, event->process_start_ns, event->comm);
	else
		add_main_binary(window, event);
	err = stack_resolve(window->deps.resolver, window->user_stacks, event, window->profile, window->ids,
	                    &told.n);
	if (err)
		return count_lost(window, event, err);
	tell_known(window, event);
	if (spins(window, event, &told))
		tell_timeline(window, event);
	if (event->has_detail && detail_of(window, event, &detail))
		told.detail = &detail;
	told.slice = window_slice(window, event->time_ns);
	err = add_wait(window, event, &split, &told, &row);
	if (err)
		return count_lost(window, event, err);
	if (event->state == ABI_RECOVERY)
		row->ns += (int64_t)event->weight_ns; /* the ledger has no row of it */
	err = event->moved_ns > 0 ? add_moved(window, event, &told) : 0;
	if (err)
		return count_lost(window, event, err);
	window->n_samples++;
	return 0;
}

void window_add_gpu_job(struct window *window, const struct abi_gpu_job *job)
{
	if (window->gpu_jobs && gpu_jobs_add(window->gpu_jobs, window_class(window, job->tag), job))
		window->gpu_jobs_refused++;
}
