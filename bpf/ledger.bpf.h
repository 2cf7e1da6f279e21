/* Rows of the ledger, and a thread's sums on their way there. */
#ifndef STALLPROF_LEDGER_BPF_H
#define STALLPROF_LEDGER_BPF_H

#include "bpf/state.bpf.h"

/* The ledger map of the running window; it may not be kept past the program's return. */
ALWAYS void *ledger_now(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ledgers, &zero);
}

ALWAYS u64 ledger_window(void *ledger)
{
	struct abi_ledger_key meta = { .tag = ABI_LEDGER_META_TAG };
	struct abi_ledger_value *value = bpf_map_lookup_elem(ledger, &meta);

	return value ? value->ns : 0;
}

/* Adds to a row of the running window's ledger. Returns 0. */
VERIFIED_ONCE int ledger_add(const struct abi_ledger_key *row, s64 ns, u64 count, u64 bytes)
{
	struct abi_ledger_value *value, fresh = { .ns = ns, .count = count, .bytes = bytes };
	void *ledger = ledger_now();
	struct abi_ledger_key key;

	if (!ledger || !row)
		return 0;
	key = *row; /* Linux 6.1 takes no key from a caller's stack */
	value = bpf_map_lookup_elem(ledger, &key);
	if (!value) {
		if (bpf_map_update_elem(ledger, &key, &fresh, BPF_NOEXIST) == 0)
			return 0;
		value = bpf_map_lookup_elem(ledger, &key); /* another CPU was first, or it is full */
		if (!value) {
			COUNT(ledger_full);
			/* What a correction takes back is no loss; these two are nobody's time. */
			if (ns > 0 && key.state != ABI_REQUESTS && key.state != ABI_CPU_USER)
				COUNT_BY(ledger_full_ns, ns);
			return 0;
		}
	}
	__sync_fetch_and_add(&value->ns, ns);
	__sync_fetch_and_add(&value->count, count);
	if (bytes)
		__sync_fetch_and_add(&value->bytes, bytes);
	return 0;
}

ALWAYS void key_of(struct abi_ledger_key *key, const struct thread *t, u64 tag, u32 state)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->tag = tag;
	key->process_start_ns = t->process_start_ns;
	key->tgid = t->tgid;
	key->state = state;
}

/* What the thread's sleep is, should it be no stall. */
ALWAYS u32 kind_of(const struct thread *t)
{
	return t->kind ? t->kind : ABI_WAIT_OTHER;
}

/* Adds time straight to the ledger, for who is not on the thread's CPU; also none, so that the tag has a row. */
ALWAYS void ledger_charge_any(struct thread *t, u64 tag, u32 state, u64 ns, u64 count)
{
	struct abi_ledger_key key;

	key_of(&key, t, tag, state);
	if (state == ABI_SLEEP)
		key.cause = kind_of(t);
	ledger_add(&key, ns, count, 0);
}

/* The same, where there is some. */
ALWAYS void ledger_charge(struct thread *t, u64 tag, u32 state, u64 ns, u64 count)
{
	if (tag && ns)
		ledger_charge_any(t, tag, state, ns, count);
}

/* A sleep, or the part of one (`whole_ns`: how long it is, or has been so far): straight to its row. */
ALWAYS void ledger_charge_wait(struct thread *t, u64 tag, const struct wait_row *row, s64 ns, u64 count,
                               u64 whole_ns)
{
	struct abi_ledger_key key;

	if (!tag)
		return;
	key_of(&key, t, tag, row->state);
	key.cause = row->cause;
	key.dev = row->dev;
	key.below_min = row->state == ABI_STALL && whole_ns < min_duration_ns;
	ledger_add(&key, ns, count, 0);
}

/* What has come to a sum since the ledger was told of it. */
ALWAYS u64 untold(u64 *run, u64 *told)
{
	u64 now = *(volatile u64 *)run;

	return now - __sync_lock_test_and_set(told, now);
}

ALWAYS void flush_sum(struct abi_ledger_key *key, u32 state, u64 ns, u64 count)
{
	if (!ns && !count)
		return;
	key->state = state;
	ledger_add(key, ns, count, 0);
}

ALWAYS void flush_waits(struct abi_ledger_key *key, u32 state, struct wait_sum *run, struct wait_sum *told)
{
	u64 ns = untold(&run->ns, &told->ns);

	flush_sum(key, state, ns, untold(&run->count, &told->count));
}

/* What is no blocked wait. */
ALWAYS void flush_states(struct tag_sums *sums, struct abi_ledger_key *key)
{
	u64 cycles = untold(&sums->run.cycles, &sums->told.cycles);

	key->cause = 0;
	key->dev = 0;
	flush_sum(key, ABI_ONCPU, untold(&sums->run.oncpu, &sums->told.oncpu), cycles);
	flush_sum(key, ABI_RUNQ, untold(&sums->run.runq, &sums->told.runq), cycles);
	flush_sum(key, ABI_UNOBSERVED, untold(&sums->run.unobserved, &sums->told.unobserved), 0);
	key->cause = sums->cause;
	key->dev = sums->dev;
	flush_waits(key, ABI_STALL, &sums->run.stall, &sums->told.stall);
}

/* Moves what has run up in a sums into the ledger; without a tag it is nobody's time and is dropped. Returns 0. */
VERIFIED_ONCE int sums_flush(struct thread *t, u32 index)
{
	struct abi_ledger_key key;
	struct tag_sums *sums;
	u32 i;

	if (!t)
		return 0;
	sums = &t->sums[index & 3];
	if (!sums->tag) {
		sums->told = sums->run;
		return 0;
	}
	key_of(&key, t, sums->tag, 0);
#pragma clang loop unroll(full) /* Linux 6.1 refuses the loop that clang makes of it */
	for (i = 0; i < ABI_WAIT_KINDS; i++) {
		key.cause = ABI_WAIT_OTHER + i;
		flush_waits(&key, ABI_SLEEP, &sums->run.blocked[i], &sums->told.blocked[i]);
	}
	flush_states(sums, &key);
	return 0;
}

/* A sleep that has ended, told by the thread itself. */
ALWAYS void sums_add_wait(struct thread *t, struct tag_sums *sums, const struct wait_row *row, u64 ns,
                          u64 whole_ns)
{
	u32 kind = row->cause - ABI_WAIT_OTHER;

	if (row->state == ABI_SLEEP) {
		barrier_var(kind);
		if (kind >= ABI_WAIT_KINDS)
			kind = 0;
		sums->run.blocked[kind].ns += ns;
		sums->run.blocked[kind].count++;
		return;
	}
	if (!sums->cause) {
		sums->dev = row->dev;
		sums->cause = row->cause;
	}
	if (sums->cause == row->cause && sums->dev == row->dev && whole_ns >= min_duration_ns) {
		sums->run.stall.ns += ns;
		sums->run.stall.count++;
	} else {
		ledger_charge_wait(t, sums->tag, row, ns, 1, whole_ns);
	}
}

#endif
