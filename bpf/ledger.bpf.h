/* Rows of the ledger, and the sums that wait in a thread's slots to go there. */
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

ALWAYS void ledger_add(void *ledger, struct abi_ledger_key *key, u64 ns, u64 count)
{
	struct abi_ledger_value *value, fresh = { .ns = ns, .count = count };

	value = bpf_map_lookup_elem(ledger, key);
	if (!value) {
		if (bpf_map_update_elem(ledger, key, &fresh, BPF_NOEXIST) == 0)
			return;
		value = bpf_map_lookup_elem(ledger, key); /* another CPU was first, or it is full */
		if (!value) {
			COUNT(ledger_full);
			COUNT_BY(ledger_full_ns, ns);
			return;
		}
	}
	__sync_fetch_and_add(&value->ns, ns);
	__sync_fetch_and_add(&value->count, count);
}

ALWAYS void key_of(struct abi_ledger_key *key, const struct thread *t, u64 tag, u32 state)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->tag = tag;
	key->process_start_ns = t->process_start_ns;
	key->tgid = t->tgid;
	key->state = state;
}

/* Adds time straight to the ledger: for who is not on the thread's CPU. */
ALWAYS void ledger_charge(struct thread *t, u64 tag, u32 state, u64 ns, u64 count)
{
	void *ledger = ledger_now();
	struct abi_ledger_key key;

	if (!ledger || !tag || !ns)
		return;
	key_of(&key, t, tag, state);
	ledger_add(ledger, &key, ns, count);
}

/* What has come to a sum since the ledger was told of it. */
ALWAYS u64 untold(u64 *run, u64 *told)
{
	u64 now = *(volatile u64 *)run;

	return now - __sync_lock_test_and_set(told, now);
}

ALWAYS void flush_sum(void *ledger, struct abi_ledger_key *key, u32 state, u64 ns, u64 count)
{
	if (!ns && !count)
		return;
	key->state = state;
	ledger_add(ledger, key, ns, count);
}

/* Moves what has run up in a slot into the ledger; without a tag it is nobody's time and is dropped. */
ALWAYS void slot_flush(struct thread *t, struct tag_slot *slot)
{
	struct abi_ledger_key key;
	u64 tag = slot->tag, cycles;
	void *ledger = ledger_now();

	if (!ledger)
		return;
	if (!tag) {
		slot->told = slot->run;
		return;
	}
	key_of(&key, t, tag, 0);
	cycles = untold(&slot->run.cycles, &slot->told.cycles);
	flush_sum(ledger, &key, ABI_ONCPU, untold(&slot->run.oncpu, &slot->told.oncpu), cycles);
	flush_sum(ledger, &key, ABI_RUNQ, untold(&slot->run.runq, &slot->told.runq), cycles);
	flush_sum(ledger, &key, ABI_SLEEP, untold(&slot->run.blocked, &slot->told.blocked),
	          untold(&slot->run.sleeps, &slot->told.sleeps));
	flush_sum(ledger, &key, ABI_UNOBSERVED, untold(&slot->run.unobserved, &slot->told.unobserved), 0);
}

/* A stall, or the part of one, goes to the ledger at once: its rows are many, and it is long compared with the cost.
 * `whole_ns`: how long the sleep is, or has been so far. */
ALWAYS void ledger_add_stall(struct thread *t, u64 tag, u32 cause, u32 dev, u64 ns, u64 count, u64 whole_ns)
{
	void *ledger = ledger_now();
	struct abi_ledger_key key;

	if (!ledger || !tag)
		return;
	key_of(&key, t, tag, ABI_STALL);
	key.cause = cause;
	key.dev = dev;
	key.below_min = whole_ns < min_duration_ns;
	ledger_add(ledger, &key, ns, count);
}

#endif
