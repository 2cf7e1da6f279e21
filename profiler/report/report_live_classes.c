/* Keeps classes as a few rows each. */

#include "profiler/report/report_live_classes.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_loop.h"
#include "profiler/report/report_view.h"

/* So many tags are kept of a class of the loop, or as many as processes have it, in each of these; of others one, in another process of those
 * that idle. */
#define LOOP_TAGS 4

static int keep_class(struct ledger *classes, const struct ledger_row *row, const struct report_loop *loop)
{
	bool in_loop = report_loop_has(loop, row->class);
	size_t processes = in_loop && loop->n_processes ? loop->n_processes : 1;
	size_t tags = !in_loop ? 1 : processes > LOOP_TAGS ? processes : LOOP_TAGS;
	uint32_t pid = row->base + 2 * report_loop_idles(loop, row->class);
	struct ledger_row kept = { .tag = row->class, .class = row->class, .base = row->base, .ns = 1 };
	int err = 0;

	for (kept.id = 1; kept.id <= tags && !err; kept.id++) {
		kept.pid = pid + 4 * (uint32_t)((kept.id - 1) % processes);
		if (in_loop && loop->n_ranks > 1)
			kept.rank_and_1 = (uint32_t)((kept.id - 1) % processes) + 1;
		err = ledger_add(classes, &kept);
	}
	return err;
}

static int fill_classes(struct ledger *classes, struct ledger *rows, const struct report_loop *loop)
{
	const struct ledger_row *last = NULL;
	int err = 0;

	for (size_t i = 0; i < ledger_count(rows) && !err; i++) {
		const struct ledger_row *row = ledger_at(rows, i);

		if (!last || last->base != row->base || strcmp(last->class, row->class) != 0)
			err = keep_class(classes, row, loop);
		last = row;
	}
	return err;
}

struct ledger *report_live_classes(const struct loaded_profiles *input)
{
	struct ledger *classes = ledger_new(0);
	struct report_view view = { .n_classes = 0 };
	int err = classes ? report_view_open(&view, input, NULL) : -ENOMEM;

	if (!err || err == -ENODATA)
		err = fill_classes(classes, input->ledger, &view.loop);
	report_view_close(&view);
	if (!err)
		return classes;
	ledger_free(classes);
	errno = -err;
	return NULL;
}

bool report_live_has_class(struct ledger *classes, const char *class)
{
	for (size_t i = 0; i < ledger_count(classes); i++) {
		const struct ledger_row *row = ledger_at(classes, i);

		if (row && !strcmp(row->class, class))
			return true;
	}
	return false;
}
