/* Resolves kernel stacks, each once a window. */

#include "profiler/session/kernel_stacks.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "profiler/session/hook_frames.h"
#include "profiler/session/stack_location.h"
#include "profiler/session/stack_memo.h"
#include "symbolizer/symbolizer.h"

struct key {
	const struct profile *profile; /* whose location ids they are */
	uint64_t is_caller;
	uint64_t pcs[ABI_KSTACK_MAX];
};

struct kernel_stacks {
	struct symbolizer *symbolizer;
	struct stack_memo *memo;
	struct key key; /* of the stack that is being resolved */
};

struct kernel_stacks *kernel_stacks_new(struct symbolizer *symbolizer)
{
	struct kernel_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->symbolizer = symbolizer;
	stacks->memo = stack_memo_new();
	if (stacks->memo)
		return stacks;
	free(stacks);
	return NULL;
}

void kernel_stacks_free(struct kernel_stacks *stacks)
{
	if (!stacks)
		return;
	stack_memo_free(stacks->memo);
	free(stacks);
}

void kernel_stacks_clear(struct kernel_stacks *stacks)
{
	stack_memo_clear(stacks->memo);
}

static int add(int64_t *ids, size_t *n, int64_t id)
{
	if (id < 0)
		return (int)id;
	ids[(*n)++] = id;
	return 0;
}

static int locate(struct kernel_stacks *stacks, const struct abi_event *event, struct profile *profile,
                  int64_t *ids, size_t *n)
{
	/* The first frame of a sleeping thread is a return address, too; that of a sampled one is not. */
	bool is_caller = event->kind != ABI_EVENT_CPU;
	struct hook_frames hooks = { .hooked = false };
	struct sym_result result;
	uint32_t i;
	int err = 0;

	for (i = 0; i < event->kstack_len && i < ABI_KSTACK_MAX && !err; i++) {
		if (symbolizer_kernel(stacks->symbolizer, event->kstack[i], is_caller, &result))
			continue;
		if (!hook_frames_skips(&hooks, result.frames[result.n_frames - 1].function))
			err = add(ids, n, stack_location(profile, &result));
		is_caller = !symbolizer_kernel_entry(&result);
	}
	return err;
}

int kernel_stacks_resolve(struct kernel_stacks *stacks, const struct abi_event *event,
                          struct profile *profile, int64_t *ids, size_t *n)
{
	uint32_t n_pcs = event->kstack_len < ABI_KSTACK_MAX ? event->kstack_len : ABI_KSTACK_MAX;
	size_t size = offsetof(struct key, pcs) + n_pcs * sizeof(*event->kstack);
	struct key *key = &stacks->key;
	const int64_t *known;
	int err;

	key->profile = profile;
	key->is_caller = event->kind != ABI_EVENT_CPU;
	memcpy(key->pcs, event->kstack, n_pcs * sizeof(*event->kstack));
	known = stack_memo_get(stacks->memo, key, size, n);
	if (known) {
		memcpy(ids, known, *n * sizeof(*ids));
		return 0;
	}
	err = locate(stacks, event, profile, ids, n);
	if (!err)
		stack_memo_put(stacks->memo, key, size, ids, *n);
	return err;
}
