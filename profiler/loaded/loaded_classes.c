/* Sums the ledger by class or tag into a table, with percentiles of steps. */

#include "profiler/loaded/loaded_classes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_steps.h"
#include "symbolizer/base/compare.h"

/* Two columns go before the causes, three after them, one stands for causes that found no room. */
#define CAUSES_MAX (LOADED_COLUMNS_MAX - 6)

#define NAME_MAX_BYTES 512

/* --- columns ---------------------------------------------------------------------------------------------- */

static int compare_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool find_column(const struct loaded_classes *table, const char *name, size_t *index)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (!strcmp(table->columns[i], name)) {
			*index = i;
			return true;
		}
	}
	return false;
}

static bool is_undecided(const struct ledger_row *row)
{
	return row->state == LEDGER_BLOCKED && !strcmp(row->cause, LOADED_UNDECIDED);
}

static const char *column_name(const struct ledger_row *row)
{
	if (row->state == LEDGER_STALL && *row->cause)
		return row->cause;
	return is_undecided(row) ? LOADED_UNDECIDED : ledger_state_name(row->state);
}

static void add_column(struct loaded_classes *table, const char *name)
{
	table->columns[table->column_count++] = name;
}

/* In their order, for the rows that occur. */
static void make_columns(struct loaded_classes *table, struct ledger *ledger,
                         const struct loaded_filter *filter)
{
	bool undecided = false, unobserved = false, others = false;
	size_t index;

	add_column(table, ledger_state_name(LEDGER_ONCPU));
	add_column(table, ledger_state_name(LEDGER_RUNQUEUE));
	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (!row->ns || !loaded_filter_row(filter, row))
			continue;
		undecided |= is_undecided(row);
		unobserved |= row->state == LEDGER_UNOBSERVED;
		if (row->state != LEDGER_STALL || find_column(table, column_name(row), &index))
			continue;
		if (*row->cause && table->column_count < CAUSES_MAX + 2)
			add_column(table, row->cause);
		else
			others = true;
	}
	qsort(table->columns + 2, table->column_count - 2, sizeof(table->columns[0]), compare_text);
	if (others)
		add_column(table, ledger_state_name(LEDGER_STALL));
	add_column(table, ledger_state_name(LEDGER_BLOCKED));
	if (undecided)
		add_column(table, LOADED_UNDECIDED);
	if (unobserved)
		add_column(table, ledger_state_name(LEDGER_UNOBSERVED));
}

/* --- rows ------------------------------------------------------------------------------------------------- */

/* The name up to and with the component that follows the first `length` bytes. */
static int next_level(const char *name, size_t length)
{
	if (name[length] == '/')
		length++;
	return (int)(length + strcspn(name + length, "/"));
}

void loaded_level_name(const struct ledger_row *row, const struct loaded_filter *filter, char *name,
                       size_t size)
{
	size_t length = filter->tag ? strlen(filter->tag) : 0;

	while (length && filter->tag[length - 1] == '/')
		length--;
	if (length && !strncmp(row->tag, filter->tag, length) &&
	    (!row->tag[length] || row->tag[length] == '/'))
		snprintf(name, size, "%.*s", next_level(row->tag, length), row->tag);
	else if (*row->class && !filter->tag)
		snprintf(name, size, "%s", row->class);
	else
		snprintf(name, size, "%.*s", next_level(row->tag, 0), row->tag);
}

/* A row while it is built, found by name and id. */
struct found {
	char *key;
	struct loaded_class row;
	UT_hash_handle hh;
};

struct build {
	struct loaded_classes *table;
	const struct loaded_filter *filter;
	enum loaded_level level;
	struct found *by_key;
	struct loaded_step *steps;
	size_t n_steps;
	bool has_pushed;
};

static struct found *found_new(struct build *build, const char *key, const char *name, uint64_t id)
{
	struct found *found = calloc(1, sizeof(*found));

	if (!found)
		return NULL;
	found->key = strdup(key);
	found->row.name = strdup(name);
	found->row.id = id;
	found->row.base = true;
	if (found->key && found->row.name)
		HASH_ADD_KEYPTR(hh, build->by_key, found->key, strlen(found->key), found);
	if (found->key && found->row.name && found->hh.tbl)
		return found;
	free(found->row.name);
	free(found->key);
	free(found);
	return NULL;
}

/* Of a process the name may be known better later: its rank. */
static int name_anew(struct found *found, const struct ledger_row *row, const char *name)
{
	char *copy;

	if (!row->rank_and_1 || !strcmp(found->row.name, name))
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(found->row.name);
	found->row.name = copy;
	return 0;
}

static struct found *find_process(struct build *build, const struct ledger_row *row, const char *class)
{
	char name[NAME_MAX_BYTES + LEDGER_PROCESS_BYTES], key[NAME_MAX_BYTES + 48],
	        process[LEDGER_PROCESS_BYTES];
	struct found *found;

	snprintf(name, sizeof(name), "%s %s", class, ledger_row_process(row, process));
	snprintf(key, sizeof(key), "%" PRIu32 " %" PRIu64 " %s", row->pid, row->start_ns, class);
	HASH_FIND_STR(build->by_key, key, found);
	if (!found)
		return found_new(build, key, name, 0);
	return name_anew(found, row, name) ? NULL : found;
}

static struct found *find_or_add(struct build *build, const struct ledger_row *row)
{
	char name[NAME_MAX_BYTES], key[NAME_MAX_BYTES + 24];
	uint64_t id = build->level == LOADED_LEVEL_TAG ? row->id : 0;
	struct found *found;

	if (build->level == LOADED_LEVEL_TAG)
		snprintf(name, sizeof(name), "%s", row->tag);
	else
		loaded_level_name(row, build->filter, name, sizeof(name));
	if (build->level == LOADED_LEVEL_PROCESS)
		return find_process(build, row, name);
	snprintf(key, sizeof(key), "%llx %s", (unsigned long long)id, name);
	HASH_FIND_STR(build->by_key, key, found);
	return found ? found : found_new(build, key, name, id);
}

static bool same_step(const struct ledger_row *a, const struct ledger_row *b)
{
	return a->id == b->id && a->folded == b->folded && a->pid == b->pid && a->start_ns == b->start_ns &&
	       !strcmp(a->tag, b->tag);
}

/* Rows come sorted by tag, id and process, so those of a step follow each other. */
static int add_row(struct build *build, const struct ledger_row *row)
{
	struct loaded_step *step = build->n_steps ? &build->steps[build->n_steps - 1] : NULL;
	struct loaded_class *sum;
	struct found *found;
	size_t column;

	if (!step || !same_step(step->row, row)) {
		step = &build->steps[build->n_steps];
		found = find_or_add(build, row);
		if (!found)
			return -ENOMEM;
		*step = (struct loaded_step){ .of = &found->row, .row = row };
		build->n_steps++;
	}
	step->wall_ns = saturating_add(step->wall_ns, row->ns);
	sum = step->of;
	if (find_column(build->table, column_name(row), &column) ||
	    find_column(build->table, ledger_state_name(LEDGER_STALL), &column))
		sum->ns[column] = saturating_add(sum->ns[column], row->ns);
	sum->wall_ns = saturating_add(sum->wall_ns, row->ns);
	sum->base &= row->base;
	build->has_pushed |= !row->base;
	if (row->state != LEDGER_ONCPU && !(row->base && row->state == LEDGER_BLOCKED))
		sum->lost_ns = saturating_add(sum->lost_ns, row->ns);
	return 0;
}

static void take_times(void *of, const struct loaded_step_times *times)
{
	struct loaded_class *row = of;

	row->p50_ns = times->p50_ns;
	row->p99_ns = times->p99_ns;
	row->worst_ns = times->worst_ns;
	row->worst = times->worst;
}

/* Without any pushed tag no row is a base: blocked threads then count as lost time, not as idle. */
static void settle_base(struct build *build)
{
	size_t column;

	if (build->has_pushed || !find_column(build->table, ledger_state_name(LEDGER_BLOCKED), &column))
		return;
	for (struct found *found = build->by_key; found; found = found->hh.next) {
		found->row.base = false;
		found->row.lost_ns = saturating_add(found->row.lost_ns, found->row.ns[column]);
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct loaded_class *a = left, *b = right;
	int order = a->base - b->base;

	order = order ? order : compare_i64(b->lost_ns, a->lost_ns);
	order = order ? order : compare_i64(b->wall_ns, a->wall_ns);
	order = order ? order : strcmp(a->name, b->name);
	return order ? order : compare_u64(a->id, b->id);
}

/* Hands the names over to the table's rows. */
static int make_rows(struct build *build)
{
	struct loaded_classes *table = build->table;
	size_t n = HASH_COUNT(build->by_key);

	table->rows = calloc(n + 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (struct found *found = build->by_key; found; found = found->hh.next) {
		table->rows[table->count++] = found->row;
		found->row.name = NULL;
	}
	qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
	return 0;
}

/* --- counts ----------------------------------------------------------------------------------------------- */

static int compare_processes(const void *left, const void *right)
{
	const struct ledger_row *a = *(const struct ledger_row *const *)left;
	const struct ledger_row *b = *(const struct ledger_row *const *)right;
	int order = compare_u64(a->pid, b->pid);

	return order ? order : compare_u64(a->start_ns, b->start_ns);
}

/* One step stands for all rows of its tag in its process. */
static int count_processes(struct build *build)
{
	const struct ledger_row **seen = calloc(build->n_steps + 1, sizeof(struct ledger_row *));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < build->n_steps; i++)
		seen[i] = build->steps[i].row;
	qsort(seen, build->n_steps, sizeof(struct ledger_row *), compare_processes);
	for (size_t i = 0; i < build->n_steps; i++)
		build->table->processes += !i || compare_processes(&seen[i - 1], &seen[i]) != 0;
	free(seen);
	return 0;
}

/* Steps of one tag in several processes follow each other, as the ledger is sorted: one tag of their row, if that is the same. */
static void count_tags(struct build *build)
{
	for (size_t i = 0; i < build->n_steps; i++) {
		const struct loaded_step *step = &build->steps[i], *last = i ? step - 1 : NULL;
		const struct ledger_row *row = step->row;

		((struct loaded_class *)step->of)->tags +=
		        !row->folded && (!last || last->of != step->of || last->row->id != row->id ||
		                         strcmp(last->row->tag, row->tag) != 0);
	}
}

static int add_rows(struct build *build, struct ledger *ledger)
{
	int err = 0;

	for (size_t i = 0; i < ledger_count(ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (!loaded_filter_row(build->filter, row))
			continue;
		build->table->matched++;
		err = add_row(build, row);
	}
	return err;
}

static void build_free(struct build *build)
{
	struct found *found = build->by_key, *next;

	HASH_CLEAR(hh, build->by_key);
	for (; found; found = next) {
		next = found->hh.next;
		free(found->row.name);
		free(found->key);
		free(found);
	}
	free(build->steps);
}

int loaded_classes_build(struct loaded_classes *table, const struct loaded_profiles *input,
                         const struct loaded_filter *filter, enum loaded_level level)
{
	size_t count = ledger_count(input->ledger);
	struct build build = { .table = table, .filter = filter, .level = level };
	int err = -ENOMEM;

	*table = (struct loaded_classes){ .count = 0 };
	if (!count || ledger_at(input->ledger, 0))
		build.steps = calloc(count + 1, sizeof(*build.steps));
	if (build.steps) {
		make_columns(table, input->ledger, filter);
		err = add_rows(&build, input->ledger);
	}
	if (!err)
		err = count_processes(&build);
	if (!err) {
		count_tags(&build);
		err = loaded_steps_take(build.steps, build.n_steps, take_times);
	}
	if (!err) {
		settle_base(&build);
		err = make_rows(&build);
	}
	build_free(&build);
	return err;
}

void loaded_classes_free(struct loaded_classes *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->rows[i].name);
	free(table->rows);
	*table = (struct loaded_classes){ .count = 0 };
}

const struct loaded_class *loaded_classes_find(const struct loaded_classes *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->rows[i].name, name))
			return &table->rows[i];
	return NULL;
}
