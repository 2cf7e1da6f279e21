/* Walks over threads process by process. */
#include "profiler/tracer/process_walks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>

#include "bpf/stallprof.skel.h"
#include "profiler/tracer/ledger_maps.h"
#include "profiler/tracer/map_walk.h"
#include "profiler/tracer/task_walk.h"
#include "profiler/tracer/tracer_state.h"
#include "symbolizer/base/clock.h"

/* A walk over one process, with its programs attached and detached, costs as much as one over all comes to so many threads. */
#define THREADS_A_PROCESS 64

/* So often at least all are walked over: those that could not be noted come back, and how many threads there are is known. */
#define ALL_NS 10000000000ULL

struct processes {
	uint32_t pid[ABI_MET_PROCESSES];
	size_t n;
};

static void take(void *ctx, uint64_t key)
{
	struct processes *processes = ctx;

	processes->pid[processes->n++] = (uint32_t)key;
}

static int walk_logs(struct tracer *tracer, uint32_t pid)
{
	tracer->bpf->bss->iter_mode = ABI_ITER_LOGS;
	return task_walk_process(tracer->bpf->progs.on_iter_context, pid);
}

/* It is noted again if a thread is met. */
static int walk(struct tracer *tracer, uint32_t pid, uint32_t mode)
{
	uint64_t key = pid;
	int result = 0;

	if (tracer->bpf->bss->logs_walked_ns)
		result = walk_logs(tracer, pid);
	tracer->bpf->bss->iter_mode = mode;
	tracer->bpf->bss->any_to_read = 0;
	bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.met_processes), &key);
	result = result ? result : task_walk_process(tracer->bpf->progs.on_iter_task, pid);
	if (!result && tracer->bpf->bss->any_to_read && tracer->context_iterator)
		result = task_walk_process(tracer->bpf->progs.on_iter_context, pid);
	return result;
}

int process_walks_run(struct tracer *tracer, uint32_t mode)
{
	struct stallprof_bpf__bss *bss = tracer->bpf->bss;
	struct processes processes = { .n = 0 };
	uint64_t now = monotonic_ns();
	int result = 0;

	if ((mode != ABI_ITER_STACKS && mode != ABI_ITER_SUMS) || tracer->no_process_walks || bss->met_more ||
	    now - tracer->all_walked_ns > ALL_NS)
		return -E2BIG;
	map_walk(bpf_map__fd(tracer->bpf->maps.met_processes), ABI_MET_PROCESSES, take, &processes);
	if (processes.n * THREADS_A_PROCESS > tracer->n_threads)
		return -E2BIG;
	bss->logs_walked_ns = mode == ABI_ITER_SUMS && bss->any_logs && tracer->context_iterator ? now : 0;
	for (size_t i = 0; i < processes.n && !result; i++)
		result = walk(tracer, processes.pid[i], mode);
	tracer->no_process_walks = result == -E2BIG;
	return result;
}

int process_walks_renew(struct tracer *tracer)
{
	tracer->bpf->bss->n_walked = 0;
	tracer->bpf->bss->met_more = 0;
	return ledger_maps_empty(tracer->bpf->maps.met_processes);
}

void process_walks_renewed(struct tracer *tracer)
{
	tracer->n_threads = tracer->bpf->bss->n_walked;
	tracer->all_walked_ns = monotonic_ns();
}
