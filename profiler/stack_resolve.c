#include "profiler/stack_resolve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/process_table.h"
#include "profiler/remote_stack.h"
#include "profiler/stamp.h"
#include "symbolizer/symbolizer.h"

#define INLINED_MAX  64
#define COUNTERS_MAX 16

struct stack_resolver {
	struct symbolizer *symbolizer;
	struct process_table *processes;
	uint64_t read_late;               /* stacks read from the waiting thread, for want of a copy */
	uint64_t read_failed;             /* … which had woken before they were read */
	uint64_t incomplete;              /* stacks that do not reach the thread's start */
	uint64_t described[COUNTERS_MAX]; /* what stack_resolver_describe has told already */
	uint64_t pcs[STACK_FRAMES_MAX];
	bool is_caller[STACK_FRAMES_MAX];
	uint8_t late_copy[ABI_USTACK_MAX];
};

struct stack_resolver *stack_resolver_new(struct symbolizer *symbolizer, struct process_table *processes)
{
	struct stack_resolver *resolver = calloc(1, sizeof(*resolver));

	if (resolver) {
		resolver->symbolizer = symbolizer;
		resolver->processes = processes;
	}
	return resolver;
}

void stack_resolver_free(struct stack_resolver *resolver)
{
	free(resolver);
}

static int64_t mapping_of(struct profile *profile, const struct sym_module *module)
{
	if (!module)
		return 0;
	return profile_mapping(profile, module->start, module->end, module->offset, module->path,
	                       module->build_id, module->has_functions, module->has_lines);
}

static int64_t location_of(struct profile *profile, const struct sym_result *result)
{
	struct profile_frame frames[INLINED_MAX];
	size_t i, n = result->n_frames < INLINED_MAX ? result->n_frames : INLINED_MAX;
	int64_t mapping = mapping_of(profile, result->module);

	if (mapping < 0)
		return mapping;
	for (i = 0; i < n; i++) {
		frames[i] = (struct profile_frame){
			.function = result->frames[i].function,
			.file = result->frames[i].file,
			.line = result->frames[i].line,
		};
	}
	return profile_location(profile, mapping, result->address, frames, n);
}

int64_t stack_placeholder(struct profile *profile, const char *name)
{
	struct profile_frame frame = { .function = name };

	return profile_location(profile, 0, 0, &frame, 1);
}

static int push(int64_t *ids, size_t *n, int64_t id)
{
	if (id < 0)
		return id;
	if (*n < STACK_FRAMES_MAX)
		ids[(*n)++] = id;
	return 0;
}

static int resolve_kernel(struct stack_resolver *resolver, const struct abi_event *event,
                          struct profile *profile, int64_t *ids, size_t *n)
{
	struct sym_result result;
	uint32_t i;
	int err = 0;

	for (i = 0; i < event->kstack_len && i < ABI_KSTACK_MAX && !err; i++) {
		/* Of a sleeping thread's frames all are return addresses; of a sampled one's the first is
		 * not. */
		bool is_caller = i > 0 || event->kind != ABI_EVENT_CPU;

		if (!symbolizer_kernel(resolver->symbolizer, event->kstack[i], is_caller, &result))
			err = push(ids, n, location_of(profile, &result));
	}
	return err;
}

static void regs_of(struct sym_regs *to, const struct abi_regs *from)
{
	*to = (struct sym_regs){
		.ip = from->ip,
		.sp = from->sp,
		.bp = from->bp,
		.bx = from->bx,
		.r12 = from->r12,
		.r13 = from->r13,
		.r14 = from->r14,
		.r15 = from->r15,
		.ax = from->ax,
		.cx = from->cx,
		.dx = from->dx,
		.si = from->si,
		.di = from->di,
		.r8 = from->r8,
		.r9 = from->r9,
		.r10 = from->r10,
		.r11 = from->r11,
	};
}

/* The bytes of user stack: those that came with the event, else what the thread, if it still waits in the
 * same sleep, has there now. */
static size_t stack_bytes(struct stack_resolver *resolver, const struct abi_event *event, const void **copy)
{
	ssize_t n;

	*copy = event + 1;
	if (!(event->flags & ABI_NO_USER_COPY))
		return event->ustack_len;
	if (event->kind != ABI_EVENT_INFLIGHT)
		return 0;
	n = remote_stack_read(event->tgid, event->tid, event->switches, event->regs.sp, resolver->late_copy,
	                      sizeof(resolver->late_copy));
	if (n <= 0) {
		resolver->read_failed++;
		return 0;
	}
	resolver->read_late++;
	*copy = resolver->late_copy;
	return n;
}

static const char *end_name(const struct abi_event *event, enum sym_unwind_end end, size_t copied)
{
	if (!copied && event->flags & ABI_NO_USER_COPY)
		return "[user stack not copied]";
	if (event->flags & ABI_KERNEL_THREAD)
		return NULL;
	return end == SYM_UNWIND_COMPLETE ? NULL : "[unwind truncated]";
}

static int resolve_user(struct stack_resolver *resolver, const struct abi_event *event,
                        struct profile *profile, int64_t *ids, size_t *n)
{
	struct process *process =
	        process_table_get(resolver->processes, event->tgid, event->process_start_ns, event->comm);
	struct sym_process *sym = process ? process_table_symbols(resolver->processes, process) : NULL;
	struct sym_stack stack = { .copy_start = event->regs.sp, .is_caller = resolver->is_caller };
	enum sym_unwind_end end = SYM_UNWIND_COMPLETE;
	struct sym_result result;
	const char *name;
	size_t n_pcs = 0, i;
	int err = 0;

	if (!sym)
		return -ENOMEM;
	regs_of(&stack.regs, &event->regs);
	stack.copy_len = stack_bytes(resolver, event, &stack.copy);
	if (symbolizer_unwind(sym, &stack, resolver->pcs, STACK_FRAMES_MAX - *n - 1, &n_pcs, &end))
		end = SYM_UNWIND_BAD;
	if (end == SYM_UNWIND_NO_CFI || end == SYM_UNWIND_BAD) {
		/* Something may have been mapped since: look once more. */
		process_table_refresh(resolver->processes, process);
		if (symbolizer_unwind(sym, &stack, resolver->pcs, STACK_FRAMES_MAX - *n - 1, &n_pcs, &end))
			end = SYM_UNWIND_BAD;
	}
	for (i = 0; i < n_pcs && !err; i++) {
		if (!symbolizer_user(sym, resolver->pcs[i], resolver->is_caller[i], &result))
			err = push(ids, n, location_of(profile, &result));
	}
	name = end_name(event, end, stack.copy_len);
	resolver->incomplete += name != NULL;
	if (name && !err)
		err = push(ids, n, stack_placeholder(profile, name));
	return err;
}

int stack_resolve(struct stack_resolver *resolver, const struct abi_event *event, struct profile *profile,
                  int64_t *ids, size_t *n)
{
	int err;

	*n = 0;
	err = resolve_kernel(resolver, event, profile, ids, n);
	if (!err && !(event->flags & ABI_KERNEL_THREAD))
		err = resolve_user(resolver, event, profile, ids, n);
	if (!err && !*n)
		err = push(ids, n, stack_placeholder(profile, "[no stack]"));
	return err;
}

int stack_resolver_describe(struct stack_resolver *resolver, struct stamp *stamp)
{
	struct symbolizer_stats stats;
	struct stamp_counter counters[COUNTERS_MAX];
	size_t i, n = 0;
	int err = 0;

	symbolizer_stats(resolver->symbolizer, &stats);
	counters[n++] = (struct stamp_counter){ "frames_dwarf", stats.results_dwarf };
	counters[n++] = (struct stamp_counter){ "frames_symtab", stats.results_symtab };
	counters[n++] = (struct stamp_counter){ "frames_kallsyms", stats.results_kallsyms };
	counters[n++] = (struct stamp_counter){ "frames_perf_map", stats.results_perf_map };
	counters[n++] = (struct stamp_counter){ "frames_without_symbol", stats.results_none };
	counters[n++] = (struct stamp_counter){ "stacks_incomplete", resolver->incomplete };
	counters[n++] = (struct stamp_counter){ "stacks_read_late", resolver->read_late };
	counters[n++] = (struct stamp_counter){ "stacks_read_too_late", resolver->read_failed };
	counters[n++] = (struct stamp_counter){ "files_missing", stats.files_missing };
	counters[n++] = (struct stamp_counter){ "files_corrupt", stats.files_corrupt };
	counters[n++] = (struct stamp_counter){ "files_too_large", stats.files_too_large };
	counters[n++] = (struct stamp_counter){ "dwarf_errors", stats.dwarf_errors };
	counters[n++] = (struct stamp_counter){ "symbol_tables_evicted", stats.cache_evictions };
	counters[n++] = (struct stamp_counter){ "mappings_dropped", stats.mappings_dropped };
	counters[n++] = (struct stamp_counter){ "symbol_names_refused", stats.names_refused };
	for (i = 0; i < n && !err; i++) {
		err = stamp_add_counter(stamp, counters[i].name, counters[i].value - resolver->described[i]);
		resolver->described[i] = counters[i].value;
	}
	return err;
}
