/* Prints the lines of code that wait, a section for each cause and device. */

#include "profiler/top/top_code_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/format/text_cells.h"
#include "profiler/top/top_inherited_text.h"
#include "profiler/top/top_blocked_text.h"
#include "profiler/top/top_processes.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"

#define CLASSES_NAMED    3 /* in a section's first line */
#define CALLERS_SHOWN    2
#define DETAIL_LINES_MAX 4    /* below a line of code */
#define LEAST_CLASS      1000 /* … which it has this part of the largest one's time at least for */
#define SECTION_LINES    6    /* what a section should have at least */
#define DETAIL_INDENT    12

/* What is being printed; lines are counted. */
struct page {
	FILE *out;
	const struct top_code_text *what;
	struct loaded_stack *stack;
	size_t lines;
};

/* A time, or a number where the samples are counted. */
static const char *amount_text(char text[TEXT_DURATION_BYTES], const struct top_code_text *what,
                               int64_t value)
{
	uint64_t amount = value > 0 ? (uint64_t)value : 0;

	if (!what->counted)
		return text_short_duration(text, amount);
	snprintf(text, TEXT_DURATION_BYTES, "%" PRIu64, amount);
	return text;
}

static void write_amount(FILE *out, const struct top_code_text *what, int64_t value)
{
	char text[TEXT_DURATION_BYTES];

	fputs(amount_text(text, what, value), out);
}

static double percent(int64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* One line, cut to the terminal. */
static void print_line(struct page *page, size_t indent, const char *prefix, const char *text)
{
	size_t used = indent + text_columns(prefix), columns = page->what->columns;

	fprintf(page->out, "%*s", (int)indent, "");
	text_print_clean(page->out, prefix, 0);
	text_print_clean(page->out, text, columns > used + 1 ? columns - used : columns ? 1 : 0);
	fputc('\n', page->out);
	page->lines++;
}

static uint64_t wall_of(const struct page *page, const char *class)
{
	const struct loaded_classes *classes = page->what->classes;
	const struct loaded_class *row = loaded_classes_find(classes, class);
	uint64_t sum = 0;

	if (!page->what->filter->tag)
		return row ? row->wall_ns : 0;
	for (size_t i = 0; i < classes->count; i++)
		sum += classes->rows[i].wall_ns;
	return sum;
}

/* --- a line of code --------------------------------------------------------------------------------------- */

/* The innermost frame that is neither the kernel's nor folded; own: there is none inside it. */
static size_t innermost(const struct loaded_stack *stack, size_t own)
{
	for (size_t i = 0; i < own; i++)
		if (stack->frames[i].kind != LOADED_FRAME_KERNEL && !loaded_stack_folds(stack, i))
			return i;
	return own;
}

static void print_callers(struct page *page, size_t own)
{
	const struct profile *profile = page->what->input->profile;
	const struct loaded_stack *stack = page->stack;
	char text[CALLERS_SHOWN * LOADED_FRAME_TEXT_MAX] = "", one[LOADED_FRAME_TEXT_MAX];
	size_t used = 0, shown = 0;

	for (size_t i = own + 1; i < stack->n && shown < CALLERS_SHOWN; i++) {
		if (stack->frames[i].library || stack->frames[i].kind == LOADED_FRAME_KERNEL ||
		    loaded_stack_folds(stack, i) || !stack->frames[i].frame ||
		    !strcmp(stack->frames[i].frame->function, "<module>"))
			continue;
		loaded_frame_text(one, sizeof(one), profile, &stack->frames[i]);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", shown++ ? " < " : "", one);
	}
	if (shown)
		print_line(page, DETAIL_INDENT, "from ", text);
}

static void print_details(struct page *page)
{
	const struct profile *profile = page->what->input->profile;
	size_t own = loaded_stack_own(page->stack), inner = innermost(page->stack, own);
	char text[LOADED_FRAME_TEXT_MAX * 2];

	if (inner != own) {
		loaded_frame_text(text, sizeof(text), profile, &page->stack->frames[inner]);
		print_line(page, DETAIL_INDENT, "in ", text);
	}
	loaded_stack_kernel_text(text, sizeof(text), page->stack);
	if (*text && page->stack->frames[own].kind != LOADED_FRAME_KERNEL)
		print_line(page, DETAIL_INDENT, "in ", text);
	print_callers(page, own);
}

static void print_whole_stack(struct page *page)
{
	char text[LOADED_FRAME_TEXT_MAX];

	for (size_t i = 0; i < page->stack->n; i++) {
		loaded_frame_text(text, sizeof(text), page->what->input->profile, &page->stack->frames[i]);
		print_line(page, DETAIL_INDENT, "", text);
	}
}

static void print_code(struct page *page, const struct top_section *section, const struct top_code *code,
                       bool details)
{
	uint64_t wall_ns = wall_of(page, code->class);
	char amount[TEXT_DURATION_BYTES], head[512], share[32] = "", behind[1024], ended[160];
	const char *waker = section->blocked ? code->wakers->name : "";
	struct profile_sample_view view;

	top_waker_text(ended, sizeof(ended), page->what->wakers, waker, code->wakers->ns, code->ns, false);
	if (page->what->counted)
		snprintf(share, sizeof(share), "in ");
	else if (wall_ns)
		snprintf(share, sizeof(share), "%5.1f %% of ", percent(code->ns, wall_ns));
	snprintf(head, sizeof(head), "%8s  %s%s  %s%s%s%s%s", amount_text(amount, page->what, code->ns),
	         share, code->class, section->blocked ? code->stall : "", code->gil ? " (the GIL)" : "",
	         *ended ? ", " : "", ended, section->blocked ? "  " : "");
	print_line(page, 0, head, code->line);
	if (!page->what->counted && top_inherited_text(behind, sizeof(behind), code))
		print_line(page, DETAIL_INDENT, "behind ", behind);
	if (!details || !profile_get_sample(page->what->input->profile, code->sample, &view))
		return;
	loaded_stack_get(page->stack, page->what->input->profile, &view);
	if (page->what->native)
		print_whole_stack(page);
	else
		print_details(page);
}

/* --- a section -------------------------------------------------------------------------------------------- */

struct class_sum {
	const char *class;
	int64_t ns;
	bool base;
};

static int compare_sums(const void *left, const void *right)
{
	const struct class_sum *a = left, *b = right;

	if (a->base != b->base)
		return a->base - b->base;
	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : strcmp(a->class, b->class);
}

/* The classes of a section, heaviest first; the caller frees. NULL without memory. */
static struct class_sum *sum_classes(const struct top_section *section, size_t *n)
{
	struct class_sum *sums = calloc(section->count + 1, sizeof(*sums));

	*n = 0;
	for (size_t i = 0; sums && i < section->count; i++) {
		const struct top_code *code = &section->code[i];
		size_t at = 0;

		while (at < *n && strcmp(sums[at].class, code->class) != 0)
			at++;
		*n += at == *n;
		sums[at].class = code->class;
		sums[at].ns = saturating_add(sums[at].ns, code->ns);
		sums[at].base = code->base;
	}
	if (sums)
		qsort(sums, *n, sizeof(*sums), compare_sums);
	return sums;
}

/* Samples of CPUs lie within a stall, unless --oncpu-hz asked for others; those of other programs say of none. */
static void write_section_name(FILE *out, const struct top_code_text *what, const struct top_section *section)
{
	if (!*section->stall)
		fputs(what->on_cpu ? "on the CPU" : "[no stall]", out);
	else if (what->on_cpu && !strcmp(section->stall, "none"))
		fputs("on the CPU outside of stalls", out);
	else
		fprintf(out, "%s%s", what->on_cpu ? "on the CPU during " : "", section->stall);
	fprintf(out, "%s%s", *section->device ? " on " : "", section->device);
}

static void write_section_head(FILE *out, const struct top_code_text *what, const struct top_section *section)
{
	size_t n, i;
	struct class_sum *sums = sum_classes(section, &n);

	write_section_name(out, what, section);
	fputs(section->blocked ? " (no stall: waits for other threads, timers, peers), " : ", ", out);
	write_amount(out, what, section->ns);
	if (what->counted)
		fprintf(out, " %s", what->counted);
	else if (section->waits)
		fprintf(out, " in %" PRId64 " wait%s", section->waits, section->waits == 1 ? "" : "s");
	for (i = 0; sums && i < n && i < CLASSES_NAMED; i++) {
		fputs(i ? ", " : ": ", out);
		write_amount(out, what, sums[i].ns);
		fprintf(out, " in %s", sums[i].class);
	}
	fputs(n > CLASSES_NAMED ? ", …" : "", out);
	free(sums);
}

static void print_section_head(struct page *page, const struct top_section *section)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	write_section_head(memory, page->what, section);
	if (!fclose(memory))
		print_line(page, 0, "", text);
	free(text);
}

/* Threads of a process that push no tag idle most of the time: that says nothing of the program. */
static bool is_idle(const struct page *page, const struct top_section *section, const struct top_code *code)
{
	const struct loaded_class *row = loaded_classes_find(page->what->classes, code->class);

	return section->blocked && row && row->base;
}

/* Those that stand at `from` and later in `order` were not printed. */
static void print_rest(struct page *page, const struct top_section *section, const size_t *order, size_t from)
{
	int64_t idle_ns = 0, more_ns = 0;
	size_t more = 0;

	for (size_t i = 0; i < section->count; i++) {
		const struct top_code *code = &section->code[order[i]];

		if (is_idle(page, section, code)) {
			idle_ns = saturating_add(idle_ns, code->ns);
		} else if (i >= from) {
			more_ns = saturating_add(more_ns, code->ns);
			more++;
		}
	}
	if (!more && !idle_ns)
		return;
	fputs("          and ", page->out);
	if (more) {
		write_amount(page->out, page->what, more_ns);
		fprintf(page->out, " from %zu more line%s of code", more, more == 1 ? "" : "s");
	}
	fputs(more && idle_ns ? ", " : "", page->out);
	if (idle_ns) {
		write_amount(page->out, page->what, idle_ns);
		fputs(" of threads that idle under no tag of their own", page->out);
	}
	fputc('\n', page->out);
	page->lines++;
}

static bool is_among(const size_t *order, size_t n, size_t index)
{
	while (n && order[n - 1] != index)
		n--;
	return n;
}

/* Puts the heaviest line of a class next into the order, of `n` so far. */
static size_t order_class(const struct top_section *section, const char *class, size_t *order, size_t n)
{
	size_t i = 0;

	while (strcmp(section->code[i].class, class) != 0)
		i++;
	order[n] = i;
	return n + 1;
}

/*
 * The order to print lines of code in: heaviest first, as they are. Where only `some` have room, of waits that are no stalls each class's
 * heaviest comes before all others, first of the classes that a thread has in turn: workers that idle have more of those waits than the
 * loop that waits for them. Returns how many come first.
 */
static size_t order_code(const struct page *page, const struct top_section *section, bool some, size_t *order)
{
	size_t classes, n = 0, first;
	struct class_sum *sums = section->blocked && some ? sum_classes(section, &classes) : NULL;

	for (int in_turn = 1; sums && in_turn >= 0; in_turn--)
		for (size_t c = 0; c < classes && n < CLASSES_NAMED && !sums[c].base; c++)
			if (sums[c].ns >= sums[0].ns / LEAST_CLASS &&
			    top_processes_have(page->what->processes, sums[c].class) == in_turn)
				n = order_class(section, sums[c].class, order, n);
	free(sums);
	first = n;
	for (size_t i = 0; i < section->count; i++)
		if (!is_among(order, first, i))
			order[n++] = i;
	return first;
}

/* At most so many lines; 0: no bound. */
static void print_section(struct page *page, const struct top_section *section, size_t lines)
{
	size_t limit = page->what->limit ? page->what->limit : SIZE_MAX, end = page->lines + lines, ahead, i;
	size_t *order = malloc((section->count + 1) * sizeof(*order));

	print_section_head(page, section);
	if (!lines || lines > 3)
		page->lines += top_text_blocked_rest(page->out, page->what, section);
	if (!order)
		return;
	ahead = order_code(page, section, lines, order);
	for (i = 0; i < section->count && i < limit; i++) {
		const struct top_code *code = &section->code[order[i]];
		/* One line is kept for the rest, and one for each class that is to come. Whole stacks take what they need. */
		size_t kept = 1 + (i + 1 < ahead ? ahead - i - 1 : 0);
		size_t taken = page->lines < end ? page->lines : end, left = lines ? end - taken : SIZE_MAX;

		if (is_idle(page, section, code))
			continue;
		if (left < 2)
			break;
		print_code(page, section, code, left > kept + DETAIL_LINES_MAX || page->what->native);
	}
	print_rest(page, section, order, i);
	free(order);
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static void print_also(struct page *page, const struct top_section *sections, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	fputs("also (-n 0 shows all) ", memory);
	for (size_t i = 0; i < n && i < 2 * CLASSES_NAMED; i++) {
		fputs(i ? ", " : "", memory);
		write_section_name(memory, page->what, &sections[i]);
		fputc(' ', memory);
		write_amount(memory, page->what, sections[i].ns);
	}
	fputs(n > 2 * CLASSES_NAMED ? ", …" : "", memory);
	if (!fclose(memory)) {
		fputc('\n', page->out);
		page->lines++;
		print_line(page, 0, "", text);
	}
	free(text);
}

/* How many of the stalls, which come heaviest first, are worth a section of their own. */
static size_t worth_showing(const struct top_section *sections, size_t n)
{
	int64_t sum = 0;
	size_t shown = 0;

	for (size_t i = 0; i < n; i++)
		sum = saturating_add(sum, sections[i].ns);
	while (shown < n && sections[shown].ns >= sum / 100)
		shown++;
	return shown;
}

static bool has_blocked_stacks(const struct top_sections *sections)
{
	return sections->count && sections->sections[sections->count - 1].blocked;
}

/* Prints the first stalls, and what is blocked, in so many lines. */
static void print_within(struct page *page, const struct top_sections *sections, size_t lines)
{
	size_t blocked = has_blocked_stacks(sections), stalls = sections->count - blocked;
	size_t room = lines / SECTION_LINES ? lines / SECTION_LINES : 1, shown, each;

	shown = stalls + blocked <= room ? stalls : room > blocked ? room - blocked : 1;
	if (shown > worth_showing(sections->sections, stalls))
		shown = worth_showing(sections->sections, stalls);
	if (shown < stalls)
		lines = lines > 2 ? lines - 2 : 0;
	each = shown + blocked ? lines / (shown + blocked) : 0;
	each = each > TOP_SECTION_LINES_MAX + 1 ? TOP_SECTION_LINES_MAX : each > 3 ? each - 1 : 2;
	for (size_t i = 0; i < sections->count; i++) {
		if (i >= shown && !sections->sections[i].blocked)
			continue;
		fputc('\n', page->out);
		page->lines++;
		print_section(page, &sections->sections[i], each);
	}
	if (shown < stalls)
		print_also(page, sections->sections + shown, stalls - shown);
}

size_t top_text_sections(FILE *out, const struct top_code_text *what, const struct top_sections *sections,
                         size_t lines)
{
	struct page page = { .out = out, .what = what, .stack = malloc(sizeof(*page.stack)) };

	if (!page.stack)
		return 0;
	if (lines) {
		print_within(&page, sections, lines);
	} else {
		for (size_t i = 0; i < sections->count; i++) {
			fputc('\n', out);
			page.lines++;
			print_section(&page, &sections->sections[i], 0);
		}
	}
	if (!has_blocked_stacks(sections))
		page.lines += top_text_blocked(out, what);
	free(page.stack);
	return page.lines;
}
