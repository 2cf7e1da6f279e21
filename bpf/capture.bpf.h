/* Stacks: the user's copied when the thread goes to sleep, the kernel's taken when the wait is kept. */
#ifndef STALLPROF_CAPTURE_BPF_H
#define STALLPROF_CAPTURE_BPF_H

#include "bpf/library.bpf.h"
#include "bpf/python.bpf.h"

#define PAGE_BYTES 4096

ALWAYS void regs_from(struct abi_regs *to, const struct pt_regs *from)
{
	to->ax = from->ax;
	to->dx = from->dx;
	to->cx = from->cx;
	to->bx = from->bx;
	to->si = from->si;
	to->di = from->di;
	to->bp = from->bp;
	to->sp = from->sp;
	to->r8 = from->r8;
	to->r9 = from->r9;
	to->r10 = from->r10;
	to->r11 = from->r11;
	to->r12 = from->r12;
	to->r13 = from->r13;
	to->r14 = from->r14;
	to->r15 = from->r15;
	to->ip = from->ip;
}

/* Where the stack ends, if that is within what is copied: a pthread's at its thread pointer, the main thread's where it started. 0: not known. */
ALWAYS u64 stack_top(struct task_struct *task, u64 sp)
{
	struct mm_struct *mm = task->mm;
	u64 fsbase = task->thread.fsbase, start = mm ? mm->start_stack : 0;

	if (start > sp && start - sp < ustack_limit)
		return start + 64;
	return fsbase > sp && fsbase - sp < ustack_limit ? fsbase : 0;
}

struct stack_copy {
	struct task_struct *task;
	struct stack_buffer *buffer;
};

/* One page, or what is wanted of it; 1 ends the loop. (Loops are calls: walked once by the verifier, not once a
 * round and a path, which took 700,000 of its one million steps.) */
ALWAYS long copy_page(u32 i, struct stack_copy *c)
{
	struct task_struct *task = c->task;
	struct stack_buffer *buffer = c->buffer;
	u32 copied = buffer->copy.copied;
	u64 from = buffer->copy.sp + copied, want = PAGE_BYTES - (from & (PAGE_BYTES - 1));
	u64 top = buffer->copy.top;

	(void)task; /* user_read() may need it */
	if (from >= top || copied >= ustack_limit || copied > ABI_USTACK_MAX - PAGE_BYTES)
		return 1;
	if (want > top - from)
		want = top - from;
	want = cut_to(want, PAGE_BYTES);
	copied = cut_to(copied, ABI_USTACK_MAX - PAGE_BYTES);
	if (user_read(&buffer->ustack[copied], want, (void *)from)) {
		buffer->copy.faulted = 1;
		return 1;
	}
	buffer->copy.copied = copied + want;
	return 0;
}

LOOP_OF(copy_page, struct stack_copy)

/* Copies page by page, so that a fault costs what is above it and no more. Returns the bytes copied. */
ALWAYS u32 copy_user_stack(struct task_struct *task, struct stack_buffer *buffer, u64 sp, u32 *flags)
{
	struct stack_copy c = { .task = task, .buffer = buffer };
	u64 top = stack_top(task, sp);
	u32 copied;

	buffer->event.stack_top = top;
	buffer->copy.sp = sp;
	buffer->copy.top = top ? top : sp + ustack_limit;
	buffer->copy.copied = 0;
	buffer->copy.faulted = 0;
	copy_page_loop(ABI_USTACK_MAX / PAGE_BYTES + 1, &c);
	copied = buffer->copy.copied;
	if (buffer->copy.faulted)
		*flags |= ABI_USER_FAULTED;
	if (copied >= ustack_limit || copied > ABI_USTACK_MAX - PAGE_BYTES)
		*flags |= ABI_USER_TRUNCATED;
	return copied;
}

/* What tells the buffer's stack with Python frames from others, as far as these go (known.bpf.h); 0: not all of them are known. */
VERIFIED_ONCE u64 stack_key(struct stack_buffer *buffer, u32 tgid, u32 n_python, u32 flags)
{
	u64 hash;

	if (!buffer || !n_python || flags & ABI_PYTHON_FAULTED)
		return 0;
	hash = hash_mix(hash_mix(buffer->python.calls ^ tgid, buffer->event.regs.ip), buffer->event.regs.sp);
	return hash ? hash : 1;
}

/* Copies registers, user stack and Python frames of `task`, which is in the kernel, into the buffer. */
ALWAYS void capture_user(struct task_struct *task, struct thread *t, struct stack_buffer *buffer,
                         struct captured *out)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	*out = (struct captured){};
	if ((task->flags & PF_SERVES_OTHERS) || !regs) {
		out->flags = ABI_KERNEL_THREAD;
		return;
	}
	regs_from(&buffer->event.regs, regs);
	out->len = copy_user_stack(task, buffer, buffer->event.regs.sp, &out->flags);
	out->n_python = capture_python(task, t, buffer, out->len, &out->flags);
	out->key = stack_key(buffer, t->tgid, out->n_python, out->flags);
}

ALWAYS struct stack_buffer *buffer_at(u32 index)
{
	return bpf_map_lookup_elem(&stack_buffers, &index);
}

/* A buffer that is this CPU's own while the program runs. */
ALWAYS struct stack_buffer *buffer_scratch(void)
{
	return buffer_at(n_buffers + bpf_get_smp_processor_id());
}

/* The buffer is the thread's own from here on. False: the thread has another one by now. */
ALWAYS bool buffer_keep(struct thread *t, struct stack_buffer *buffer, u32 index,
                        const struct captured *captured)
{
	buffer->kept.len = captured->len;
	buffer->kept.n_python = captured->n_python;
	buffer->kept.flags = captured->flags;
	buffer->kept.key = captured->key;
	barrier(); /* with the buffer, all that it holds is seen */
	return __sync_val_compare_and_swap(&t->stack_buffer, ABI_NO_BUFFER, index) == ABI_NO_BUFFER;
}

ALWAYS void buffer_push(u32 index)
{
	if (bpf_map_push_elem(&free_buffers, &index, BPF_ANY))
		COUNT(slots_lost);
}

/* Whether there is a buffer for a sleep of that kind. Waits that are no stalls, which may last for ever, have half of them at most, so that
 * idle threads leave room for the others; together with those in a scope, as a call of a library may last for ever, too, three quarters. */
ALWAYS bool may_park(bool in_scope)
{
	return n_parked < (in_scope ? n_buffers - n_buffers / 4 : n_buffers / 2);
}

/* Takes a buffer for a sleep of the thread. What might be a stall and gets none is counted once it is over (wait_sample). */
ALWAYS bool buffer_take(struct thread *t, u32 *index)
{
	bool in_scope = t->expect == EXPECT_SCOPE, parked = !t->expect || in_scope;

	if ((parked && !may_park(in_scope)) || bpf_map_pop_elem(&free_buffers, index)) {
		t->refused_seq = t->wait_seq + 1;
		return false;
	}
	if (parked && !__sync_lock_test_and_set(&t->buffer_parked, 1))
		__sync_fetch_and_add(&n_parked, 1);
	return true;
}

/* Its buffer is the thread's no more. */
ALWAYS void buffer_unpark(struct thread *t)
{
	if (t->buffer_parked && __sync_lock_test_and_set(&t->buffer_parked, 0))
		__sync_fetch_and_add(&n_parked, -1);
}

/* Whoever takes the index out of the thread gives the buffer back: its switches, its end, or a walk. */
ALWAYS void buffer_give_back(struct thread *t, u32 *from)
{
	u32 index = ABI_NO_BUFFER;

	if (*(volatile u32 *)from != ABI_NO_BUFFER)
		index = __sync_lock_test_and_set(from, ABI_NO_BUFFER);
	if (index == ABI_NO_BUFFER)
		return;
	buffer_unpark(t);
	buffer_push(index);
}

ALWAYS void buffer_release(struct thread *t)
{
	buffer_give_back(t, &t->stack_buffer);
}

/* The buffer that was reserved for remote.bpf.c, if that did not take it. */
ALWAYS void return_buffer(struct thread *t)
{
	buffer_give_back(t, &t->reserved_buffer);
}

ALWAYS void event_head(struct abi_event *event, struct task_struct *task, const struct thread *t, u32 kind,
                       u64 tag)
{
	event->kind = kind;
	event->tag = tag;
	event->process_start_ns = t->process_start_ns;
	event->tgid = t->tgid;
	event->tid = t->tid;
	event->moved_ns = 0;
	event->has_detail = 0;
	event->stack_key = event->stack_id = 0;
	event->switches = task->nvcsw;
	BPF_CORE_READ_INTO(&event->comm, task, comm);
}

/* The bytes that follow an event's head. */
ALWAYS u64 captured_bytes(u32 len, u32 n_python)
{
	u64 frames = cut_to(n_python, ABI_PYTHON_FRAMES_MAX) * sizeof(struct abi_python_frame);

	return frames ? abi_python_offset(len) + frames : len;
}

/* Puts the buffer's detail behind all else; returns how many bytes follow the event's head then. Copied by a helper: to a place that the
 * verifier does not know, the compiler would copy byte by byte. */
ALWAYS u64 detail_put(struct stack_buffer *buffer, u32 len, u32 n_python)
{
	u64 at = abi_detail_offset(len, cut_to(n_python, ABI_PYTHON_FRAMES_MAX));

	at = cut_to(at, ABI_USTACK_MAX + PYTHON_BYTES);
	bpf_probe_read_kernel(&buffer->ustack[at], sizeof(buffer->detail), &buffer->detail);
	return at + sizeof(buffer->detail);
}

/* Sends the buffer's event with what it holds of the user stack. Returns its bytes, 0: it was lost. */
VERIFIED_ONCE int event_send(struct stack_buffer *buffer, u32 ustack_len, u32 n_python)
{
	struct abi_event *event;
	u64 size;

	if (!buffer)
		return 0;
	event = &buffer->event;
	ustack_len = cut_to(ustack_len, ABI_USTACK_MAX);
	event->ustack_len = ustack_len;
	event->n_python = n_python;
	COUNT_BY(python_frames, n_python);
	if (event->flags & ABI_USER_TRUNCATED)
		COUNT(stacks_truncated);
	if (event->flags & ABI_USER_FAULTED)
		COUNT(stacks_faulted);
	if (event->flags & ABI_PYTHON_CUT)
		COUNT(python_stacks_cut);
	if (event->flags & ABI_PYTHON_FAULTED)
		COUNT(python_stacks_faulted);
	size = ABI_EVENT_HEAD + cut_to(captured_bytes(ustack_len, n_python), ABI_USTACK_MAX + PYTHON_BYTES);
	if (RARELY(event->has_detail))
		size = ABI_EVENT_HEAD + detail_put(buffer, ustack_len, n_python);
	if (bpf_ringbuf_output(&events, buffer, size, ring_wake(&events))) {
		COUNT(ring_full);
		if (abi_of_stall(event))
			COUNT_BY(ring_full_ns, event->duration_ns);
		return 0;
	}
	if (event->kind != ABI_EVENT_CPU) /* of those, who sends them knows whose budget they take from */
		__sync_fetch_and_add(event->state == ABI_SLEEP ? &ring_bytes[ABI_WAITS_BLOCKED]
		                                               : &ring_bytes[ABI_WAITS_STALL],
		                     size);
	return size;
}

ALWAYS void kernel_stack_of(struct task_struct *task, struct abi_event *event)
{
	long bytes = bpf_get_task_stack(task, event->kstack, sizeof(event->kstack), 0);

	event->kstack_len = bytes > 0 ? (u64)bytes / 8 : 0;
}

/* By the thread's own numbers: a call would cost more than all the rest of it. The clock keeps them from repeating. */
ALWAYS void lot_draw(struct thread *t, u64 now)
{
	t->lot = t->lot * 1664525 + (u32)now;
}

/* The lot is drawn when a sleep begins: the sleep is kept when it outlasts that share of T. So waits from T on always
 * are, those below with probability ns/T, and the stacks of most that will not be kept need not be copied. */
ALWAYS u64 lot_ns(const struct thread *t, u64 threshold)
{
	return (threshold >> 8) * (t->lot >> 16) >> 8;
}

/* Whether the part `ns` of a wait is kept. */
ALWAYS bool wait_kept(const struct thread *t, u64 ns, u64 whole_ns, u64 threshold)
{
	return whole_ns >= min_duration_ns && ns > lot_ns(t, threshold);
}

/* A thread's stack may be copied that often for no better reason than that the sleep may prove long. */
#define COPY_STALL_NS 1000000
#define COPY_SAME_NS                                                                                         \
	20000000 /* … where it slept when it was last copied: its frames are known (stack_memo.h) */
#define COPY_WAIT_NS 2500000 /* … in a wait that is no stall, on average */
#define COPY_WAITS_SAVED                                                                                     \
	2 /* so many more at once: before a Python thread waits for the GIL it often waits for a moment elsewhere */
/* … where waits that are no stalls have proved long without a copy. */
#define COPY_LONG_NS 4000000

/* Whether the thread stands where its stack was last copied, as far as registers tell. */
ALWAYS bool stands_as_copied(const struct thread *t, const struct pt_regs *regs)
{
	return regs && regs->ip == t->copied_ip && regs->sp == t->copied_sp;
}

ALWAYS bool stands_at(const struct long_wait *place, const struct pt_regs *regs)
{
	return place->ip == regs->ip && place->sp == regs->sp;
}

/* A wait that is no stall was kept, and had no copy: the next that begin there get one. */
ALWAYS void want_copies_here(struct thread *t, const struct pt_regs *regs)
{
	struct long_wait *last = t->long_waits;

	if (!regs || t->expect || stands_at(&last[0], regs) || stands_at(&last[1], regs))
		return;
	last[1] = last[0];
	last[0] = (struct long_wait){ .ip = regs->ip, .sp = regs->sp };
}

ALWAYS bool copy_wanted(struct long_wait *place, const struct pt_regs *regs, u64 now)
{
	if (!stands_at(place, regs) || now - place->copied_ns < COPY_LONG_NS)
		return false;
	place->copied_ns = now;
	return true;
}

/* Whether the thread has a copy to spare. Takes it. */
ALWAYS bool copy_spared(struct thread *t, u64 now)
{
	if (t->copy_due_ns > now)
		return false;
	if (now - t->copy_due_ns > COPY_WAITS_SAVED * COPY_WAIT_NS)
		t->copy_due_ns = now - COPY_WAITS_SAVED * COPY_WAIT_NS;
	t->copy_due_ns += COPY_WAIT_NS;
	return true;
}

ALWAYS bool copy_wanted_here(struct thread *t, const struct pt_regs *regs, u64 now)
{
	return regs &&
	       (copy_wanted(&t->long_waits[0], regs, now) || copy_wanted(&t->long_waits[1], regs, now));
}

/* Whether the stack of a sleep is copied when it begins: if it is likely to be kept, going by how long stalls of this
 * thread last of late, and anyhow if the last copies are some time ago, or if waits proved long there before. What proves long
 * without a copy is copied while it lasts (remote.bpf.c). */
ALWAYS bool worth_a_copy(struct thread *t, const struct pt_regs *regs, u64 now)
{
	u64 ago = now - t->copied_ns, lot = lot_ns(t, threshold_ns[ABI_WAITS_STALL]);

	if (!t->expect)
		return long_waits && (copy_spared(t, now) || copy_wanted_here(t, regs, now));
	if (stands_as_copied(t, regs))
		return lot <= t->usual_ns || ago >= COPY_SAME_NS;
	return lot <= 2 * t->usual_ns || ago >= COPY_STALL_NS;
}

ALWAYS u64 wait_weight(u64 ns, u64 threshold)
{
	return ns > threshold ? ns : threshold;
}

#endif
