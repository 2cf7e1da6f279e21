/* Finds the classes of a loop. */

#include "profiler/report/report_loop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_processes.h"

int report_loop_named_step(const char *class)
{
	if (!strcasestr(class, "step"))
		return 0;
	/* PyTorch's own ranges: one is a part of the step, the other has what is left of it. */
	return strncmp(class, "optimizer_", strlen("optimizer_")) && strcmp(class, "profiler_step") ? 2 : 1;
}

/* NULL: no class is named so. */
static const struct loaded_class *named_steps(const struct loaded_classes *classes)
{
	const struct loaded_class *best = NULL;
	int best_named = 0;

	for (size_t i = 0; i < classes->count; i++) {
		int named = classes->rows[i].base ? 0 : report_loop_named_step(classes->rows[i].name);

		if (named > best_named)
			best = &classes->rows[i];
		best_named = named > best_named ? named : best_named;
	}
	return best;
}

static bool comes_as_often(const struct loaded_class *row, const struct loaded_class *steps)
{
	return steps->tags > 1 && 2 * row->tags >= steps->tags;
}

static const struct top_process_class *class_of(const struct top_process *process, const char *name)
{
	for (size_t i = 0; i < process->count; i++)
		if (!strcmp(process->classes[i].name, name))
			return &process->classes[i];
	return NULL;
}

/* Whether most of a class is of threads that have it and the steps in turn, as checkpoints after every hundredth
 * step. */
static bool comes_in_turn(const struct loaded_class *row, const struct loaded_class *steps,
                          const struct top_processes *processes)
{
	int64_t ns = 0;

	for (size_t i = 0; i < processes->count; i++) {
		const struct top_process *process = &processes->processes[i];
		const struct top_process_class *class = class_of(process, row->name);

		if (class && class_of(process, steps->name))
			ns = saturating_add(ns, class->ns);
	}
	return ns > row->wall_ns / 2;
}

#define PROCESSES_MAX 64 /* with steps: of a host's ranks */

static bool has_process(const struct ledger_row *const *found, size_t n, const struct ledger_row *row)
{
	for (size_t i = 0; i < n; i++)
		if (found[i]->pid == row->pid && found[i]->start_ns == row->start_ns)
			return true;
	return false;
}

/* The processes that have the steps: a row of each. */
static size_t list_processes(const struct loaded_profiles *input, const char *steps,
                             const struct ledger_row *found[PROCESSES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ledger_count(input->ledger) && n < PROCESSES_MAX; i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);

		if (!strcmp(row->class, steps) && !has_process(found, n, row))
			found[n++] = row;
	}
	return n;
}

/* `or_none`: those that are none count as one. */
static size_t count_ranks(const struct ledger_row *const *found, size_t n, bool or_none)
{
	size_t ranks = 0;

	for (size_t i = 0; i < n; i++) {
		size_t before = 0;

		while (before < i && found[before]->rank_and_1 != found[i]->rank_and_1)
			before++;
		ranks += (found[i]->rank_and_1 || or_none) && before == i;
	}
	return ranks;
}

static int compare_names(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

static bool is_among(char *const *names, size_t n, const char *class)
{
	return n && bsearch(&class, names, n, sizeof(*names), compare_names);
}

/* The classes of all that these processes have, sorted, some of them several times. The caller frees the array. NULL: no memory. */
static char **list_sharing(const struct loaded_profiles *input, const struct ledger_row *const *with_steps,
                           size_t n_steps, size_t *n)
{
	char **sharing = calloc(ledger_count(input->ledger) + 1, sizeof(*sharing));

	*n = 0;
	for (size_t i = 0; sharing && i < ledger_count(input->ledger); i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);

		if (has_process(with_steps, n_steps, row) &&
		    (!*n || strcmp(sharing[*n - 1], row->class) != 0))
			sharing[(*n)++] = row->class;
	}
	if (sharing)
		qsort(sharing, *n, sizeof(*sharing), compare_names);
	return sharing;
}

static int add(char **names, size_t *n, const char *name)
{
	names[*n] = strdup(name);
	return names[(*n)++] ? 0 : -ENOMEM;
}

/* `shares`: it is in a process that has the steps. */
static int add_class(struct report_loop *loop, const struct loaded_class *row,
                     const struct loaded_class *steps, bool shares, const struct top_processes *processes)
{
	bool often = comes_as_often(row, steps);

	if (row == steps || (often && shares) || comes_in_turn(row, steps, processes))
		return add(loop->names, &loop->n, row->name);
	/* As often, but in another process: it works for the loop, or for something else. */
	return !often && (row->tags > 1 || !shares) ? add(loop->idle, &loop->n_idle, row->name) : 0;
}

int report_loop_find(struct report_loop *loop, const struct loaded_profiles *input,
                     const struct loaded_classes *classes, const struct loaded_class *steps)
{
	const struct ledger_row *with_steps[PROCESSES_MAX] = { NULL };
	struct top_processes processes;
	int err = top_processes_build(&processes, input);
	size_t n, n_sharing;
	char **sharing;

	*loop = (struct report_loop){ .n = 0 };
	if (err)
		return err;
	steps = steps ? steps : named_steps(classes);
	n = steps ? list_processes(input, steps->name, with_steps) : 0;
	loop->n_listed = n;
	loop->n_processes = count_ranks(with_steps, n, true);
	loop->n_ranks = count_ranks(with_steps, n, false);
	sharing = list_sharing(input, with_steps, n, &n_sharing);
	loop->names = calloc(classes->count + 1, sizeof(*loop->names));
	loop->idle = calloc(classes->count + 1, sizeof(*loop->idle));
	err = loop->names && loop->idle && sharing ? 0 : -ENOMEM;
	for (size_t i = 0; steps && i < classes->count && !err; i++) {
		const struct loaded_class *row = &classes->rows[i];

		if (!row->base)
			err = add_class(loop, row, steps,
			                row == steps || is_among(sharing, n_sharing, row->name), &processes);
	}
	if (!err) {
		qsort(loop->names, loop->n, sizeof(*loop->names), compare_names);
		qsort(loop->idle, loop->n_idle, sizeof(*loop->idle), compare_names);
	}
	free(sharing);
	top_processes_free(&processes);
	if (err)
		report_loop_free(loop);
	return err;
}

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void report_loop_free(struct report_loop *loop)
{
	free_names(loop->names, loop->n);
	free_names(loop->idle, loop->n_idle);
	*loop = (struct report_loop){ .n = 0 };
}

bool report_loop_has(const struct report_loop *loop, const char *class)
{
	return is_among(loop->names, loop->n, class);
}

bool report_loop_idles(const struct report_loop *loop, const char *class)
{
	return is_among(loop->idle, loop->n_idle, class);
}
