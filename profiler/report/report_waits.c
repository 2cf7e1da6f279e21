/* Finds what a loop waits for that is no stall, by the ledger, and where, by the samples. */

#include "profiler/report/report_waits.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/frame_names.h"
#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report_loop.h"
#include "profiler/top/top_code.h"

/* From which part of the loop's time on it is told. */
#define LEAST_SHARE 0.1
/* A line that has a stack stands for one that has none and is so many times as heavy. */
#define LINE_PART 8

/* The column of the ledger's table; column_count: nothing was blocked. */
static size_t blocked_column(const struct loaded_classes *classes)
{
	size_t i = 0;

	while (i < classes->column_count && strcmp(classes->columns[i], LOADED_BLOCKED) != 0)
		i++;
	return i;
}

static void find_class(struct report_wait *wait, const struct loaded_classes *classes,
                       const struct report_loop *loop)
{
	size_t blocked = blocked_column(classes);
	int64_t wall_ns = 0;

	for (size_t i = 0; i < classes->count && blocked < classes->column_count; i++) {
		const struct loaded_class *row = &classes->rows[i];

		if (!report_loop_has(loop, row->name))
			continue;
		wall_ns = saturating_add(wall_ns, row->wall_ns);
		if (row->ns[blocked] > wait->ns) {
			wait->class = row->name;
			wait->ns = row->ns[blocked];
		}
	}
	wait->share = wall_ns > 0 ? (double)wait->ns / (double)wall_ns : 0;
	if (wait->share < LEAST_SHARE)
		wait->class = NULL;
}

static void take_chain(struct report_chain *chain, const struct top_code *code)
{
	const struct top_inherited *part = code->inherited;

	*chain = (struct report_chain){ .ns = 0 };
	if (code->n_inherited && part->ns > 0)
		*chain = report_chain_of(&(struct report_chain_parts){ .class = code->class,
		                                                       .kind = code->stall,
		                                                       .waker = part->waker,
		                                                       .from = part->from,
		                                                       .stall = part->stall,
		                                                       .device = part->device,
		                                                       .ns = part->ns });
}

/* Where the stacks of most of a class's waits were not copied, those of the same kind that were say more. */
static const struct top_code *choose_line(const struct top_section *section, const char *class)
{
	const struct top_code *heaviest = NULL;

	for (size_t i = 0; i < section->count; i++) {
		const struct top_code *code = &section->code[i];

		if (strcmp(code->class, class) != 0)
			continue;
		if (!heaviest)
			heaviest = code;
		if (strcmp(code->line, FRAME_NOT_COPIED) != 0 && !strcmp(code->stall, heaviest->stall))
			return code->ns >= heaviest->ns / LINE_PART ? code : heaviest;
	}
	return heaviest;
}

static int64_t ended_by(const struct top_code *code, const char *waker)
{
	for (size_t i = 0; i < code->n_wakers; i++)
		if (!strcmp(code->wakers[i].name, waker))
			return code->wakers[i].ns;
	return 0;
}

/* All waits of a class for the GIL, at whatever line. */
static void take_gil(struct report_wait *wait, const struct top_section *section, const char *waker)
{
	for (size_t i = 0; i < section->count; i++) {
		const struct top_code *code = &section->code[i];

		if (!code->gil || strcmp(code->class, wait->class) != 0)
			continue;
		wait->line_ns = saturating_add(wait->line_ns, code->ns);
		wait->waker_ns = saturating_add(wait->waker_ns, ended_by(code, waker));
	}
}

static void take_line(struct report_wait *wait, const struct top_sections *sections)
{
	const struct top_section *section = sections->count ? &sections->sections[sections->count - 1] : NULL;
	const struct top_code *code = section && section->blocked ? choose_line(section, wait->class) : NULL;

	if (code) {
		snprintf(wait->kind, sizeof(wait->kind), "%s", code->stall);
		snprintf(wait->line, sizeof(wait->line), "%s", code->line);
		wait->gil = code->gil;
		snprintf(wait->waker, sizeof(wait->waker), "%s", code->wakers->name);
		if (code->gil) {
			take_gil(wait, section, code->wakers->name);
		} else {
			wait->line_ns = code->ns;
			wait->waker_ns = code->wakers->ns;
		}
		take_chain(&wait->chain, code);
	}
}

static int find_line(struct report_wait *wait, const struct loaded_profiles *input,
                     const struct loaded_tags *tags)
{
	static const struct loaded_filter waits = { .waits = true };
	int type = profile_find_type(input->profile, "delay"), err;
	struct top_sections sections;

	if (type < 0)
		return 0;
	err = top_sections_build(&sections, input, tags, &waits, (size_t)type, -1);
	if (err)
		return err;
	take_line(wait, &sections);
	top_sections_free(&sections);
	return 0;
}

int report_waits_find(struct report_wait *wait, const struct loaded_profiles *input,
                      const struct loaded_tags *tags, const struct loaded_classes *classes,
                      const struct report_loop *loop)
{
	*wait = (struct report_wait){ .class = NULL };
	find_class(wait, classes, loop);
	return wait->class ? find_line(wait, input, tags) : 0;
}
