/* Resolves an event's kernel, user and Python frames to locations of a profile. */

#include "profiler/session/stack_resolve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/symbols/debug_package.h"
#include "profiler/process/process_table.h"
#include "profiler/session/event_regs.h"
#include "profiler/session/gil_locks.h"
#include "profiler/session/kernel_stacks.h"
#include "profiler/session/known_stack.h"
#include "profiler/session/late_stack.h"
#include "profiler/session/python_gil.h"
#include "profiler/session/python_merge.h"
#include "profiler/process/python_processes.h"
#include "profiler/session/stack_location.h"
#include "profiler/session/user_stacks.h"
#include "profiler/format/frame_names.h"
#include "profiler/format/stamp.h"
#include "symbolizer/python/python.h"
#include "symbolizer/symbolizer.h"

#define COUNTERS_MAX 36

struct stack_resolver {
	struct symbolizer *symbolizer;
	struct process_table *processes;
	struct python_processes *pythons;
	struct kernel_stacks *kernel;
	struct gil_locks gil_locks;
	uint64_t by_registers;        /* stacks taken from the memo, for want of a copy */
	uint64_t as_sent;             /* … as they were sent before */
	uint64_t without_user;        /* stacks without any user part */
	uint64_t stalls_without_user; /* … of stalls */
	uint64_t incomplete;          /* stacks that do not reach the thread's start */
	uint64_t python_unmatched;    /* stacks with evaluators and Python frames that are not as many */
	struct stamp_growth described[COUNTERS_MAX];
	uint64_t pcs[STACK_FRAMES_MAX];
	uint64_t sps[STACK_FRAMES_MAX]; /* stack pointers, by pc */
	size_t n_pcs;                   /* of the last stack that was unwound */
	bool is_whole;                  /* … of which all frames that were copied have been found */
	bool is_caller[STACK_FRAMES_MAX];
	int64_t native[STACK_FRAMES_MAX];              /* locations, by pc */
	uint8_t kinds[STACK_FRAMES_MAX];               /* enum sym_python_native, likewise */
	struct python_gil_frame gil[STACK_FRAMES_MAX]; /* likewise */
	struct python_shown_frame shown[PYTHON_MERGED_MAX(STACK_FRAMES_MAX, ABI_PYTHON_FRAMES_MAX)];
	enum {
		STACK_OTHER,
		STACK_KNOWN,
		STACK_LOST
	} known; /* of the last event: the BPF programs may know its stack, or must not */
	struct abi_known_stack known_stack;
	struct late_stack late;
};

struct stack_resolver *stack_resolver_new(struct symbolizer *symbolizer, struct process_table *processes,
                                          struct python_processes *pythons)
{
	struct stack_resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->kernel = kernel_stacks_new(symbolizer);
	if (!resolver->kernel) {
		stack_resolver_free(resolver);
		return NULL;
	}
	resolver->symbolizer = symbolizer;
	resolver->processes = processes;
	resolver->pythons = pythons;
	return resolver;
}

void stack_resolver_free(struct stack_resolver *resolver)
{
	if (!resolver)
		return;
	kernel_stacks_free(resolver->kernel);
	free(resolver);
}

static int push(int64_t *ids, size_t *n, int64_t id)
{
	if (id < 0)
		return id;
	if (*n < STACK_FRAMES_MAX)
		ids[(*n)++] = id;
	return 0;
}

static const char *end_name(const struct abi_event *event, enum sym_unwind_end end, size_t copied)
{
	if (!copied && event->flags & ABI_NO_USER_COPY)
		return FRAME_NOT_COPIED;
	if (event->flags & ABI_KERNEL_THREAD)
		return NULL;
	return end == SYM_UNWIND_COMPLETE ? NULL : "[unwind truncated]";
}

/* Fills resolver->pcs and ->is_caller. 0 without memory. */
static size_t unwind_in(struct stack_resolver *resolver, struct sym_process *sym, struct sym_stack *stack,
                        size_t room, enum sym_unwind_end *end)
{
	size_t n = 0;

	if (sym && symbolizer_unwind(sym, stack, resolver->pcs, room, &n, end))
		*end = SYM_UNWIND_BAD;
	return n;
}

/* Sets *sym to what the process was when the interval ended. */
static size_t unwind(struct stack_resolver *resolver, struct process *process, const struct abi_event *event,
                     struct sym_stack *stack, size_t room, enum sym_unwind_end *end, struct sym_process **sym)
{
	size_t n;

	*sym = process_table_symbols(resolver->processes, process, event->time_ns);
	n = unwind_in(resolver, *sym, stack, room, end);
	if (*end == SYM_UNWIND_NO_CFI || *end == SYM_UNWIND_BAD) {
		/* A file may have been mapped since, or another program executed: reads the mappings and tries once more. */
		process_table_refresh(resolver->processes, process);
		*sym = process_table_symbols(resolver->processes, process, event->time_ns);
		n = unwind_in(resolver, *sym, stack, room, end);
	}
	return n;
}

/* Of an event that lacks pages: the same, with what can be read of them, after `n` frames were found. */
static size_t unwind_on(struct stack_resolver *resolver, struct process *process,
                        const struct abi_event *event, struct sym_stack *stack, size_t room, size_t n,
                        enum sym_unwind_end *end, struct sym_process **sym)
{
	size_t bytes = late_stack_complete(&resolver->late, event, resolver->sps, n, &stack->copy), more = n;

	if (bytes) {
		stack->copy_len = bytes;
		more = unwind(resolver, process, event, stack, room, end, sym);
	}
	*(more > n ? &resolver->late.completed : &resolver->late.cut) += 1;
	return more;
}

/* Fills resolver->native, ->kinds and ->gil. */
static int locate_native(struct stack_resolver *resolver, struct sym_process *sym, uint32_t pid,
                         struct profile *profile, size_t n_pcs)
{
	struct sym_result result;
	size_t i;

	for (i = 0; i < n_pcs; i++) {
		resolver->kinds[i] = SYM_PYTHON_NOT_EVALUATOR;
		resolver->native[i] = 0;
		resolver->gil[i] = (struct python_gil_frame){ .file = 0 };
		if (symbolizer_user(sym, resolver->pcs[i], resolver->is_caller[i], &result))
			continue;
		resolver->native[i] = stack_location(profile, &result);
		if (resolver->native[i] < 0)
			return (int)resolver->native[i];
		resolver->kinds[i] = python_processes_native_kind(
		        resolver->pythons, pid, resolver->pcs[i] - resolver->is_caller[i],
		        result.frames[result.n_frames - 1].function);
		resolver->gil[i] = (struct python_gil_frame){
			.file = result.module && python_gil_file(result.module->path) ? result.module->start
			                                                              : 0,
			.named = result.source != SYM_SOURCE_NONE,
			.kind = (uint8_t)python_gil_kind(result.frames[result.n_frames - 1].function),
			.evaluator = resolver->kinds[i] == SYM_PYTHON_EVALUATOR ||
			             resolver->kinds[i] == SYM_PYTHON_EVALUATOR_AND_CALLED
		};
	}
	return 0;
}

static int64_t python_mapping(struct profile *profile)
{
	return profile_mapping(profile, 0, 0, 0, "[python]", NULL, true, true);
}

/* The frame that says so: one of Python's where there are others, so that it is shown with them. */
static int64_t gil_location(struct profile *profile, const struct python_stacks *stacks)
{
	const struct profile_frame frame = { .function = FRAME_GIL };
	int64_t mapping;

	if (!stacks->n_frames)
		return stack_placeholder(profile, FRAME_GIL);
	mapping = python_mapping(profile);
	return mapping < 0 ? mapping : profile_location(profile, mapping, 0, &frame, 1);
}

/* 0: the frame is one that Python hides. */
static int64_t python_location(struct stack_resolver *resolver, struct profile *profile, uint32_t pid,
                               const struct abi_python_frame *frame)
{
	int64_t mapping = python_mapping(profile);
	struct profile_frame out;
	struct sym_frame named;

	if (mapping < 0)
		return mapping;
	if (!python_processes_frame(resolver->pythons, pid, frame, &named))
		return 0;
	resolver->is_whole &= named.file != NULL; /* else its code was gone */
	out = (struct profile_frame){ .function = named.function, .file = named.file, .line = named.line };
	return profile_location(profile, mapping, 0, &out, 1);
}

static int64_t shown_location(struct stack_resolver *resolver, struct profile *profile,
                              const struct abi_event *event, const struct python_stacks *stacks,
                              const struct python_shown_frame *shown, const char *native_end)
{
	switch (shown->what) {
	case PYTHON_SHOWN_PYTHON:
		return python_location(resolver, profile, event->tgid, &stacks->frames[shown->index]);
	case PYTHON_SHOWN_NATIVE_CUT:
		return stack_placeholder(profile, native_end);
	case PYTHON_SHOWN_PYTHON_CUT:
		return stack_placeholder(profile, "[python frames cut]");
	default:
		return resolver->native[shown->index];
	}
}

/* The frames that came with the event, if they are of the same moment as its stack. */
static void python_stacks_of(const struct stack_resolver *resolver, const struct abi_event *event,
                             struct python_stacks *stacks)
{
	const char *behind = (const char *)(event + 1);

	if (!resolver->pythons || event->flags & ABI_NO_USER_COPY || event->n_python > ABI_PYTHON_FRAMES_MAX)
		return;
	stacks->frames = (const struct abi_python_frame *)(behind + abi_python_offset(event->ustack_len));
	stacks->n_frames = event->n_python;
	stacks->python_cut = event->flags & (ABI_PYTHON_CUT | ABI_PYTHON_FAULTED);
}

/* How many of the native frames are a wait for the GIL; 0: it is none. Of a stack that was `cut` there may be too few to tell. */
static size_t gil_wait(struct stack_resolver *resolver, const struct abi_event *event, size_t n_pcs, bool cut)
{
	size_t gil = python_gil_find(resolver->gil, n_pcs);

	if (gil)
		gil_locks_note(&resolver->gil_locks, event);
	else if (cut && gil_locks_has(&resolver->gil_locks, event))
		gil = n_pcs ? n_pcs : 1;
	return gil;
}

/* Native and Python frames in their order, then the name of the native ones' end where that is not the thread's
 * start (else NULL). */
static int push_merged(struct stack_resolver *resolver, struct process *process,
                       const struct abi_event *event, struct profile *profile, size_t n_pcs,
                       const char *native_end, int64_t *ids, size_t *n)
{
	struct python_stacks stacks = { .kinds = resolver->kinds,
		                        .n_native = n_pcs,
		                        .native_cut = native_end != NULL };
	size_t n_shown, unmatched, i, gil = gil_wait(resolver, event, n_pcs, native_end != NULL);
	int err = 0;

	python_stacks_of(resolver, event, &stacks);
	n_shown = python_merge(&stacks, resolver->shown, &unmatched);
	resolver->python_unmatched += unmatched != 0;
	if (unmatched && !stacks.n_frames && !process->python_looked) {
		process->python_looked = true; /* nobody has reported it */
		python_processes_look(resolver->pythons, event->tgid);
	}
	for (i = 0; i < n_shown && !err; i++) {
		const struct python_shown_frame *shown = &resolver->shown[i];
		int64_t id = shown_location(resolver, profile, event, &stacks, shown, native_end);

		if (gil && (shown->what != PYTHON_SHOWN_NATIVE || shown->index >= gil)) {
			err = push(ids, n, gil_location(profile, &stacks));
			gil = 0; /* it is there */
		}
		if (id && !err) /* 0: nothing to show */
			err = push(ids, n, id);
	}
	return err;
}

static int resolve_user(struct stack_resolver *resolver, const struct abi_event *event,
                        struct profile *profile, int64_t *ids, size_t *n)
{
	struct process *process =
	        process_table_get(resolver->processes, event->tgid, event->process_start_ns, event->comm);
	struct sym_process *sym;
	struct sym_stack stack = { .copy_start = event->regs.sp,
		                   .is_caller = resolver->is_caller,
		                   .sps = resolver->sps };
	enum sym_unwind_end end = SYM_UNWIND_COMPLETE;
	const char *native_end;
	size_t n_pcs;
	int err;

	if (!process)
		return -ENOMEM;
	event_regs(&stack.regs, &event->regs);
	stack.copy_len = late_stack_get(&resolver->late, event, &stack.copy);
	n_pcs = unwind(resolver, process, event, &stack, STACK_FRAMES_MAX - *n - 1, &end, &sym);
	if (end != SYM_UNWIND_COMPLETE && late_stack_lacks_pages(event))
		n_pcs = unwind_on(resolver, process, event, &stack, STACK_FRAMES_MAX - *n - 1, n_pcs, &end,
		                  &sym);
	if (!sym)
		return -ENOMEM;
	resolver->n_pcs = n_pcs;
	native_end = end_name(event, end, stack.copy_len);
	resolver->incomplete += native_end != NULL;
	resolver->is_whole =
	        !native_end || (event->flags & (ABI_USER_TRUNCATED | ABI_USER_FAULTED)) == ABI_USER_TRUNCATED;
	if (!stack.copy_len && event->flags & ABI_NO_USER_COPY) {
		resolver->without_user++;
		resolver->stalls_without_user += event->state == ABI_STALL;
	}
	err = locate_native(resolver, sym, event->tgid, profile, n_pcs);
	return err ? err : push_merged(resolver, process, event, profile, n_pcs, native_end, ids, n);
}

/* What was sent before has been lost. */
static int resolve_without(struct stack_resolver *resolver, const struct abi_event *event,
                           struct profile *profile, int64_t *ids, size_t *n)
{
	struct abi_event without = *event;

	resolver->known = STACK_LOST;
	without.flags |= ABI_NO_USER_COPY;
	return resolve_user(resolver, &without, profile, ids, n);
}

static int resolve_user_or_known(struct stack_resolver *resolver, struct stack_memo *memo,
                                 const struct abi_event *event, struct profile *profile, int64_t *ids,
                                 size_t *n)
{
	bool as_sent = event->flags & ABI_STACK_AS_SENT;
	uint64_t stack_id = 0;
	size_t n_kernel = *n;
	int err;

	if (user_stacks_take(memo, event, ids, n, STACK_FRAMES_MAX)) {
		resolver->as_sent += as_sent;
		resolver->by_registers += !as_sent;
		return 0;
	}
	if (as_sent)
		return resolve_without(resolver, event, profile, ids, n);
	err = resolve_user(resolver, event, profile, ids, n);
	if (err)
		return err;
	if (resolver->is_whole &&
	    known_stack_of(&resolver->known_stack, event, resolver->pcs, resolver->sps, resolver->n_pcs))
		stack_id = abi_stack_id(event->stack_key, resolver->known_stack.hash);
	resolver->known = stack_id ? STACK_KNOWN : STACK_OTHER;
	user_stacks_put(memo, event, stack_id, ids + n_kernel, *n - n_kernel);
	return 0;
}

const struct abi_known_stack *stack_resolver_known(const struct stack_resolver *resolver, bool *lost)
{
	*lost = resolver->known == STACK_LOST;
	return resolver->known == STACK_KNOWN ? &resolver->known_stack : NULL;
}

int stack_resolve(struct stack_resolver *resolver, struct stack_memo *memo, const struct abi_event *event,
                  struct profile *profile, int64_t *ids, size_t *n)
{
	int err;

	*n = 0;
	resolver->known = STACK_OTHER;
	err = kernel_stacks_resolve(resolver->kernel, event, profile, ids, n);
	if (!err && !(event->flags & ABI_KERNEL_THREAD))
		err = resolve_user_or_known(resolver, memo, event, profile, ids, n);
	if (!err && !*n)
		err = push(ids, n, stack_placeholder(profile, "[no stack]"));
	return err;
}

static int describe_kernel(const struct symbolizer_stats *stats, struct stamp *stamp)
{
	static const enum kernel_symbols states[] = { [SYM_KERNEL_UNUSED] = KERNEL_SYMBOLS_UNSAID,
		                                      [SYM_KERNEL_DWARF] = KERNEL_SYMBOLS_DWARF,
		                                      [SYM_KERNEL_NAMES] = KERNEL_SYMBOLS_KALLSYMS,
		                                      [SYM_KERNEL_HIDDEN] = KERNEL_SYMBOLS_HIDDEN };
	struct stamp_kernel kernel = { .state = states[stats->kernel],
		                       .modules_without_debug = stats->kernel_modules_without_debug };

	if (kernel.state == KERNEL_SYMBOLS_KALLSYMS)
		kernel.advice = VMLINUX_ADVICE;
	else if (kernel.state == KERNEL_SYMBOLS_HIDDEN)
		kernel.advice = KALLSYMS_ADVICE;
	return stamp_set_kernel(stamp, &kernel);
}

void stack_resolver_forget(struct stack_resolver *resolver)
{
	kernel_stacks_clear(resolver->kernel);
}

int stack_resolver_describe(struct stack_resolver *resolver, struct stamp *stamp)
{
	struct symbolizer_stats stats;
	struct stamp_counter counters[COUNTERS_MAX];
	size_t i, n = 0;
	int err = 0;

	symbolizer_stats(resolver->symbolizer, &stats);
	counters[n++] = (struct stamp_counter){ "frames_dwarf", stats.results[SYM_SOURCE_DWARF] };
	counters[n++] = (struct stamp_counter){ "frames_symtab", stats.results[SYM_SOURCE_SYMTAB] };
	counters[n++] = (struct stamp_counter){ "frames_kallsyms", stats.results[SYM_SOURCE_KALLSYMS] };
	counters[n++] = (struct stamp_counter){ "frames_jitdump", stats.results[SYM_SOURCE_JITDUMP] };
	counters[n++] = (struct stamp_counter){ "frames_perf_map", stats.results[SYM_SOURCE_PERF_MAP] };
	counters[n++] = (struct stamp_counter){ "frames_without_symbol", stats.results[SYM_SOURCE_NONE] };
	counters[n++] = (struct stamp_counter){ "stacks_incomplete", resolver->incomplete };
	counters[n++] = (struct stamp_counter){ "stacks_without_user", resolver->without_user };
	counters[n++] = (struct stamp_counter){ "stalls_without_user", resolver->stalls_without_user };
	counters[n++] = (struct stamp_counter){ "stacks_by_registers", resolver->by_registers };
	counters[n++] = (struct stamp_counter){ "stacks_as_sent", resolver->as_sent };
	counters[n++] = (struct stamp_counter){ "stacks_read_late", resolver->late.read };
	counters[n++] = (struct stamp_counter){ "stacks_read_too_late", resolver->late.failed };
	counters[n++] = (struct stamp_counter){ "stacks_completed", resolver->late.completed };
	counters[n++] = (struct stamp_counter){ "stacks_pages_missing", resolver->late.cut };
	counters[n++] = (struct stamp_counter){ "python_unmatched", resolver->python_unmatched };
	counters[n++] = (struct stamp_counter){ "files_missing", stats.files_missing };
	counters[n++] = (struct stamp_counter){ "files_corrupt", stats.files_corrupt };
	counters[n++] = (struct stamp_counter){ "files_too_large", stats.files_too_large };
	counters[n++] = (struct stamp_counter){ "dwarf_errors", stats.dwarf_errors };
	counters[n++] = (struct stamp_counter){ "split_files_missing", stats.split_files_missing };
	counters[n++] = (struct stamp_counter){ "symbol_tables_evicted", stats.cache_evictions };
	counters[n++] = (struct stamp_counter){ "mappings_dropped", stats.mappings_dropped };
	counters[n++] = (struct stamp_counter){ "symbol_names_refused", stats.names_refused };
	counters[n++] = (struct stamp_counter){ "symbol_indexes_loaded", stats.index_files_loaded };
	counters[n++] = (struct stamp_counter){ "symbol_blocks_used", stats.index_blocks_used };
	counters[n++] = (struct stamp_counter){ "symbol_blocks_refused", stats.index_blocks_refused };
	counters[n++] = (struct stamp_counter){ "symbol_blocks_saved", stats.index_blocks_saved };
	counters[n++] = (struct stamp_counter){ "symbol_indexes_evicted", stats.index_files_evicted };
	counters[n++] = (struct stamp_counter){ "symbol_index_errors", stats.index_errors };
	for (i = 0; i < n && !err; i++)
		err = stamp_add_growth(stamp, counters[i].name, &resolver->described[i], counters[i].value);
	return err ? err : describe_kernel(&stats, stamp);
}
