/* A thread's log of its changes of tag, which the tag library writes into the thread's own memory (stalltag.h says how).
 *
 * It is read where the thread's time is settled, and where the library's probe says so. The entries that were not read
 * yet all lie in the stretch on a CPU that goes on now, as each switch-out has read those before it:
 *
 *    switch-in     c1       c2      c3        now
 *        |  before  |  tag1  |  tag2  |  tag3  |
 *
 * What lies before c1 belongs to the tag before, sleep and all: it is split off (cycle_split). The parts between are
 * on-CPU time by the library's clock. The last tag's part goes on in the cycle.
 *
 * All sums are made first; then one change of the thread's word, from what it was before the log was looked at, makes them
 * count. So a program that interrupts another, or the end of a window on another CPU, may do the same: only one succeeds. Entries
 * that are older than the word's begin are settled already, and their parts come out empty.
 */
#ifndef STALLPROF_LOG_BPF_H
#define STALLPROF_LOG_BPF_H

#include "bpf/context.bpf.h"

#define LOG_BATCH  512          /* entries read at once */
#define LOG_GROUP  8            /* … and summed in one step */
#define LOG_BEFORE ABI_LOG_ROWS /* in place of a row: what lies before the first entry */
/* The name of a tag that the ledger was not told of for some seconds may have been forgotten. */
#define PERIOD_BITS 30

/* A row's sum: how often its part came in the upper bits, its time in the lower ones. */
#define PART_BITS    40
#define PART_ONE     (1ULL << PART_BITS)
#define PART_NS(sum) ((sum) & (PART_ONE - 1))
#define PART_N(sum)  ((sum) >> PART_BITS)
#define PART_LONGEST (PART_ONE / 2)

/* As how many uses of its tag a row is charged. The walk over all threads charges time alone: it leaves the entries to the thread, which reads them
 * again and counts them. */
#ifdef CONTEXT_OF_OTHERS
#define PART_CHANGES(sum) 0
#else
#define PART_CHANGES(sum) PART_N(sum)
#endif

/* How far a log is ahead is what its process says: nobody changes its tag more often between two looks. */
#define LOST_AT_ONCE (1ULL << 30)

/* Where the sums are made. */
struct log_batch {
	struct abi_log_head head;
	u64 entries[LOG_BATCH];
	u64 sums[ABI_LOG_ROWS * 2];  /* by row, and one for what lies before them */
	u64 seen;                    /* rows, one bit each; those left to be charged */
	u64 tail, n, done;           /* of the entries read */
	u64 from_ns, at_ns, now_ns;  /* up to what is summed */
	u64 moment, moment_ns, rate; /* an entry's moment << 6, and when that was */
	u32 row, unused;
	struct split split; /* here, as the programs' stacks have no room for it (VERIFIED_ONCE) */
};

/* What a thread's rows were interned as, and room for programs that may be preempted. */
struct tag_log {
	u64 keys[ABI_LOG_ROWS];
	u32 made[ABI_LOG_ROWS];
	u32 period[ABI_LOG_ROWS];
	struct abi_tag tag[2]; /* where one is read: the second for programs that may be preempted */
	struct log_batch batch;
};

/* Who reads the log: a thread's own programs, or the walk at a window's end. */
struct log_reader {
	struct task_struct *task;
	struct thread *t;
	struct tag_log *known;
	struct log_batch *batch;
	u64 on_probe; /* whether the reader may be preempted */
};

/* One entry ends the part before it. */
ALWAYS void log_entry(struct log_batch *b, u64 entry, u64 moment, u64 ns, u64 rate)
{
	s64 later = (s64)((entry & -ABI_LOG_ROWS) - moment) >> 6;
	u64 at = ns + (later * (s64)rate >> ABI_LOG_RATE_BITS), before = b->at_ns;

	at = at_most(at, b->now_ns);
	if (at < before)
		at = before;
	b->sums[b->row & (ABI_LOG_ROWS * 2 - 1)] += at_most(at - before, PART_LONGEST) + PART_ONE;
	b->at_ns = at;
	b->row = entry & (ABI_LOG_ROWS - 1);
	b->seen |= 1ULL << (entry & (ABI_LOG_ROWS - 1));
}

/* 1 ends the loop. */
ALWAYS long log_group(u32 i, struct log_reader *r)
{
	struct log_batch *b = r->batch;
	u64 moment = b->moment, ns = b->moment_ns, rate = b->rate;
	u32 k;

	if (i >= LOG_BATCH / LOG_GROUP)
		return 1;
#pragma unroll
	for (k = 0; k < LOG_GROUP; k++)
		log_entry(b, b->entries[i * LOG_GROUP + k], moment, ns, rate);
	return 0;
}

LOOP_OF(log_group, struct log_reader)

ALWAYS long log_single(u32 i, struct log_reader *r)
{
	struct log_batch *b = r->batch;

	i += b->done;
	barrier_var(i);
	if (i >= LOG_BATCH)
		return 1;
	log_entry(b, b->entries[i], b->moment, b->moment_ns, b->rate);
	return 0;
}

LOOP_OF(log_single, struct log_reader)

/* All that were read. */
ALWAYS void log_sum(struct log_reader *r)
{
	struct log_batch *b = r->batch;
	u64 groups = b->n / LOG_GROUP;
	u32 clock = b->head.state.clock & 1;

	b->moment = b->head.clocks[clock].moment << 6;
	b->moment_ns = b->head.clocks[clock].ns - r->t->log_clock;
	b->rate = b->head.clocks[clock].rate;

	if (groups)
		log_group_loop(groups, r);
	b->done = groups * LOG_GROUP;
	log_single_loop(b->n - b->done, r);
}

/* When the first entry's change was. */
ALWAYS u64 log_change(const struct log_batch *b)
{
	return b->from_ns + PART_NS(b->sums[LOG_BEFORE]);
}

/* The entries from `tail` on, up to the ring's end. 0: there are none, or they cannot be read. */
ALWAYS u32 log_read(const struct log_reader *r, u64 tail)
{
	struct task_struct *task = r->task;
	struct log_batch *b = r->batch;
	u64 at = r->t->log_at, n, from;

	(void)task; /* user_read() may need it */
	if (user_read(&b->head, sizeof(b->head), (void *)at)) {
		COUNT(tag_logs_unreadable);
		return 0;
	}
	n = b->head.state.head - tail;
	if (n >= ABI_LOG_ENTRIES) { /* overwritten */
		COUNT_BY(tag_changes_lost, at_most(n - 1, LOST_AT_ONCE));
		tail = b->head.state.head - 1;
		n = 1;
	}
	from = tail & (ABI_LOG_ENTRIES - 1);
	n = cut_to(at_most(n, ABI_LOG_ENTRIES - from), LOG_BATCH);
	if (n && user_read(b->entries, n * 8, (void *)(at + ABI_LOG_ENTRIES_AT + from * 8))) {
		COUNT(tag_logs_unreadable);
		return 0;
	}
	b->tail = tail;
	b->n = n;
	return n;
}

/* No change of tag lies before the switch-in, and a sleep before it may be longer than a sum's time (PART_BITS). */
ALWAYS void log_begin(const struct log_reader *r, u64 word)
{
	u64 begin = word_begin(word);
	struct log_batch *b = r->batch;

	__builtin_memset(b->sums, 0, (LOG_BEFORE + 1) * sizeof(b->sums[0]));
	b->seen = 0;
	b->row = LOG_BEFORE;
	b->now_ns = bpf_ktime_get_ns();
	b->from_ns = b->at_ns = begin + since(r->t->in_ns, begin);
}

/* The key of a row's tag; 0: it has none, or cannot be read. */
ALWAYS u64 log_row_key(struct log_reader *r, u32 row)
{
	u64 at = r->t->log_at + ABI_LOG_ROWS_AT + (u64)row * sizeof(struct abi_log_row);
	struct task_struct *task = r->task;
	struct abi_tag *tag = &r->known->tag[r->on_probe & 1];

	(void)task; /* as above */
	if (user_read(tag, sizeof(struct abi_log_row), (void *)at)) {
		COUNT(tag_logs_unreadable);
		return 0;
	}
	tag->name[ABI_TAG_NAME_LEN - 1] = 0;
	tag->source = ABI_TAG_STALLTAG;
	tag->unused = 0;
	if (!tag->name[0]) {
		if (!tag->id)
			return 0;
		__builtin_memcpy(tag->name, "span", 4);
	}
	return tag_intern(tag);
}

/* The same, if it is not known since the row was made and of late. */
ALWAYS u64 log_row_tag(struct log_reader *r, u32 row)
{
	struct tag_log *known = r->known;
	u32 made, period = r->batch->now_ns >> PERIOD_BITS;
	u64 key;

	barrier_var(row);
	if (row >= ABI_LOG_NONE)
		return 0;
	made = r->batch->head.made[row];
	if (known->made[row] == made && known->period[row] == period)
		return known->keys[row];
	key = log_row_key(r, row);
	barrier_var(row);
	if (row >= ABI_LOG_NONE)
		return key;
	known->made[row] = made - 1; /* who interrupts here takes neither for the other */
	barrier();
	known->keys[row] = key;
	known->period[row] = period;
	barrier();
	known->made[row] = made;
	return key;
}

/* The first of the rows that are left in `seen`, which it leaves. */
ALWAYS u32 log_next_row(struct log_batch *b)
{
	u64 seen = b->seen;

	b->seen = seen & (seen - 1);
	return bits_set((seen & -seen) - 1) & (ABI_LOG_ROWS - 1);
}

/* A row's time goes to the ledger; 1 ends the loop. */
ALWAYS long log_charge_row(u32 i, struct log_reader *r)
{
	struct log_batch *b = r->batch;
	u64 tag, sum;
	u32 row;

	if (!b->seen)
		return 1;
	row = log_next_row(b);
	tag = log_row_tag(r, row);
	sum = b->sums[row & (ABI_LOG_ROWS - 1)];
	if (!tag)
		tag = r->t->base_tag;
	/* A tag that was held for no time that the clocks can tell has a row, too. */
	if (tag)
		ledger_charge_any(r->t, tag, ABI_ONCPU, PART_NS(sum), PART_CHANGES(sum));
#ifndef CONTEXT_OF_OTHERS
	splits_note(r->t, tag, PART_NS(sum));
#endif
	return 0;
}

LOOP_OF(log_charge_row, struct log_reader)

ALWAYS void log_charge(struct log_reader *r)
{
	log_charge_row_loop(ABI_LOG_ROWS, r);
}

#endif
