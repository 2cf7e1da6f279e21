/* Finds the classes of a loop. */

#include "profiler/report/report_loop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_processes.h"

/* NULL: no class is named so. */
static const struct loaded_class *named_steps(const struct loaded_classes *classes)
{
	for (size_t i = 0; i < classes->count; i++)
		if (!classes->rows[i].base && strcasestr(classes->rows[i].name, "step"))
			return &classes->rows[i];
	return NULL;
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

static int add(struct report_loop *loop, const char *name)
{
	loop->names[loop->n] = strdup(name);
	return loop->names[loop->n++] ? 0 : -ENOMEM;
}

int report_loop_find(struct report_loop *loop, const struct loaded_profiles *input,
                     const struct loaded_classes *classes, const struct loaded_class *steps)
{
	struct top_processes processes;
	int err = top_processes_build(&processes, input);

	*loop = (struct report_loop){ .n = 0 };
	if (err)
		return err;
	steps = steps ? steps : named_steps(classes);
	loop->names = calloc(classes->count + 1, sizeof(*loop->names));
	err = loop->names ? 0 : -ENOMEM;
	for (size_t i = 0; steps && i < classes->count && !err; i++) {
		const struct loaded_class *row = &classes->rows[i];

		if (row == steps ||
		    (!row->base && (comes_as_often(row, steps) || comes_in_turn(row, steps, &processes))))
			err = add(loop, row->name);
	}
	top_processes_free(&processes);
	if (err)
		report_loop_free(loop);
	return err;
}

void report_loop_free(struct report_loop *loop)
{
	for (size_t i = 0; i < loop->n; i++)
		free(loop->names[i]);
	free(loop->names);
	*loop = (struct report_loop){ .n = 0 };
}

bool report_loop_has(const struct report_loop *loop, const char *class)
{
	for (size_t i = 0; i < loop->n; i++)
		if (!strcmp(loop->names[i], class))
			return true;
	return false;
}
