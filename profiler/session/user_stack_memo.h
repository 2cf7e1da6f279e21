/*
 * Remembers the user's frames of sleeping threads by their registers. A thread that sleeps again at the same
 * instruction with the same stack pointer is in the same calls, so a wait whose stack was not copied gets the
 * frames of one whose was.
 *
 *     memo = user_stack_memo_new();
 *     user_stack_memo_put(memo, &key, ids, n);         a stack that was copied whole
 *     ids = user_stack_memo_get(memo, &key, &n);       NULL: none
 *     user_stack_memo_clear(memo);                     at the end of a window: ids are of one profile
 *     user_stack_memo_free(memo);
 *
 * Bounded: beyond USER_STACK_MEMO_MAX stacks none is added until it is cleared. Not for stacks with Python frames,
 * which the registers do not determine.
 */
#ifndef STALLPROF_PROFILER_USER_STACK_MEMO_H
#define STALLPROF_PROFILER_USER_STACK_MEMO_H

#include <stddef.h>
#include <stdint.h>

#define USER_STACK_MEMO_MAX 8192

struct profile;
struct user_stack_memo;

/* Without padding, as its bytes are compared. */
struct user_stack_key {
	const struct profile *profile; /* whose location ids they are */
	uint64_t process_start_ns, ip, sp;
	uint32_t tgid, tid;
};

/* NULL without memory. */
struct user_stack_memo *user_stack_memo_new(void);
void user_stack_memo_free(struct user_stack_memo *memo);

/* Keeps a copy of the ids; without memory, or where the key is known already, it does nothing. */
void user_stack_memo_put(struct user_stack_memo *memo, const struct user_stack_key *key, const int64_t *ids,
                         size_t n);
const int64_t *user_stack_memo_get(const struct user_stack_memo *memo, const struct user_stack_key *key,
                                   size_t *n);
void user_stack_memo_clear(struct user_stack_memo *memo);

#endif
