/* Sums samples of two sides by name and window. */

#include "profiler/diff/diff_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"

struct named_row {
	struct diff_row row;
	UT_hash_handle hh;
};

struct diff_names {
	struct named_row *first;
	struct loaded_stack stack; /* too large for the C stack */
};

/* A sample that is being added. */
struct adding {
	struct diff_table *table;
	const struct diff_sample *sample;
	const struct loaded_stack *stack; /* NULL: names are no frames */
	size_t frame;                     /* which the next name is of */
};

const char *diff_verdict_name(enum diff_verdict verdict)
{
	static const char *const names[] = {
		"same", "small", "within noise", "no bounds", "better", "worse"
	};

	return names[verdict];
}

int diff_table_init(struct diff_table *table, enum top_by by, bool native)
{
	*table = (struct diff_table){ .by = by,
		                      .native = native,
		                      .by_name = calloc(1, sizeof(struct diff_names)) };
	return table->by_name ? 0 : -ENOMEM;
}

static void row_free(struct named_row *named)
{
	diff_points_free(&named->row.points[0]);
	diff_points_free(&named->row.points[1]);
	free(named->row.name);
	free(named);
}

void diff_table_free(struct diff_table *table)
{
	struct named_row *row = table->by_name ? table->by_name->first : NULL, *next;

	if (row)
		HASH_CLEAR(hh, table->by_name->first);
	for (; row; row = next) {
		next = row->hh.next;
		row_free(row);
	}
	free(table->by_name);
	free(table->rows);
	*table = (struct diff_table){ .count = 0 };
}

struct diff_row *diff_table_find(const struct diff_table *table, const char *name)
{
	struct named_row *row;

	HASH_FIND_STR(table->by_name->first, name, row);
	return row ? &row->row : NULL;
}

/* --- lines by the end of their paths ----------------------------------------------------------------------- */

/* As `top` cuts long paths. */
#define CUT "…/"

/* Whether `line` ends in `place`, "FILE:LINE", as a whole path or from a slash on. */
static bool ends_in(const char *line, const char *place)
{
	size_t length = strlen(line), end;

	place += strncmp(place, CUT, strlen(CUT)) ? 0 : strlen(CUT);
	end = strlen(place);
	return end && length > end && !strcmp(line + length - end, place) &&
	       strchr("/ ", line[length - end - 1]);
}

/* Functions have blanks in their names, as paths may: each is tried for the one between them. */
static bool line_matches(const char *line, const char *name)
{
	if (ends_in(line, name))
		return true;
	for (const char *blank = strchr(name, ' '); blank; blank = strchr(blank + 1, ' ')) {
		size_t function = (size_t)(blank - name) + 1;

		if (!strncmp(line, name, function) && ends_in(line + function - 1, blank + 1))
			return true;
	}
	return false;
}

struct diff_row *diff_table_match(const struct diff_table *table, const char *name, size_t *count)
{
	struct diff_row *row = diff_table_find(table, name), *found = NULL;

	*count = row != NULL;
	if (row || table->by != TOP_BY_LINE)
		return row;
	for (size_t i = 0; i < table->count + table->folded; i++)
		if (line_matches(table->rows[i]->name, name)) {
			found = table->rows[i];
			++*count;
		}
	return *count == 1 ? found : NULL;
}

/* "train.py:62" of "save /work/train.py:62". */
static const char *place_of(const char *line)
{
	const char *slash = strrchr(line, '/'), *blank = strrchr(line, ' ');

	return slash ? slash + 1 : blank ? blank + 1 : line;
}

const char *diff_table_near(char text[NEAR_NAMES_BYTES], const struct diff_table *table, const char *name)
{
	bool lines = table->by == TOP_BY_LINE;
	struct near_names near = { .wanted = lines ? place_of(name) : name };
	size_t matching;

	diff_table_match(table, name, &matching);
	for (size_t i = 0; i < table->count + table->folded; i++) {
		const char *row = table->rows[i]->name;

		if (!matching || line_matches(row, name))
			near_names_look(&near, lines ? place_of(row) : row, row);
	}
	return near_names_text(text, &near);
}

static struct diff_row *row_new(struct diff_table *table, const char *name)
{
	struct named_row *named = calloc(1, sizeof(*named));
	struct diff_row **rows;

	if (!named)
		return NULL;
	named->row.name = strdup(name);
	rows = table->count & (table->count - 1)
	               ? table->rows
	               : realloc(table->rows,
	                         (table->count ? table->count * 2 : 1) * sizeof(struct diff_row *));
	table->rows = rows ? rows : table->rows;
	if (named->row.name && rows)
		HASH_ADD_KEYPTR(hh, table->by_name->first, named->row.name, strlen(name), named);
	if (!named->hh.tbl) {
		row_free(named);
		return NULL;
	}
	table->rows[table->count++] = &named->row;
	return &named->row;
}

static struct diff_row *find_or_add(struct diff_table *table, const char *name)
{
	struct diff_row *row = diff_table_find(table, name);

	return row ? row : row_new(table, name);
}

/* Looks at the frame that the next name is of: names come as the stack's frames do. Native frames below Python's are of its
 * libraries. */
static void look_at_frame(struct adding *adding, struct diff_row *row)
{
	const struct loaded_stack *stack = adding->stack;
	size_t at = adding->frame++;
	bool folds = stack && at < stack->n && loaded_stack_folds(stack, at);

	row->seen |= !folds;
	row->code |= stack && at < stack->n && stack->frames[at].kind != LOADED_FRAME_KERNEL &&
	             !stack->frames[at].library && !folds;
}

static int add_name(void *context, const char *name, bool is_leaf)
{
	struct adding *adding = context;
	const struct diff_sample *sample = adding->sample;
	struct diff_row *row = find_or_add(adding->table, name);

	if (!row)
		return -ENOMEM;
	look_at_frame(adding, row);
	if (is_leaf)
		row->flat[sample->side] += sample->value;
	if (row->last_sample == sample->number)
		return 0;
	row->last_sample = sample->number;
	row->classes |= 1ull << sample->class;
	return diff_points_add(&row->points[sample->side], sample->window, sample->value);
}

static int add_own(struct diff_table *table, const struct diff_sample *sample)
{
	const struct loaded_stack *stack = &table->by_name->stack;
	const struct profile *profile = sample->input->profile;
	const struct loaded_frame *frame;
	struct diff_row *row;
	char text[8192];

	if (!stack->n)
		return 0;
	frame = &stack->frames[loaded_stack_own(stack)];
	if (frame->frame)
		top_frame_name(text, sizeof(text), frame->frame, table->by == TOP_BY_LINE);
	else
		loaded_address_text(text, sizeof(text), profile, &frame->location);
	row = find_or_add(table, text);
	if (!row)
		return -ENOMEM;
	row->own[sample->side] += sample->value;
	row->seen = true;
	return 0;
}

/* Where names are no frames, all of a sample is the name's own. */
int diff_table_add(struct diff_table *table, const struct diff_sample *sample)
{
	bool frames = table->by == TOP_BY_FUNCTION || table->by == TOP_BY_LINE;
	bool folds = table->by == TOP_BY_STACK && !table->native;
	struct loaded_stack *stack = &table->by_name->stack;
	struct adding adding = { .table = table, .sample = sample, .stack = frames ? stack : NULL };
	int err;

	if (frames || folds)
		loaded_stack_get(stack, sample->input->profile, &sample->sample->view);
	err = top_names_visit(sample->input, sample->sample, table->by, folds ? stack : NULL, add_name,
	                      &adding);
	return err || !frames ? err : add_own(table, sample);
}

void diff_table_fold(struct diff_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count && !table->native; i++) {
		struct diff_row *row = table->rows[i];

		if (!row->seen && !row->wanted)
			continue;
		table->rows[i] = table->rows[kept];
		table->rows[kept++] = row;
	}
	if (table->native)
		return;
	table->folded = table->count - kept;
	table->count = kept;
}

/* --- order ------------------------------------------------------------------------------------------------ */

static int descending(double a, double b)
{
	return (b > a) - (b < a);
}

static int compare_rows(const void *left, const void *right)
{
	const struct diff_row *a = *(struct diff_row *const *)left, *b = *(struct diff_row *const *)right;
	int order = (b->verdict >= DIFF_BETTER) - (a->verdict >= DIFF_BETTER);

	if (!order && a->verdict >= DIFF_BETTER) {
		order = b->code - a->code;
		order = order ? order : descending(a->score, b->score);
	}
	order = order ? order : descending(a->own_change, b->own_change);
	order = order ? order : descending(a->change, b->change);
	return order ? order : strcmp(a->name, b->name);
}

void diff_table_sort(struct diff_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		struct diff_row *row = table->rows[i];
		double size = fmax(fabs(row->bound.value[0]), fabs(row->bound.value[1]));

		row->own_change = fabs(row->own[1] * row->per[1] - row->own[0] * row->per[0]);
		row->change = fabs(row->bound.value[1] - row->bound.value[0]);
		row->score = size > 0 ? row->change * row->change / size : 0;
	}
	if (table->count)
		qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
}

#define REPEATS_WITHIN 200 /* rows: equal ones lie near each other */

static bool has_own(const struct diff_row *row)
{
	return row->own[0] > 0 || row->own[1] > 0;
}

static bool repeats(const struct diff_row *row, const struct diff_row *other)
{
	for (int s = 0; s < 2; s++)
		if (row->bound.value[s] < other->bound.value[s] ||
		    row->bound.value[s] > other->bound.value[s])
			return false;
	return true;
}

size_t diff_table_show(struct diff_table *table, const struct diff_row *total, size_t limit)
{
	bool frames = table->by == TOP_BY_FUNCTION || table->by == TOP_BY_LINE;
	size_t shown = 0;

	for (size_t i = 0; i < table->count; i++) {
		struct diff_row *row = table->rows[i];
		bool repeated = frames && !has_own(row) && !row->wanted && repeats(row, total);

		for (size_t k = i > REPEATS_WITHIN ? i - REPEATS_WITHIN : 0;
		     k < i && frames && !repeated && !has_own(row) && !row->wanted; k++)
			repeated = table->rows[k]->shown && repeats(row, table->rows[k]);
		row->repeated = repeated;
		row->shown = !repeated && (!limit || shown < limit);
		shown += row->shown;
	}
	return shown;
}
