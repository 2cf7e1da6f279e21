/* Walks the Python frames of a thread. */
#include <errno.h>
#include <string.h>

#include "symbolizer/python/python.h"

/* A list that has more is a ring, or no list. */
#define MAX_INTERPRETERS 64
#define MAX_THREADS      65536 /* of all interpreters */
#define MAX_FRAME_BYTES  256

struct walk {
	const struct sym_python_layout *layout;
	sym_python_read read;
	void *context;
	struct sym_python_step *steps;
	size_t max, n;
	size_t max_frames, frames, threads; /* looked at */
	bool open; /* the step before belongs to an evaluator whose entry has not been seen */
};

static int read_word(const struct walk *w, uint64_t address, uint64_t *out)
{
	return w->read(w->context, address, out, sizeof(*out));
}

/* --- from frame to frame ------------------------------------------------------------------------ */

static uint64_t word_at(const uint8_t *bytes, uint16_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static uint64_t instr_of(const struct sym_python_layout *l, const uint8_t *frame)
{
	int32_t lasti;

	if (!l->is_lasti)
		return word_at(frame, l->frame_instr);
	memcpy(&lasti, frame + l->frame_instr, sizeof(lasti));
	return (uint64_t)(int64_t)lasti;
}

static int fingerprint_of(const struct walk *w, uint64_t code, uint64_t *out)
{
	const struct sym_python_layout *l = w->layout;
	uint64_t name, filename, linetable;
	uint32_t firstlineno;
	int err = read_word(w, code + l->code_name, &name);

	if (!err)
		err = read_word(w, code + l->code_filename, &filename);
	if (!err)
		err = read_word(w, code + l->code_linetable, &linetable);
	if (!err)
		err = w->read(w->context, code + l->code_firstlineno, &firstlineno, sizeof(firstlineno));
	if (!err)
		*out = sym_python_fingerprint(name, filename, linetable, firstlineno);
	return err;
}

static int add_step(struct walk *w, const struct sym_python_step *step)
{
	if (w->n == w->max)
		return -ELOOP;
	w->steps[w->n++] = *step;
	w->open = !step->is_entry;
	return 0;
}

/* The evaluator's own frame: its last step is the one before, if it has any. */
static int close_evaluator(struct walk *w)
{
	const struct sym_python_step nothing = { .is_entry = true };

	if (!w->open)
		return add_step(w, &nothing);
	w->steps[w->n - 1].is_entry = true;
	w->open = false;
	return 0;
}

static int take_frame(struct walk *w, const uint8_t *frame)
{
	const struct sym_python_layout *l = w->layout;
	struct sym_python_step step = { .code = word_at(frame, l->frame_executable) & l->executable_mask,
		                        .instr = instr_of(l, frame) };
	int err;

	if (l->frame_owner != SYM_PYTHON_ABSENT && frame[l->frame_owner] >= l->shim_owner)
		return close_evaluator(w);
	if (l->frame_owner == SYM_PYTHON_ABSENT)
		step.is_entry = l->frame_entry == SYM_PYTHON_ABSENT || frame[l->frame_entry];
	err = fingerprint_of(w, step.code, &step.fingerprint);
	return err ? err : add_step(w, &step);
}

static int walk_frames(struct walk *w, uint64_t at)
{
	uint8_t frame[MAX_FRAME_BYTES];
	int err = 0;

	while (!err && at && w->frames++ < w->max_frames) {
		err = w->read(w->context, at, frame, w->layout->frame_size);
		if (!err)
			err = take_frame(w, frame);
		at = word_at(frame, w->layout->frame_previous);
	}
	return err;
}

/* --- from the runtime to the thread's frames ---------------------------------------------------- */

static int thread_frame(const struct walk *w, uint64_t tstate, uint64_t *frame)
{
	const struct sym_python_layout *l = w->layout;
	int err = read_word(w, tstate + l->tstate_frame, frame);

	if (!err && *frame && l->cframe_current_frame != SYM_PYTHON_ABSENT)
		err = read_word(w, *frame + l->cframe_current_frame, frame);
	return err;
}

/* *frame 0: this interpreter has no state of that thread, or one that runs nothing. */
static int find_in_interpreter(struct walk *w, uint64_t interpreter, uint64_t thread_id, uint64_t *frame)
{
	const struct sym_python_layout *l = w->layout;
	uint64_t tstate, id;
	int err = read_word(w, interpreter + l->interp_threads_head, &tstate);

	*frame = 0;
	while (!err && tstate && w->threads++ < MAX_THREADS) {
		err = read_word(w, tstate + l->tstate_thread_id, &id);
		if (!err && id == thread_id) {
			err = thread_frame(w, tstate, frame);
			if (err || *frame)
				return err;
		}
		if (!err)
			err = read_word(w, tstate + l->tstate_next, &tstate);
	}
	return err;
}

static int walk_interpreters(struct walk *w, uint64_t thread_id)
{
	const struct sym_python_layout *l = w->layout;
	uint64_t interpreter, frame;
	bool found = false;
	int err = read_word(w, l->runtime + l->interpreters_head, &interpreter), i;

	for (i = 0; !err && interpreter && i < MAX_INTERPRETERS; i++) {
		err = find_in_interpreter(w, interpreter, thread_id, &frame);
		if (!err && frame) {
			found = true;
			err = walk_frames(w, frame);
		}
		if (!err)
			err = read_word(w, interpreter + l->interp_next, &interpreter);
	}
	return err || found ? err : -ESRCH;
}

int sym_python_walk(const struct sym_python_layout *layout, sym_python_read read, void *context,
                    uint64_t thread_id, struct sym_python_step *steps, size_t max, size_t *n)
{
	struct walk w = { .layout = layout,
		          .read = read,
		          .context = context,
		          .steps = steps,
		          .max = max,
		          .max_frames = max * 2 + 2 }; /* shims may leave no step behind */
	int err;

	*n = 0;
	if (layout->frame_size > MAX_FRAME_BYTES)
		return -ENOTSUP;
	err = walk_interpreters(&w, thread_id);
	*n = w.n;
	return err;
}
