/* Loops whose body the verifier walks once, not once a round and a path.
 *
 * bpf_loop() does that, since Linux 5.17. Kernels before have bpf_for_each_map_elem(): there an array that holds nothing is walked, and
 * its indexes are the rounds. Which one it is, is known when the programs are loaded, so the other costs nothing.
 */
#ifndef STALLPROF_LOOP_BPF_H
#define STALLPROF_LOOP_BPF_H

#include "bpf/kernel.bpf.h"

#define LOOP_MAX 1024 /* rounds */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOOP_MAX);
	__type(key, u32);
	__type(value, u8);
} loop_rounds SEC(".maps") __weak;

/* Makes NAME_loop(n, c) of `ALWAYS long NAME(u32 i, TYPE *c)`: calls it with i from 0 up to n - 1, as long as it returns 0. `c` must be
 * on the stack, and n no more than LOOP_MAX. */
#define LOOP_OF(name, type)                                                                                  \
	struct name##_rounds {                                                                               \
		type *c;                                                                                     \
		u64 n;                                                                                       \
	};                                                                                                   \
	static long name##_round(void *map, const u32 *i, u8 *nothing, struct name##_rounds *r)              \
	{                                                                                                    \
		return *i < r->n ? name(*i, r->c) : 1;                                                       \
	}                                                                                                    \
	ALWAYS void name##_loop(u32 n, type *c)                                                              \
	{                                                                                                    \
		if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {                           \
			bpf_loop(n, name, c, 0);                                                             \
		} else {                                                                                     \
			struct name##_rounds r = { .c = c, .n = n };                                         \
                                                                                                             \
			bpf_for_each_map_elem(&loop_rounds, name##_round, &r, 0);                            \
		}                                                                                            \
	}

#endif
