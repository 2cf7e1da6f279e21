/* Closing intervals into rows. */
#ifndef STALLPROF_LEDGER_BPF_H
#define STALLPROF_LEDGER_BPF_H

#include "bpf/state.bpf.h"

#define WORD_STATE_BITS 3

ALWAYS u64 word_of(u64 since_ns, u32 state)
{
	return since_ns << WORD_STATE_BITS | state;
}

ALWAYS u32 word_state(u64 word)
{
	return word & ((1 << WORD_STATE_BITS) - 1);
}

ALWAYS u64 word_since(u64 word)
{
	return word >> WORD_STATE_BITS;
}

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

ALWAYS void slot_time_add(struct slot_time *time, u64 ns)
{
	__sync_fetch_and_add(&time->ns, ns);
	__sync_fetch_and_add(&time->count, 1);
}

ALWAYS struct tag_slot *thread_slot(struct thread *t)
{
	return &t->slot[t->gen & 1];
}

ALWAYS void key_of(struct abi_ledger_key *key, const struct thread *t, u64 tag, u32 state)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->tag = tag;
	key->process_start_ns = t->process_start_ns;
	key->tgid = t->tgid;
	key->state = state;
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

/* Adds a closed interval to the thread's slot, by what it was doing. */
ALWAYS void slot_charge(struct tag_slot *slot, u32 state, u64 ns)
{
	if (state == ABI_ONCPU)
		slot_time_add(&slot->oncpu, ns);
	else if (state == ABI_RUNQ)
		slot_time_add(&slot->runq, ns);
	else if (state == ABI_SLEEP)
		slot_time_add(&slot->blocked, ns);
	else if (state == ABI_UNOBSERVED)
		slot_time_add(&slot->unobserved, ns);
}

/* Ends the running interval at `now` and begins one in `state`; returns the word that ended. Clocks of two
 * CPUs may differ by some ns: an interval that would be negative is empty, and the next begins where it did. */
ALWAYS u64 thread_enter(struct thread *t, u32 state, u64 now, u64 *ns)
{
	u64 since = word_since(t->word);
	u64 old;

	if (now < since)
		now = since;
	old = __sync_lock_test_and_set(&t->word, word_of(now, state));
	*ns = now > word_since(old) ? now - word_since(old) : 0;
	return old;
}

/* Ends the running interval without changing the state. For programs that may be preempted, so that the thread
 * goes through other states in between: the interval ends only if it is still the one that was looked at. */
ALWAYS u64 thread_split(struct thread *t, u64 *ns)
{
	u64 word = t->word, now, i;

	for (i = 0; i < 4; i++) {
		u64 seen;

		now = bpf_ktime_get_ns();
		if (now < word_since(word))
			now = word_since(word);
		seen = __sync_val_compare_and_swap(&t->word, word, word_of(now, word_state(word)));
		if (seen == word) {
			*ns = now - word_since(word);
			return word;
		}
		word = seen;
	}
	*ns = 0; /* what has run up stays with the interval, and goes to the tag to come */
	return word;
}

ALWAYS bool hot_attached(void)
{
	return hot_generation & 1;
}

/* Whether the thread's state has been followed without a gap. */
ALWAYS bool thread_followed(const struct thread *t)
{
	return hot_attached() && t->hot_generation == hot_generation;
}

#endif
