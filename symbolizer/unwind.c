/* The stacks of this host's processes: x86-64, code as their mappings tell. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/symbolizer_state.h"
#include "symbolizer/unwind_cache.h"
#include "symbolizer/unwind_walk.h"

struct process_code {
	struct sym_process *process;
	struct unwind_cache *cache;
	const struct object *last; /* the one used last */
};

static void load_registers(const struct sym_regs *from, struct unwind_frame *to)
{
	const uint64_t regs[] = { from->ax,  from->dx,  from->cx,  from->bx,  from->si,  from->di,
		                  from->bp,  from->sp,  from->r8,  from->r9,  from->r10, from->r11,
		                  from->r12, from->r13, from->r14, from->r15, from->ip };

	_Static_assert(sizeof(regs) <= sizeof(to->regs), "room for them");
	memcpy(to->regs, regs, sizeof(regs));
	to->known = ((uint64_t)1 << sizeof(regs) / sizeof(*regs)) - 1;
	to->is_exact = true;
}

/* Rules of files that have been dropped meanwhile must not be used. */
static void forget_dropped(struct unwind_cache *c, uint64_t generation)
{
	if (c->generation == generation)
		return;
	memset(c->slots, 0, sizeof(c->slots));
	c->generation = generation;
}

/* May drop the tables of others. */
static void note_use(struct process_code *code, struct object *o)
{
	process_object_used(code->process, o);
	forget_dropped(code->cache, object_cache_generation(code->process->owner->objects));
}

static int find_anew(struct process_code *code, uint64_t address, const struct cfi_rules **out)
{
	struct sym_process *p = code->process;
	struct process_location at;
	int err;

	if (!process_locate(p, address, &at))
		return -ESRCH;
	if (!at.object)
		return -ENOENT;
	err = object_rules(at.object, at.address, out);
	code->last = at.object;
	note_use(code, at.object);
	if (!err)
		*unwind_cache_slot(code->cache, address, p->version) =
		        (struct unwind_slot){ address, p->version, *out, at.object };
	return err;
}

static int find(void *context, uint64_t address, const struct cfi_rules **out)
{
	struct process_code *code = context;
	const struct unwind_slot *slot = unwind_cache_slot(code->cache, address, code->process->version);

	if (slot->address != address || slot->version != code->process->version)
		return find_anew(code, address, out);
	*out = slot->rules;
	if (slot->object != code->last) {
		code->last = slot->object;
		note_use(code, slot->object);
	}
	return 0;
}

int symbolizer_unwind(struct sym_process *p, const struct sym_stack *stack, uint64_t *pcs, size_t max_pcs,
                      size_t *n_pcs, enum sym_unwind_end *end)
{
	struct symbolizer *s = p->owner;
	struct process_code context = { .process = p };
	struct unwind_code code = { .arch = &cfi_arch_x86_64, .find = find, .context = &context };
	struct unwind_frame frame;

	if (!max_pcs)
		return -EINVAL;
	if (!s->unwound)
		s->unwound = calloc(1, sizeof(*s->unwound));
	if (!s->unwound)
		return -ENOMEM;
	context.cache = s->unwound;
	forget_dropped(s->unwound, object_cache_generation(s->objects));
	load_registers(&stack->regs, &frame);
	*n_pcs = unwind_walk(&code, stack, &frame, pcs, max_pcs, end);
	s->stats.unwind_ends[*end]++;
	s->stats.unwind_frame_pointers += code.n_by_frame_pointer;
	return 0;
}
