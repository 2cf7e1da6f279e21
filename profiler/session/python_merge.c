/* Replaces evaluator frames of a native stack by the Python frames they ran. */

#include "profiler/session/python_merge.h"

#include "bpf/abi.h"
#include "symbolizer/python/python.h"

struct merge {
	const struct python_stacks *stacks;
	struct python_shown_frame *out;
	size_t n;
	size_t at;     /* the next Python frame */
	bool replaced; /* the last native frame was an evaluator, and is not shown */
};

/* The frame's kind. SYM_PYTHON_EVALUATOR_AND_CALLED also marks the frame inside it, as called by the evaluator. */
static enum sym_python_native kind_of(const struct python_stacks *stacks, size_t i)
{
	if (stacks->kinds[i] == SYM_PYTHON_EVALUATOR_AND_CALLED)
		return SYM_PYTHON_EVALUATOR;
	if (stacks->kinds[i] == SYM_PYTHON_NOT_EVALUATOR && i + 1 < stacks->n_native &&
	    stacks->kinds[i + 1] == SYM_PYTHON_EVALUATOR_AND_CALLED)
		return SYM_PYTHON_EVALUATOR_PART;
	return stacks->kinds[i];
}

static void show(struct merge *m, enum python_shown what, size_t index)
{
	m->out[m->n++] = (struct python_shown_frame){ .what = what, .index = (uint32_t)index };
}

/* The Python frames of one evaluator. One without code stands for an evaluator that has none. */
static void show_group(struct merge *m)
{
	bool entry = false;

	for (; m->at < m->stacks->n_frames && !entry; m->at++) {
		const struct abi_python_frame *frame = &m->stacks->frames[m->at];

		entry = frame->flags & ABI_PYTHON_ENTRY;
		if (frame->code)
			show(m, PYTHON_SHOWN_PYTHON, m->at);
	}
	if (m->at == m->stacks->n_frames && m->stacks->python_cut)
		show(m, PYTHON_SHOWN_PYTHON_CUT, 0);
}

static size_t count_groups(const struct python_stacks *stacks)
{
	size_t n = 0, i;

	for (i = 0; i < stacks->n_frames; i++)
		n += i + 1 == stacks->n_frames || stacks->frames[i].flags & ABI_PYTHON_ENTRY;
	return n;
}

static size_t count_evaluators(const struct python_stacks *stacks)
{
	size_t n = 0, i;

	for (i = 0; i < stacks->n_native; i++)
		n += kind_of(stacks, i) == SYM_PYTHON_EVALUATOR;
	return n;
}

/* How many evaluators, and how many groups, have no partner at the innermost end. */
struct pairing {
	size_t evaluators, groups;
};

static struct pairing pair(const struct python_stacks *stacks, size_t evaluators, size_t groups)
{
	struct pairing alone = { 0, 0 };

	if (stacks->native_cut || stacks->python_cut)
		return alone;
	if (evaluators > groups)
		alone.evaluators = evaluators - groups;
	else
		alone.groups = groups - evaluators;
	return alone;
}

static size_t unmatched_of(const struct python_stacks *stacks, size_t evaluators, size_t groups)
{
	if (evaluators > groups)
		return stacks->python_cut ? 0 : evaluators - groups;
	return stacks->native_cut ? 0 : groups - evaluators;
}

/* An evaluator, or what it called to do its work for it. */
static void show_evaluator(struct merge *m, struct pairing *alone, size_t i)
{
	if (alone->evaluators || m->at == m->stacks->n_frames) {
		show(m, PYTHON_SHOWN_NATIVE, i);
		if (kind_of(m->stacks, i) == SYM_PYTHON_EVALUATOR && alone->evaluators)
			alone->evaluators--;
		return;
	}
	if (kind_of(m->stacks, i) == SYM_PYTHON_EVALUATOR_PART)
		return;
	for (; alone->groups; alone->groups--)
		show_group(m);
	show_group(m);
	m->replaced = true;
}

static void show_native(struct merge *m, struct pairing *alone, size_t i)
{
	enum sym_python_native kind = kind_of(m->stacks, i);
	bool has_callee = m->replaced;

	m->replaced = false;
	if (kind != SYM_PYTHON_NOT_EVALUATOR && kind != SYM_PYTHON_EVALUATOR_CALLER)
		show_evaluator(m, alone, i);
	else if (kind == SYM_PYTHON_NOT_EVALUATOR || !has_callee)
		show(m, PYTHON_SHOWN_NATIVE, i);
}

size_t python_merge(const struct python_stacks *stacks, struct python_shown_frame *out, size_t *unmatched)
{
	struct merge m = { .stacks = stacks, .out = out };
	size_t evaluators = count_evaluators(stacks), groups = count_groups(stacks), i;
	struct pairing alone = pair(stacks, evaluators, groups);

	for (i = 0; i < stacks->n_native; i++)
		show_native(&m, &alone, i);
	if (stacks->native_cut)
		show(&m, PYTHON_SHOWN_NATIVE_CUT, 0);
	while (m.at < stacks->n_frames && (stacks->native_cut || !evaluators))
		show_group(&m);
	*unmatched = unmatched_of(stacks, evaluators, groups);
	return m.n;
}
