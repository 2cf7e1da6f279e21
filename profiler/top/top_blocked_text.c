/* Prints blocked time by kind of wait, from the ledger, where stacks do not tell it. */

#include "profiler/top/top_blocked_text.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"

#define CLASSES_NAMED 3
#define KINDS_MAX     16

struct kinds {
	size_t n;
	const char *names[KINDS_MAX];
	int64_t ns[KINDS_MAX];
};

static void add_kind(struct kinds *kinds, const struct ledger_row *row)
{
	size_t i = 0;

	while (i < kinds->n && strcmp(kinds->names[i], row->cause) != 0)
		i++;
	if (i == KINDS_MAX)
		return;
	kinds->n += i == kinds->n;
	kinds->names[i] = row->cause;
	kinds->ns[i] = saturating_add(kinds->ns[i], row->ns);
}

static int64_t column_of(const struct loaded_classes *classes, const struct loaded_class *class,
                         const char *name)
{
	for (size_t i = 0; i < classes->column_count; i++)
		if (!strcmp(classes->columns[i], name))
			return class->ns[i];
	return 0;
}

/* There may be a hundred thousand without, for each of which the whole ledger would be searched. */
static bool has_waits(const struct loaded_classes *classes, const struct loaded_class *class)
{
	return column_of(classes, class, LOADED_BLOCKED) || column_of(classes, class, LOADED_UNDECIDED);
}

/* False: the ledger does not say what kinds of waits they were. */
static bool find_kinds(const struct top_code_text *what, const struct loaded_class *class,
                       struct kinds *kinds)
{
	struct ledger *ledger = what->input->ledger;
	char name[512];

	*kinds = (struct kinds){};
	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (!row || row->state != LEDGER_BLOCKED || !*row->cause || !row->ns ||
		    !loaded_filter_row(what->filter, row))
			continue;
		loaded_level_name(row, what->filter, name, sizeof(name));
		if (!strcmp(name, class->name))
			add_kind(kinds, row);
	}
	return kinds->n;
}

static void write_kinds(FILE *out, const struct loaded_class *class, const struct kinds *kinds)
{
	char amount[TEXT_DURATION_BYTES];

	fprintf(out, "  %s", class->name);
	for (size_t i = 0; i < kinds->n; i++)
		fprintf(out, "%s%s %s (%.1f %%)", i ? ", " : ": ", kinds->names[i],
		        text_short_duration(amount, kinds->ns[i] > 0 ? (uint64_t)kinds->ns[i] : 0),
		        class->wall_ns ? 100 * (double)kinds->ns[i] / (double)class->wall_ns : 0);
}

static void print_kinds(FILE *out, const struct top_code_text *what, const struct loaded_class *class,
                        const struct kinds *kinds)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	write_kinds(memory, class, kinds);
	if (!fclose(memory)) {
		text_print_clean(out, text, what->columns);
		fputc('\n', out);
	}
	free(text);
}

/* Whether the profile was recorded so that such waits have stacks, if they are long enough. */
static bool has_wait_stacks(const struct top_code_text *what)
{
	struct loaded_sample sample;

	for (size_t i = 0; loaded_sample_get(what->input, what->tags, i, &sample); i++)
		if (sample.is_wait)
			return true;
	return false;
}

size_t top_text_blocked(FILE *out, const struct top_code_text *what)
{
	const struct loaded_classes *classes = what->classes;
	size_t shown = 0;
	struct kinds kinds;

	if (what->on_cpu || what->filter->stall)
		return 0;
	for (size_t i = 0; i < classes->count && shown < CLASSES_NAMED; i++) {
		const struct loaded_class *class = &classes->rows[i];

		if (class->base || !has_waits(classes, class) || !find_kinds(what, class, &kinds))
			continue;
		if (!shown++)
			fprintf(out, "\nblocked (no stall: waits for other threads, timers, peers)%s\n",
			        has_wait_stacks(what) ? "" : "; --waits=long takes stacks");
		print_kinds(out, what, class, &kinds);
	}
	return shown ? shown + 2 : 0;
}

/* --- what the stacks leave over ---------------------------------------------------------------------------- */

static int64_t with_stacks(const struct top_section *section, const char *class)
{
	int64_t ns = 0;

	for (size_t i = 0; i < section->count; i++)
		if (!strcmp(section->code[i].class, class))
			ns = saturating_add(ns, section->code[i].ns);
	return ns;
}

/* Less than a hundredth is not printed, as the stacks' clock differs from the ledger's. */
static void write_rest_of(FILE *out, const struct top_code_text *what, const char *class, int64_t blocked,
                          int64_t with, size_t *told)
{
	uint64_t threshold = what->input->stamp ? stamp_coverage(what->input->stamp).blocked_threshold_ns : 0;
	int64_t without = saturating_subtract(blocked, with);
	char amount[TEXT_DURATION_BYTES], longest[TEXT_DURATION_BYTES];

	if (without <= blocked / 100 || *told >= CLASSES_NAMED)
		return;
	if (!*told && threshold)
		fprintf(out,
		        "  without a stack: waits below the sampling threshold (up to %s; "
		        "see --budget, --threshold-ns): ",
		        text_short_duration(longest, threshold));
	else
		fputs(*told ? ", " : "  without a stack: waits below the sampling threshold: ", out);
	fprintf(out, "%s of %s", text_short_duration(amount, (uint64_t)without), class);
	++*told;
}

/* With a filter for a tag the section has that in place of the classes. */
static void write_rest(FILE *out, const struct top_code_text *what, const struct top_section *section,
                       size_t *told)
{
	int64_t sum = 0;

	for (size_t i = 0; i < what->classes->count; i++) {
		const struct loaded_class *class = &what->classes->rows[i];
		int64_t blocked = column_of(what->classes, class, LOADED_BLOCKED);

		sum = saturating_add(sum, blocked);
		if (!class->base && !what->filter->tag)
			write_rest_of(out, what, class->name, blocked, with_stacks(section, class->name),
			              told);
	}
	if (what->filter->tag)
		write_rest_of(out, what, what->filter->tag, sum, section->ns, told);
}

size_t top_text_blocked_rest(FILE *out, const struct top_code_text *what, const struct top_section *section)
{
	size_t told = 0, size;
	char *text = NULL;
	FILE *memory;

	if (!section->blocked || what->counted || what->filter->focus || what->filter->ignore ||
	    what->filter->stall)
		return 0;
	memory = open_memstream(&text, &size);
	if (!memory)
		return 0;
	write_rest(memory, what, section, &told);
	if (!fclose(memory) && told) {
		text_print_clean(out, text, what->columns);
		fputc('\n', out);
	}
	free(text);
	return told > 0;
}
