/* Walks a copied stack frame by frame, following hot rules from the cache where it can. */

#include "symbolizer/cfi/unwind_walk.h"

#include <errno.h>
#include <string.h>

struct walk {
	struct unwind_code *code;
	const struct sym_stack *stack;
	uint64_t *pcs;
	size_t n, max; /* of pcs */

	/* The frame that comes next, which is in pcs once its pc has been found to be code. */
	uint64_t pc, sp, fp;
	bool is_exact; /* pc is not a return address */
	bool is_fp_known, is_sp_known;
	struct unwind_frame whole; /* that of pcs[n_whole], with all its registers */
	size_t n_whole;
};

static bool is_known(const struct unwind_frame *f, unsigned int reg)
{
	return f->known >> reg & 1;
}

/* Goes on from a frame with all its registers, which is to be pcs[n]. */
static void follow(struct walk *w)
{
	const struct cfi_arch *arch = w->code->arch;

	w->pc = w->whole.regs[arch->pc];
	w->sp = w->whole.regs[arch->sp];
	w->fp = w->whole.regs[arch->fp];
	w->is_exact = w->whole.is_exact;
	w->is_sp_known = is_known(&w->whole, arch->sp);
	w->is_fp_known = is_known(&w->whole, arch->fp);
	w->n_whole = w->n;
}

/* From the cache, or by asking; *slot is where they are, NULL for an error. */
static int find(struct unwind_code *code, uint64_t address, const struct unwind_slot **slot)
{
	struct unwind_slot *s = unwind_cache_slot(code->cache, address, code->version);
	const struct cfi_rules *rules;
	void *owner;
	int err;

	if (s->address != address || s->version != code->version) {
		*slot = NULL;
		err = code->find(code, address, &rules, &owner);
		if (err)
			return err;
		s = unwind_cache_slot(code->cache, address, code->version);
		unwind_cache_fill(s, code->arch, address, code->version, rules, owner);
		code->last_owner = owner;
	} else if (s->owner != code->last_owner) {
		code->last_owner = s->owner;
		if (code->used) {
			const struct unwind_slot kept = *s;

			code->used(code, s->owner);
			*s = kept; /* it may have emptied the cache, though not freed these */
		}
	}
	*slot = s;
	return 0;
}

static void record(struct walk *w, bool is_caller)
{
	w->pcs[w->n] = w->pc;
	if (w->stack->is_caller)
		w->stack->is_caller[w->n] = is_caller;
	if (w->stack->sps)
		w->stack->sps[w->n] = w->is_sp_known ? w->sp : 0;
	w->n++;
}

/* A frame that is left by hot rules alone. */
struct hot_frame {
	uint64_t pc, sp, fp;
	bool is_fp_known;
};

/* Makes the frame its caller's. False, with the frame as it was: not by these rules, or it has none. */
static inline bool step_hot(struct hot_frame *f, const struct unwind_slot *slot,
                            const struct sym_stack *stack)
{
	uint64_t cfa = (slot->is_by_fp ? f->fp : f->sp) + (uint64_t)(int64_t)slot->cfa_n, next;
	uint64_t span = cfa - stack->copy_start;
	const char *top;

	if (!slot->is_hot || (slot->is_by_fp && !f->is_fp_known) || cfa <= f->sp || span > stack->copy_len ||
	    span < (uint64_t)(int64_t)slot->depth)
		return false;
	top = (const char *)stack->copy + span;
	memcpy(&next, top + slot->return_n, sizeof(next));
	if (!next)
		return false;
	if (slot->fp_n) {
		memcpy(&f->fp, top + slot->fp_n, sizeof(f->fp));
		f->is_fp_known = true;
	}
	f->pc = next;
	f->sp = cfa;
	return true;
}

/*
 * Steps as long as rules are hot, from pcs[n - 1], whose slot this is. Returns the slot of the last frame in pcs,
 * whose step is still to be made; NULL when that was made, and the next frame is not in pcs.
 */
static const struct unwind_slot *walk_hot(struct walk *w, const struct unwind_slot *slot)
{
	const struct sym_stack stack = *w->stack;
	const struct unwind_code *code = w->code;
	uint64_t version = code->version;
	struct hot_frame f = { w->pc, w->sp, w->fp, w->is_fp_known };
	size_t n = w->n, max = w->max;

	while (step_hot(&f, slot, &stack)) {
		w->is_exact = false;
		slot = unwind_cache_slot(code->cache, f.pc - 1, version);
		if (n == max || slot->address != f.pc - 1 || slot->version != version ||
		    slot->owner != code->last_owner) {
			slot = NULL;
			break;
		}
		w->pcs[n] = f.pc;
		if (stack.is_caller)
			stack.is_caller[n] = !slot->is_signal;
		if (stack.sps)
			stack.sps[n] = f.sp;
		n++;
	}
	w->n = n;
	w->pc = f.pc;
	w->sp = f.sp;
	w->fp = f.fp;
	w->is_fp_known = f.is_fp_known;
	return slot;
}

/* Has the registers of the last frame in pcs worked out, too. */
static int catch_up(struct walk *w)
{
	const struct unwind_slot *slot;
	uint64_t pc;
	int err = 0;

	for (; !err && w->n_whole < w->n - 1; w->n_whole++) {
		pc = w->pcs[w->n_whole];
		err = find(w->code, pc - !w->whole.is_exact, &slot);
		if (!err)
			err = unwind_step(w->code->arch, slot->rules, w->stack, &w->whole);
	}
	return err;
}

static bool read_text(const struct walk *w, uint64_t address, void *buffer, size_t len)
{
	const struct unwind_code *code = w->code;
	const struct sym_stack *stack = w->stack;

	return (code->read_code && code->read_code(code->context, address, buffer, len)) ||
	       (stack->read && !stack->read(stack->read_context, address, buffer, len));
}

/* Is it what signal handlers return to? By its instructions: it may have no rules. */
static bool is_sigreturn(const struct walk *w, uint64_t pc)
{
	const struct cfi_arch *arch = w->code->arch;

	for (size_t i = 0; i < sizeof(arch->sigreturn) / sizeof(*arch->sigreturn); i++) {
		const struct cfi_sigreturn *wanted = &arch->sigreturn[i];
		uint8_t code[sizeof(wanted->code)];

		if (wanted->length && read_text(w, pc, code, wanted->length) &&
		    !memcmp(code, wanted->code, wanted->length))
			return true;
	}
	return false;
}

/* What is no code is no return address. */
static bool is_code(struct unwind_code *code, const struct unwind_frame *frame)
{
	const struct unwind_slot *slot;

	return find(code, frame->regs[code->arch->pc] - 1, &slot) != -ESRCH;
}

/* Can it be a return address? Where its code cannot be read, as that which was compiled at run time, it is taken for one. */
static bool is_behind_call(struct unwind_code *code, uint64_t address)
{
	const struct unwind_return *known = unwind_cache_return(code->cache, address, code->version);
	enum unwind_call call;

	if (known->address == address && known->version == code->version)
		return known->is_behind_call;
	call = unwind_call_ends_at(code->arch, address, code->read_code, code->context);
	if (call == UNWIND_UNREADABLE)
		return true;
	*unwind_cache_return(code->cache, address, code->version) = (struct unwind_return){
		.address = address, .version = code->version, .is_behind_call = call > UNWIND_NO_CALL
	};
	return call > UNWIND_NO_CALL;
}

static bool leads_on(const struct walk *w, const struct unwind_frame *frame)
{
	struct unwind_frame next = *frame;

	return !unwind_step_by_frame_pointer(w->code->arch, w->stack, &next) && is_code(w->code, &next) &&
	       is_behind_call(w->code, next.regs[w->code->arch->pc]);
}

/*
 * Whether the word that the frame pointer led to may be a return address. A frame pointer that was used for something else leads to any word
 * of the stack: that of a function, say, or one that lies within the text. Not behind a call are what signal handlers return to, the end of a
 * first function that nobody called (Go's goexit), and where a runtime has put a call into a function that made none (Go's sigpanic): there
 * the frame after it must be one.
 */
static bool may_return_to(const struct walk *w, const struct unwind_frame *caller)
{
	const struct cfi_arch *arch = w->code->arch;
	uint64_t pc = caller->regs[arch->pc];
	const struct unwind_slot *slot;
	int found = find(w->code, pc - 1, &slot);

	if (found == -ESRCH)
		return false;
	if (!w->code->read_code || (!found && slot->is_signal) || is_behind_call(w->code, pc) ||
	    is_sigreturn(w, pc))
		return true;
	return caller->regs[arch->fp] ? leads_on(w, caller) : found == -ENOENT;
}

static int step_by_frame_pointer(const struct walk *w, struct unwind_frame *caller)
{
	int result;

	*caller = w->whole;
	result = unwind_step_by_frame_pointer(w->code->arch, w->stack, caller);
	return !result && !may_return_to(w, caller) ? -ENOENT : result;
}

/* Only of a call that is at least `wanted`. */
static int step_by_call(const struct walk *w, enum unwind_call wanted, struct unwind_frame *caller)
{
	struct unwind_code *code = w->code;
	uint8_t pc = code->arch->pc;

	*caller = w->whole;
	if (!code->read_code || !w->whole.is_exact || unwind_step_by_top(code->arch, w->stack, caller) ||
	    !is_code(code, caller) ||
	    unwind_call_before(caller->regs[pc], w->whole.regs[pc], code->read_code, code->context) < wanted)
		return -ENOENT;
	return UNWIND_STEPPED;
}

static int step_without_rules(struct walk *w)
{
	struct unwind_frame caller = w->whole;
	int result;

	if (!w->whole.is_exact && unwind_may_be_signal(w->code->arch, w->stack, &w->whole) &&
	    is_sigreturn(w, w->whole.regs[w->code->arch->pc])) {
		result = unwind_step_by_sigreturn(w->code->arch, w->stack, &caller);
		/* Nobody called it. */
		if (w->stack->is_caller)
			w->stack->is_caller[w->n - 1] = false;
		w->whole = caller;
		return result;
	}
	result = step_by_call(w, UNWIND_CALL_TO_HERE, &caller);
	if (result) {
		result = step_by_frame_pointer(w, &caller);
		w->code->n_by_frame_pointer += !result;
	}
	if (result == -ENOENT)
		result = step_by_call(w, UNWIND_CALL_INDIRECT, &caller);
	if (!result)
		w->whole = caller;
	return result;
}

/* A step with all registers, from the last frame in pcs. */
static int step_whole(struct walk *w, int found, const struct unwind_slot *slot)
{
	bool is_behind = w->n_whole < w->n - 1;
	int result;

	if (found == -EBADMSG || found == -ESRCH)
		return -EBADMSG;
	if (found == -EAGAIN)
		return -EFAULT; /* there are rules, which cannot be had now: nothing is guessed */
	if (catch_up(w))
		return -EBADMSG;
	/* Catching up may have put another address's rules into the slot, or freed these. */
	if (!found && is_behind && find(w->code, w->pc - !w->is_exact, &slot))
		return -EBADMSG;
	if (found)
		result = step_without_rules(w);
	else
		result = unwind_step(w->code->arch, slot->rules, w->stack, &w->whole);
	/* Behind a step by frame pointer there may be none but another. */
	if (!found && result == -EFAULT && !is_known(&w->whole, w->code->arch->sp))
		result = step_without_rules(w);
	if (!result)
		follow(w);
	return result;
}

/* One or more steps from the last frame in pcs, whose slot this is if it was found. */
static int step(struct walk *w, int found, const struct unwind_slot *slot)
{
	if (!found && w->is_sp_known) {
		slot = walk_hot(w, slot);
		if (!slot)
			return UNWIND_STEPPED;
	}
	if (!found && slot->rules->is_outermost)
		return UNWIND_START_OF_THREAD;
	return step_whole(w, found, slot);
}

static enum sym_unwind_end end_of(int step_result)
{
	switch (step_result) {
	case UNWIND_STEPPED: /* but no room for it */
	case -EFAULT:
		return SYM_UNWIND_TRUNCATED;
	case UNWIND_START_OF_THREAD:
		return SYM_UNWIND_COMPLETE;
	case -ENOENT:
		return SYM_UNWIND_NO_CFI;
	default:
		return SYM_UNWIND_BAD;
	}
}

size_t unwind_walk(struct unwind_code *code, const struct sym_stack *stack, const struct unwind_frame *frame,
                   uint64_t *pcs, size_t max_pcs, enum sym_unwind_end *end)
{
	struct walk w = { .code = code, .stack = stack, .pcs = pcs, .max = max_pcs, .whole = *frame };
	const struct unwind_slot *slot;
	int result = UNWIND_STEPPED, found;

	follow(&w);
	while (!result && w.n < max_pcs) {
		found = find(code, w.pc - !w.is_exact, &slot);
		/* A pc outside every mapping is no frame: the step that led to it was wrong. */
		if (found == -ESRCH && w.n) {
			result = -EBADMSG;
			break;
		}
		/* Nor is that at which a frame made by the kernel returns the return address of a call. */
		record(&w, !w.is_exact && (found || !slot->is_signal));
		result = step(&w, found, slot);
	}
	*end = end_of(result);
	return w.n;
}
