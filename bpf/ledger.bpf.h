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

ALWAYS void slot_time_add(struct slot_time *time, u64 ns, u64 count)
{
	if (ns)
		__sync_fetch_and_add(&time->ns, ns);
	if (count)
		__sync_fetch_and_add(&time->count, count);
}

ALWAYS void flush_time(void *ledger, struct abi_ledger_key *key, struct slot_time *time, u32 state)
{
	u64 ns, count;

	if (!time->ns && !time->count)
		return;
	ns = __sync_lock_test_and_set(&time->ns, 0);
	count = __sync_lock_test_and_set(&time->count, 0);
	key->state = state;
	if (ns || count)
		ledger_add(ledger, key, ns, count);
}

/* Moves what has run up in a slot into the ledger; without a tag it is nobody's time and is dropped. */
ALWAYS void slot_flush(struct thread *t, struct tag_slot *slot)
{
	struct abi_ledger_key key;
	u64 tag = slot->tag;
	void *ledger = ledger_now();

	if (!ledger)
		return;
	if (!tag) {
		__builtin_memset(&slot->oncpu, 0, sizeof(slot->oncpu) * 4);
		return;
	}
	key_of(&key, t, tag, 0);
	flush_time(ledger, &key, &slot->oncpu, ABI_ONCPU);
	flush_time(ledger, &key, &slot->runq, ABI_RUNQ);
	flush_time(ledger, &key, &slot->blocked, ABI_SLEEP);
	flush_time(ledger, &key, &slot->unobserved, ABI_UNOBSERVED);
}

/* A stall goes to the ledger at once: its rows are many, and it is long compared with the cost. */
ALWAYS void ledger_add_stall(struct thread *t, u64 tag, u32 cause, u32 dev, u64 ns, u64 count)
{
	void *ledger = ledger_now();
	struct abi_ledger_key key;

	if (!ledger || !tag)
		return;
	key_of(&key, t, tag, ABI_STALL);
	key.cause = cause;
	key.dev = dev;
	key.below_min = ns < min_duration_ns;
	ledger_add(ledger, &key, ns, count);
}

#endif
