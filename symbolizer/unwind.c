/* Unwinds stacks of this host's processes (x86-64) by the unwind tables of the files that they have mapped. */
#include <errno.h>
#include <string.h>

#include "symbolizer/symbolizer_state.h"
#include "symbolizer/cfi/unwind_walk.h"

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

/*
 * Rules of files that have been dropped meanwhile must not be used. So it is called after whatever may drop one, before
 * anything else is done: then the slots of the cache never lead to a dropped file.
 */
static void forget_dropped(struct symbolizer *s)
{
	uint64_t generation = object_cache_generation(s->objects);

	if (s->unwound_generation != generation)
		unwind_cache_clear(s->unwound);
	s->unwound_generation = generation;
}

/* May open a file, and another is dropped for it. */
static bool locate(struct sym_process *p, uint64_t address, struct process_location *out)
{
	bool is_code = process_locate(p, address, out);

	forget_dropped(p->owner);
	return is_code;
}

static void use(struct unwind_code *code, void *object)
{
	struct sym_process *p = code->context;

	process_object_used(p, object);
	forget_dropped(p->owner);
}

static int find(struct unwind_code *code, uint64_t address, const struct cfi_rules **out, void **owner)
{
	struct sym_process *p = code->context;
	struct process_location at;
	bool is_code = locate(p, address, &at);
	int err;

	code->version = p->version;
	if (!is_code)
		return -ESRCH;
	if (!at.object)
		return at.mapping->try_again_ns ? -EAGAIN : -ENOENT;
	err = object_rules(at.object, at.address, out);
	*owner = at.object;
	use(code, at.object);
	return err;
}

/* What the file has there, so of code that is in a file only. */
static bool read_code(void *context, uint64_t address, void *buffer, size_t len)
{
	struct process_location at;

	return locate(context, address, &at) && at.object && address + len <= at.mapping->end &&
	       !object_read_file(at.object, address - at.mapping->start + at.mapping->offset, buffer, len);
}

int symbolizer_unwind(struct sym_process *p, const struct sym_stack *stack, uint64_t *pcs, size_t max_pcs,
                      size_t *n_pcs, enum sym_unwind_end *end)
{
	struct symbolizer *s = p->owner;
	struct unwind_code code = { .arch = &cfi_arch_x86_64,
		                    .version = p->version,
		                    .find = find,
		                    .used = use,
		                    .read_code = read_code,
		                    .context = p };
	struct unwind_frame frame;

	if (!max_pcs)
		return -EINVAL;
	code.cache = s->unwound;
	forget_dropped(s);
	load_registers(&stack->regs, &frame);
	*n_pcs = unwind_walk(&code, stack, &frame, pcs, max_pcs, end);
	s->stats.unwind_ends[*end]++;
	s->stats.unwind_frame_pointers += code.n_by_frame_pointer;
	return 0;
}
