/* The walk over all threads: user space reads this iterator to adopt processes that are already there, and
 * to close every interval at the end of a window. */
#include "bpf/context.bpf.h"
#include "bpf/issued.bpf.h"
#include "bpf/wait.bpf.h"

/* What an own walk for it costs is paid only for sleeps that long. */
#define LONG_SLEEP_NS 20000000

/* Of a turn on a CPU, from which on its time is told before it ends. */
#define LONG_TURN_NS 100000000

/* The thread waits already: remote.bpf.c copies its stack, for which it takes a buffer here. */
ALWAYS void reserve_buffer(struct task_struct *task, struct thread *t)
{
	u32 index;

	if ((t->expect || long_waits) && t->stack_buffer == ABI_NO_BUFFER &&
	    t->reserved_buffer == ABI_NO_BUFFER && buffer_take(t, &index))
		t->reserved_buffer = index;
	barrier();
	if (t->state == ABI_DEAD || task->__state & TASK_DEAD)
		return_buffer(t); /* it has ended meanwhile, and had none to return */
}

/* What the process told itself comes before the name that user space has for it. */
ALWAYS void adopt_known(struct thread *t, struct abi_process *process)
{
	t->watches_context = process->stalltag.kind || process->otel.kind;
	if (process->base_tag && process->base_tag != t->base_tag && !t->exec_tag && !t->own_base) {
		t->base_tag = process->base_tag;
		t->retag = 1;
	}
}

/* The thread is there already: it gets the tag without a turn, as nothing has run up yet. Nobody else sees it so far, so that what it
 * pushes meanwhile is not taken back. */
ALWAYS void adopt_unpublished(struct task_struct *task, struct thread *t, struct abi_process *process,
                              u64 now)
{
	t->adopted = 1;
	t->watches_context = process->stalltag.kind || process->otel.kind;
	t->base_tag = process->base_tag;
	thread_sums(t)->tag = process->base_tag;
	if (process->base_tag)
		__sync_fetch_and_add(&n_tagged, 1);
	if (t->state != ABI_SLEEP)
		return;
	t->slept_begin = now;
	t->sleep_ns = now;
	t->own_request = OWN_REQUEST_UNKNOWN;
	wait_expect(task, t, (struct pt_regs *)bpf_task_pt_regs(task), task->__state, now);
}

ALWAYS void adopt_new(struct task_struct *task, struct abi_process *process, u64 now)
{
	struct thread *t;

	if (task->__state & TASK_DEAD)
		return; /* nobody has waited for it yet */
	t = thread_create(task, now, task_state_now(task));
	if (!t) {
		t = bpf_task_storage_get(&threads, task, 0, 0);
		if (t)
			adopt_known(t, process); /* its own push is at it just now */
		return;
	}
	if (process->from_exec)
		t->exec_tag = process->base_tag;
	else
		adopt_unpublished(task, t, process, now);
	thread_publish(t, now);
	if (t->adopted && cycle_slept(t, now))
		reserve_buffer(task, t);
}

ALWAYS void adopt(struct task_struct *task, struct abi_process *process, u64 now)
{
	struct thread *t = thread_find(task);

	if (t)
		adopt_known(t, process);
	else
		adopt_new(task, process, now);
}

/* What a sleep that has not ended yet seems to be; `rq`: what request it is for, if it is for one. */
ALWAYS struct wait_row inflight_row(struct task_struct *task, struct thread *t, struct request **rq, u64 now)
{
	struct wait_row row = { .state = ABI_STALL };
	struct held_back *held;

	if (!t->expect)
		return (struct wait_row){ .state = ABI_SLEEP, .cause = kind_so_far(task, t, now) };
	if (t->expect == EXPECT_SCOPE && t->row.cause)
		return t->row;
	if (t->expect == EXPECT_SCOPE && (row.cause = scope_cause(t))) {
		row.dev = scope_dev(t, row.cause);
		return row;
	}
	held = t->expect == EXPECT_IOWAIT ? held_back_of(task, t) : NULL;
	if ((row.cause = request_under_way(t, &row.dev, rq))) {
		if (t->hint > row.cause)
			row.cause = t->hint;
	} else if (held) {
		row.cause = ABI_CAUSE_THROTTLE;
		row.dev = held->dev;
	} else if (t->hint) {
		row.cause = t->hint;
		row.dev = t->hint_dev;
	} else if (waits_for_own_request(t) && last_was_reset(t, t->sleep_ns)) {
		row.cause =
		        ABI_CAUSE_NVME_RESET; /* its request is gone, and what it was for is kept for another path */
		row.dev = t->last_dev;
	} else {
		row.state = ABI_SLEEP;
		row.cause = ABI_WAIT_UNDECIDED;
	}
	return row;
}

/* The part of the sleep `seq` that lies in this window: to its row, with its sample. It is counted when it has `ended`. */
ALWAYS void flush_sleep(struct task_struct *task, struct thread *t, u64 word, u32 seq, u64 end,
                        const struct wait_row *row, u32 ended, struct request *rq)
{
	struct wait_part part = { .kind = ABI_EVENT_INFLIGHT,
		                  .row = *row,
		                  .ns = since(end, word_begin(word)),
		                  .end_ns = end,
		                  .request = rq,
		                  .threshold = row->state == ABI_STALL ? threshold_ns[ABI_WAITS_STALL]
		                                                       : threshold_ns[ABI_WAITS_BLOCKED] };
	u64 tag = sums_of_word(t, word)->tag, whole = since(end, t->sleep_ns);

	bool wanted = row->state == ABI_STALL ? wait_kept(t, part.ns, whole, part.threshold)
	                                      : long_waits && part.ns >= part.threshold;

	ledger_charge_wait(t, tag, row, part.ns, ended, whole);
	if (wanted)
		wanted = wait_sample_inflight(task, t, &part);
	told_move(t, row);
	if (t->wait_seq != seq)
		return; /* it has ended, and the thread sleeps again: what it was is not known any more */
	if (t->told_seq != seq)
		t->told_ns = t->told_sent_ns = 0;
	t->told = *row;
	t->told_tag = tag;
	t->told_ns += part.ns;
	t->told_sent_ns += wanted ? part.ns : 0;
	t->told_seq = seq;
}

/* A thread that is not on a CPU: asleep until now, or until it was woken; from then on it waits for one. */
ALWAYS void flush_sleeper(struct task_struct *task, struct thread *t, u64 word, u64 now)
{
	u64 begin = word_begin(word), tag = sums_of_word(t, word)->tag;
	u64 wake = t->wake_ns;
	bool slept = cycle_slept(t, word_begin(word));
	u32 seq = t->wait_seq;
	struct request *rq = NULL;
	struct wait_row row;

	if (woken_unlooked(t) && (wake || task_state_now(task) != ABI_SLEEP))
		wake = now - queued_ns(task, t, begin);
	if (__sync_val_compare_and_swap(&t->word, word, word_of(now, word_index(word))) != word)
		return;
	if (!slept) {
		ledger_charge(t, tag, ABI_RUNQ, now - word_begin(word), 0);
	} else if (wake > word_begin(word) && wake < now) {
		/* Woken, and not run yet: its sleep is settled here for good. */
		row = wait_row_of(t);
		if (row.state == ABI_SLEEP)
			row.cause = kind_so_far(task, t, wake);
		flush_sleep(task, t, word, seq, wake, &row, 1, NULL);
		ledger_charge(t, tag, ABI_RUNQ, now - wake, 0);
	} else {
		/* It goes on in the cycle that begins here, unless it has slept again meanwhile. */
		__sync_val_compare_and_swap(&t->slept_begin, word_begin(word), now);
		row = inflight_row(task, t, &rq, now);
		flush_sleep(task, t, word, seq, now, &row, 0, rq);
	}
}

/* What its log of tag changes has told of it in this round (remote.bpf.c) is left as it is: the time since then is for the next. */
ALWAYS void flush_runner(struct task_struct *task, struct thread *t, u64 word)
{
	u64 now = bpf_ktime_get_ns();

	if (!logs_walked_ns || t->log_settled_ns < logs_walked_ns)
		thread_settle_running(task, t, word, now, now);
}

/* A sleep that has no copy of its stack and proves long gets one; for one that may still prove so, another walk is wanted. */
ALWAYS void look_at_sleeper(struct task_struct *task, struct thread *t, u64 now)
{
	if (t->state != ABI_SLEEP || !thread_followed(t) || !thread_sums(t)->tag || t->wake_ns)
		return;
	if (now - t->sleep_ns > LONG_SLEEP_NS)
		reserve_buffer(task, t);
	else if ((t->expect || long_waits) && t->stack_buffer == ABI_NO_BUFFER)
		any_uncopied = 1;
}

/* From now on the thread is followed. What is known of its sleep is of one before the hooks went. */
ALWAYS void rebase(struct task_struct *task, struct thread *t, u64 now)
{
	u64 word = t->word;
	u32 state;

	barrier();
	state = task_state_now(task);
	thread_rebase(task, t, word, state, now);
	if (state != ABI_SLEEP)
		return;
	t->wait_seq++; /* nobody has ended this sleep yet */
	t->goes_on = 0;
	if (t->has_log) {
		/* It may have changed its tag before it slept, and its log was not read then: the walk over contexts looks. */
		t->adopted = 0;
		t->context_known = 0;
	}
	t->hint = 0;
	t->early_ns = 0;
	buffer_release(t);
	t->own_request = OWN_REQUEST_UNKNOWN;
	wait_expect(task, t, (struct pt_regs *)bpf_task_pt_regs(task), task->__state, now);
}

/* Whether the ledger is told of the thread's present turn on a CPU, too. */
ALWAYS bool turn_is_long(const struct thread *t, u64 now)
{
	return t->state == ABI_ONCPU && thread_followed(t) && since(now, word_begin(t->word)) > LONG_TURN_NS;
}

/* Whether it sleeps, though it counts as on a CPU: its switch-out came as the walk was about to note its state. The hook of a switch-out
 * that is seen has noted it before the task is off its CPU. */
ALWAYS bool fell_asleep_unseen(struct task_struct *task, struct thread *t, u64 word)
{
	if (t->state != ABI_ONCPU || task_state_now(task) != ABI_SLEEP)
		return false;
	barrier();
	return t->state == ABI_ONCPU && t->word == word;
}

/* Closes the thread's time at `now`. If it is switched at this very moment, it does so itself, and the next
 * window has it. */
ALWAYS void flush(struct task_struct *task, struct thread *t, u64 now)
{
	u64 word = t->word;

	if (!sums_of_word(t, word)->tag)
		return;
	held_settle(t, 0, 0);
	splits_forget(t);
	if (now > word_begin(word) && t->state != ABI_DEAD) {
		if (!thread_followed(t) || fell_asleep_unseen(task, t, word))
			rebase(task, t, now);
		else if (t->state == ABI_ONCPU)
			flush_runner(task, t, word);
		else
			flush_sleeper(task, t, word, now);
	}
	sums_flush(t, word_index(word));
}

static long take_orphan(void *map, const u32 *index, u8 *value, void *ctx)
{
	u32 buffer = *index;

	if (!bpf_map_delete_elem(&orphan_buffers, &buffer))
		buffer_push(buffer);
	return 0;
}

struct forgetting {
	u64 now;
	u32 kept;
};

/* Nobody waits any more for a request that a reset long ago has met. */
static long forget_reset(void *map, const u64 *controller, struct reset *reset, struct forgetting *f)
{
	u64 key = *controller;

	if (reset->end_ns != RESET_GOES_ON && since(f->now, reset->end_ns) > RESET_KEPT_NS)
		bpf_map_delete_elem(&resets, &key);
	else
		f->kept = 1;
	return 0;
}

/* Without one that is kept, or whose begin was not seen, completions look for none. reset_note() may have written one meanwhile that the
 * walk over the map did not meet. */
ALWAYS void forget_resets(u64 now)
{
	struct forgetting f = { .now = now, .kept = resets_unseen };
	u32 noted = resets_noted;

	bpf_for_each_map_elem(&resets, forget_reset, &f, 0);
	if (f.kept)
		return;
	any_resets = 0;
	if (resets_noted != noted)
		any_resets = 1;
}

ALWAYS void walk_ends(u64 now)
{
	bpf_for_each_map_elem(&orphan_buffers, take_orphan, NULL, 0);
	if (any_resets)
		forget_resets(now);
}

/* Whether it ended while no hook was there to see it, and nobody has waited for it yet. One that is off its CPU has left it by a switch, whose
 * hook would have noted that. */
ALWAYS bool ended_unseen(struct task_struct *task, const struct thread *t)
{
	return RARELY(task->__state & TASK_DEAD) && t->state != ABI_DEAD && task_state_now(task) != ABI_ONCPU;
}

SEC("iter/task")
int on_iter_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u64 now = bpf_ktime_get_ns();
	struct abi_process *process;
	struct thread *t;

	if (!task) {
		walk_ends(now);
		return 0;
	}
	n_walked++;
	if (serves_others(task))
		return 0;
	if (iter_mode & ABI_ITER_ADOPT) {
		process = process_followed(task->tgid, BPF_CORE_READ(task, group_leader, start_boottime));
		if (process)
			adopt(task, process, now);
	}
	t = thread_find(task);
	if (!t)
		return 0;
	if (ended_unseen(task, t)) {
		thread_end(t);
		buffer_release(t);
		return_buffer(t);
		return 0;
	}
	process_met(t->tgid);
	if (iter_mode & ABI_ITER_REBASE)
		rebase(task, t, now);
	if (iter_mode & ABI_ITER_BUFFERS)
		buffer_release(t);
	if (iter_mode & ABI_ITER_STACKS)
		look_at_sleeper(task, t, now);
	if (iter_mode & ABI_ITER_FLUSH || (iter_mode & ABI_ITER_SUMS && turn_is_long(t, now)))
		flush(task, t, now);
	else if (iter_mode & ABI_ITER_SUMS)
		sums_flush(t, word_index(t->word));
	if (!(iter_mode & (ABI_ITER_ADOPT | ABI_ITER_STACKS)))
		return_buffer(t); /* the walk that it was reserved for has found the thread awake */
	else if (t->reserved_buffer != ABI_NO_BUFFER || (t->watches_context && !t->context_known))
		any_to_read = 1;
	if (thread_sums(t)->tag) {
		n_tagged_walk++;
		walked_ns = now;
	}
	return 0;
}
