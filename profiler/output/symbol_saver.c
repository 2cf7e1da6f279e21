/* Symbol saver: writes the symbolizer's index in a thread of its own. */

#include "profiler/output/symbol_saver.h"

#include <stdlib.h>
#include <time.h>

#include "profiler/output/outbox.h"
#include "symbolizer/base/clock.h"

struct symbol_saver {
	struct outbox *box;
	struct sym_beside beside;
};

static enum outbox_result deliver(void *ctx, void *item, bool last)
{
	struct sym_job *job = item;

	(void)ctx, (void)last;
	job->work(job);
	return OUTBOX_DONE;
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	struct sym_job *job = item;

	(void)ctx, (void)why;
	job->drop(job);
}

static void take(void *context, struct sym_job *job)
{
	struct symbol_saver *saver = context;

	outbox_put(saver->box, job, job->bytes, false);
}

struct symbol_saver *symbol_saver_new(void)
{
	const struct outbox_opts opts = { .name = "stallprof-index",
		                          .max_items = SYMBOL_SAVER_JOBS,
		                          .max_bytes = SYMBOL_SAVER_BYTES,
		                          .deliver = deliver,
		                          .drop = drop };
	struct symbol_saver *saver = calloc(1, sizeof(*saver));

	if (!saver)
		return NULL;
	saver->box = outbox_new(&opts);
	saver->beside = (struct sym_beside){ .take = take, .context = saver };
	if (saver->box)
		return saver;
	free(saver);
	return NULL;
}

const struct sym_beside *symbol_saver_beside(const struct symbol_saver *saver)
{
	return saver ? &saver->beside : NULL;
}

static void on_gone(void *ctx, struct outbox *box)
{
	(void)ctx; /* of which its jobs need nothing */
	outbox_free(box);
}

void symbol_saver_free(struct symbol_saver *saver, uint64_t wait_ns)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	uint64_t until = monotonic_ns() + wait_ns;

	if (!saver)
		return;
	outbox_end(saver->box);
	while (!outbox_has_ended(saver->box) && monotonic_ns() < until)
		nanosleep(&step, NULL);
	if (!outbox_leave(saver->box, on_gone))
		outbox_free(saver->box);
	free(saver);
}
