/* Python frames: the interpreter's own chain of them, followed in the thread that is going to sleep.
 *
 *   pythons[tgid]      where this process's interpreter keeps what is followed here (struct abi_python)
 *   thread states      those of this thread have its thread pointer as their thread_id. The search through the lists of
 *                      all is remembered until the lists begin with something else; each use checks the id again.
 *   frames             innermost first, to the record behind the copy of the user stack
 *
 * Nobody else changes the frames of a thread, and it is in the kernel meanwhile, so they are whole; what is read is the
 * process's own memory and may hold anything, so each read is bounded and a chain that cannot be followed is flagged.
 * No copy of the C stack, no Python frames: they stand in its evaluators' places.
 */
#ifndef STALLPROF_PYTHON_BPF_H
#define STALLPROF_PYTHON_BPF_H

#include "bpf/thread.bpf.h"

#define PYTHON_THREADS    1024 /* looked at for one thread's states, interpreters included */
#define PYTHON_MISSES     16   /* a thread that was not there is looked for again after that many sleeps */
#define PYTHON_FRAME_LAST (ABI_PYTHON_FRAMES_MAX - 1)
#define PYTHON_ASKS       8 /* a thread's, whether its process is Python's */

struct python_walk {
	struct task_struct *task;
	struct thread *t;
	struct stack_buffer *buffer;
	const struct abi_python *layout;
};

/* The pointer at `address`; 0 and `faulted` when it cannot be read. */
ALWAYS u64 python_pointer(struct task_struct *task, struct stack_buffer *buffer, u64 address)
{
	u64 value = 0;

	(void)task; /* user_read() may need it */
	if (user_read(&value, sizeof(value), (void *)address)) {
		buffer->python.faulted = 1;
		return 0;
	}
	return value;
}

/* One interpreter or thread state; 1 ends the loop. */
ALWAYS long python_search(u32 i, struct python_walk *w)
{
	struct stack_buffer *buffer = w->buffer;
	u64 interpreter = buffer->python.interpreter, thread = buffer->python.thread;
	u32 found = w->t->python.found;

	(void)i;
	if (!thread) {
		if (!interpreter)
			return 1;
		buffer->python.thread =
		        python_pointer(w->task, buffer, interpreter + w->layout->interpreter_threads);
		buffer->python.interpreter =
		        python_pointer(w->task, buffer, interpreter + w->layout->interpreter_next);
		return 0;
	}
	if (python_pointer(w->task, buffer, thread + w->layout->thread_id) == buffer->python.self &&
	    found < PYTHON_STATES) {
		w->t->python.state[cut_to(found, PYTHON_STATES - 1)] = thread;
		w->t->python.found = found + 1;
	}
	buffer->python.thread = python_pointer(w->task, buffer, thread + w->layout->thread_next);
	return 0;
}

LOOP_OF(python_search, struct python_walk)

/* A bit of python_lists(): there are several interpreters, and a thread state may be made in any of them. */
#define PYTHON_SEVERAL 1

/* What changes whenever a thread state is made in the first interpreter: a new one is the first of its list. */
ALWAYS u64 python_lists(struct task_struct *task, struct stack_buffer *buffer,
                        const struct abi_python *layout, u64 first)
{
	u64 threads = first ? python_pointer(task, buffer, first + layout->interpreter_threads) : 0;
	u64 lists = (first ^ (threads << 1 | threads >> 63)) & ~(u64)PYTHON_SEVERAL;

	if (first && python_pointer(task, buffer, first + layout->interpreter_next))
		lists |= PYTHON_SEVERAL;
	return lists;
}

/* Whether what was found for the thread the last time is still right. */
ALWAYS bool python_known(struct python_walk *w, u64 lists)
{
	struct thread *t = w->t;
	u32 i;

	if (t->python.lists != lists)
		return false;
	if (!t->python.found)
		return ++t->python.missed % PYTHON_MISSES;
	if (lists & PYTHON_SEVERAL)
		return false;
	for (i = 0; i < PYTHON_STATES && i < t->python.found; i++) {
		if (python_pointer(w->task, w->buffer, t->python.state[i] + w->layout->thread_id) !=
		    w->buffer->python.self)
			return false;
	}
	return true;
}

/* Fills thread.python. */
ALWAYS void python_find(struct python_walk *w)
{
	struct stack_buffer *buffer = w->buffer;
	u64 first = python_pointer(w->task, buffer, w->layout->interpreters);
	u64 lists = python_lists(w->task, buffer, w->layout, first);

	if (python_known(w, lists))
		return;
	w->t->python.found = 0;
	w->t->python.lists = lists;
	buffer->python.interpreter = first;
	buffer->python.thread = 0;
	buffer->python.faulted = 0; /* what was known may have been freed */
	python_search_loop(PYTHON_THREADS, w);
	if (buffer->python.faulted)
		w->t->python.lists = 0; /* others' threads came or went meanwhile: look again the next time */
	buffer->python.faulted = 0;
	if (!w->t->python.found && (buffer->python.interpreter || buffer->python.thread))
		COUNT(python_threads_unseen);
}

ALWAYS u64 python_field(const u8 *bytes, u32 offset, u32 room)
{
	u64 value;

	__builtin_memcpy(&value, &bytes[cut_to(offset, room - sizeof(value))], sizeof(value));
	return value;
}

ALWAYS u64 python_fingerprint(struct python_walk *w, u64 code)
{
	struct stack_buffer *buffer = w->buffer;
	struct task_struct *task = w->task;
	const u8 *bytes = buffer->python.code_bytes;

	(void)task;
	if (code == buffer->python.code) /* it calls itself */
		return buffer->python.fingerprint;
	if (user_read(buffer->python.code_bytes, cut_to(w->layout->code_bytes, ABI_PYTHON_CODE_BYTES),
	              (void *)(code + w->layout->code_from))) {
		buffer->python.faulted = 1;
		return 0;
	}
	buffer->python.code = code;
	buffer->python.fingerprint = abi_python_fingerprint(
	        python_field(bytes, w->layout->code_name, ABI_PYTHON_CODE_BYTES),
	        python_field(bytes, w->layout->code_file, ABI_PYTHON_CODE_BYTES),
	        python_field(bytes, w->layout->code_lines, ABI_PYTHON_CODE_BYTES),
	        python_field(bytes, w->layout->code_first_line, ABI_PYTHON_CODE_BYTES));
	return buffer->python.fingerprint;
}

ALWAYS struct abi_python_frame *python_frame_at(struct stack_buffer *buffer, u32 n)
{
	u64 offset = buffer->python.at + (u64)n * sizeof(struct abi_python_frame);

	return (struct abi_python_frame *)&buffer
	        ->ustack[cut_to(offset, ABI_USTACK_MAX + PYTHON_BYTES - sizeof(struct abi_python_frame))];
}

ALWAYS void python_add(struct stack_buffer *buffer, u64 code, u64 instr, u64 fingerprint, bool entry)
{
	struct abi_python_frame *frame = python_frame_at(buffer, buffer->python.n);

	frame->code = code;
	frame->instr = instr;
	frame->fingerprint = fingerprint;
	frame->flags = entry ? ABI_PYTHON_ENTRY : 0;
	frame->unused = 0;
	buffer->python.n++;
	buffer->python.open = !entry;
	buffer->python.codes = hash_mix(buffer->python.codes, code ^ fingerprint);
	buffer->python.calls = hash_mix(buffer->python.calls ^ buffer->python.codes, instr << 1 | entry);
}

/* The frame that an evaluator put before those it was called for. */
ALWAYS void python_shim(struct stack_buffer *buffer)
{
	if (buffer->python.open)
		python_frame_at(buffer, buffer->python.n - 1)->flags |= ABI_PYTHON_ENTRY;
	else
		python_add(buffer, 0, 0, 0, true);
	buffer->python.calls += ABI_PYTHON_ENTRY;
	buffer->python.open = 0;
}

ALWAYS void python_frame(struct python_walk *w, bool entry)
{
	const u8 *bytes = w->buffer->python.frame_bytes;
	u64 instr = python_field(bytes, w->layout->frame_instr, ABI_PYTHON_FRAME_BYTES);
	u64 code = python_field(bytes, w->layout->frame_code, ABI_PYTHON_FRAME_BYTES) & w->layout->code_mask;

	python_add(w->buffer, code, w->layout->instr_bytes == 8 ? instr : (u64)(s64)(int)instr,
	           python_fingerprint(w, code), entry);
}

/* Goes on with the frames of the thread's next state; 1: there is none. */
ALWAYS long python_next_state(struct python_walk *w)
{
	struct stack_buffer *buffer = w->buffer;
	u32 n = buffer->python.states;
	u64 state;

	if (n >= PYTHON_STATES || n >= w->t->python.found)
		return 1;
	state = w->t->python.state[cut_to(n, PYTHON_STATES - 1)];
	buffer->python.states = n + 1;
	buffer->python.frame = python_pointer(w->task, buffer, state + w->layout->thread_frame);
	if (w->layout->frame_indirect && buffer->python.frame)
		buffer->python.frame =
		        python_pointer(w->task, buffer, buffer->python.frame + w->layout->cframe_frame);
	buffer->python.code = 0;
	buffer->python.open = 0;
	return 0;
}

/* One frame, or the step from one of the thread's states to the next; 1 ends the loop. */
ALWAYS long python_step(u32 i, struct python_walk *w)
{
	struct stack_buffer *buffer = w->buffer;
	struct task_struct *task = w->task;
	const u8 *bytes = buffer->python.frame_bytes;
	u64 at = buffer->python.frame;
	u32 kind = w->layout->entry_kind;
	u8 entry;

	(void)i;
	(void)task;
	if (!at)
		return python_next_state(w);
	if (user_read(buffer->python.frame_bytes, cut_to(w->layout->frame_bytes, ABI_PYTHON_FRAME_BYTES),
	              (void *)(at + w->layout->frame_from))) {
		buffer->python.faulted = 1;
		buffer->python.frame = 0;
		return 0;
	}
	buffer->python.frame = python_field(bytes, w->layout->frame_previous, ABI_PYTHON_FRAME_BYTES);
	if (buffer->python.n > PYTHON_FRAME_LAST) {
		buffer->python.cut = 1;
		return 1;
	}
	entry = bytes[cut_to(w->layout->frame_entry, ABI_PYTHON_FRAME_BYTES - 1)];
	if (kind == ABI_PYTHON_ENTRY_SHIM && entry >= w->layout->shim)
		python_shim(buffer);
	else
		python_frame(w, kind == ABI_PYTHON_ENTRY_EACH || (kind == ABI_PYTHON_ENTRY_BYTE && entry));
	return 0;
}

LOOP_OF(python_step, struct python_walk)

/* A frame of the interpreter's may take a step, and what stands in front of it another. */
#define PYTHON_STEPS (2 * ABI_PYTHON_FRAMES_MAX + PYTHON_STATES)

/* The frames of all of the thread's states. */
ALWAYS void python_frames(struct python_walk *w)
{
	struct stack_buffer *buffer = w->buffer;

	buffer->python.states = 0;
	buffer->python.frame = 0;
	python_step_loop(PYTHON_STEPS, w);
	if (buffer->python.frame && !buffer->python.faulted)
		buffer->python.cut = 1;
}

ALWAYS u32 python_flags(const struct stack_buffer *buffer)
{
	return (buffer->python.cut ? ABI_PYTHON_CUT : 0) | (buffer->python.faulted ? ABI_PYTHON_FAULTED : 0);
}

/* User space does not want to look more often than that. */
ALWAYS bool python_take_ask(void)
{
	return python_asks > 0 && __sync_fetch_and_add(&python_asks, -1) > 0;
}

/* Has user space look, now; python_take_ask() said that it may. */
ALWAYS bool python_ask(struct task_struct *task, struct abi_python_ask *ask, u32 n)
{
	u64 size = sizeof(*ask) - sizeof(ask->frames);

	ask->tgid = task->tgid;
	ask->parent = BPF_CORE_READ(task, real_parent, tgid);
	ask->n = n;
	ask->unused = 0;
	size += cut_to(n, ABI_PYTHON_ASK_MAX) * sizeof(struct abi_python_frame);
	return !bpf_ringbuf_output(&python_asked, ask, size, BPF_RB_FORCE_WAKEUP);
}

/* Whether user space was not told of it before. From now on it was. */
ALWAYS bool python_is_new(u64 key)
{
	u8 told = 1;

	if (bpf_map_lookup_elem(&python_told, &key))
		return false;
	bpf_map_update_elem(&python_told, &key, &told, BPF_ANY);
	return true;
}

ALWAYS u64 python_code_key(const struct python_walk *w, const struct abi_python_frame *frame)
{
	return hash_mix(frame->code ^ frame->fingerprint, w->t->tgid);
}

/* One frame's code object; 1 ends the loop. */
ALWAYS long python_collect_new(u32 i, struct python_walk *w)
{
	struct stack_buffer *buffer = w->buffer;
	struct abi_python_frame *frame = python_frame_at(buffer, i);
	u64 n = buffer->python.ask.n;

	if (i >= buffer->python.n || n >= ABI_PYTHON_ASK_MAX)
		return 1;
	if (!frame->code || !python_is_new(python_code_key(w, frame)))
		return 0;
	buffer->python.ask.frames[cut_to(n, ABI_PYTHON_ASK_MAX - 1)] = *frame;
	buffer->python.ask.n = n + 1;
	return 0;
}

LOOP_OF(python_collect_new, struct python_walk)

/* They could not be told. */
ALWAYS long python_uncollect(u32 i, struct python_walk *w)
{
	const struct abi_python_ask *ask = &w->buffer->python.ask;
	u64 key;

	if (i >= ask->n)
		return 1;
	key = python_code_key(w, &ask->frames[cut_to(i, ABI_PYTHON_ASK_MAX - 1)]);
	bpf_map_delete_elem(&python_told, &key);
	return 0;
}

LOOP_OF(python_uncollect, struct python_walk)

/* Most stacks are known as a whole. */
ALWAYS void python_tell(struct python_walk *w)
{
	struct stack_buffer *buffer = w->buffer;
	u64 key = hash_mix(buffer->python.codes, w->t->tgid);

	if (!buffer->python.n || bpf_map_lookup_elem(&python_told, &key) || !python_take_ask())
		return;
	buffer->python.ask.n = 0;
	python_collect_new_loop(ABI_PYTHON_FRAMES_MAX, w);
	if (!buffer->python.ask.n) {
		__sync_fetch_and_add(&python_asks, 1);
		python_is_new(key);
	} else if (!python_ask(w->task, &buffer->python.ask, buffer->python.ask.n)) {
		python_uncollect_loop(ABI_PYTHON_ASK_MAX, w);
	}
}

/* Pids are used again: what is known of one may be of another process. */
ALWAYS struct abi_python *python_layout(const struct thread *t)
{
	u32 tgid = t->tgid;
	struct abi_python *layout = bpf_map_lookup_elem(&pythons, &tgid);

	return layout && layout->start_ticks == t->process_start_ns / ABI_TICK_NS ? layout : NULL;
}

/* Appends the frames of `task` to the buffer's copy of its stack, `len` bytes long. Returns their number. */
ALWAYS u32 capture_python(struct task_struct *task, struct thread *t, struct stack_buffer *buffer, u32 len,
                          u32 *flags)
{
	struct python_walk w = { .task = task, .t = t, .buffer = buffer };

	if (!any_python || !len)
		return 0;
	w.layout = python_layout(t);
	if (!w.layout && t->python.asked < PYTHON_ASKS && python_take_ask())
		t->python.asked += python_ask(task, &buffer->python.ask, 0);
	if (!w.layout || !w.layout->interpreters)
		return 0;
	buffer->python.self = BPF_CORE_READ(task, thread.fsbase);
	buffer->python.at = abi_python_offset(len);
	buffer->python.n = 0;
	buffer->python.faulted = 0;
	buffer->python.cut = 0;
	buffer->python.codes = 0;
	buffer->python.calls = 0;
	python_find(&w);
	python_frames(&w);
	*flags |= python_flags(buffer);
	python_tell(&w);
	return buffer->python.n;
}

/* A child process has its parent's memory. */
ALWAYS void python_forked(const struct thread *parent, struct task_struct *child)
{
	struct abi_python *layout, copy;
	u32 tgid = child->tgid;

	if (!any_python)
		return;
	layout = python_layout(parent);
	if (!layout)
		return;
	copy = *layout;
	copy.start_ticks = BPF_CORE_READ(child, start_boottime) / ABI_TICK_NS;
	bpf_map_update_elem(&pythons, &tgid, &copy, BPF_ANY);
}

/* The interpreter is gone with the process's memory. */
ALWAYS void python_executed(struct thread *t)
{
	u32 tgid = t->tgid;

	if (any_python)
		bpf_map_delete_elem(&pythons, &tgid);
	t->python.lists = 0;
	t->python.found = 0;
	t->python.asked = 0;
}

#endif
