/* Sums the ledger's rows by exact tag and process, and compares the sums of both sides by their ranks. */

#include "profiler/diff/diff_uses.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/tag_hash.h"
#include "symbolizer/base/compare.h"

/* By how much the median must differ for a verdict: where processes tell, and where each side has too few of them. */
#define CHANGE_LEAST 0.1
#define CHANGE_ALONE 0.5

#define SMALL_PART 0.01

/* Cleared before it is filled, as it is compared byte by byte. */
struct use_key {
	int class;
	uint32_t pid;
	uint64_t start_ns, id;
	int64_t hash; /* of the name */
};

struct diff_use {
	struct use_key key;
	double ns, oncpu_ns, runqueue_ns;
	UT_hash_handle hh;
};

/* --- gathering ---------------------------------------------------------------------------------------------- */

/* NULL without memory, or where there are too many. */
static struct diff_use *use_of(struct diff_uses *uses, int side, const struct use_key *key)
{
	struct diff_use *use;

	HASH_FIND(hh, uses->by_key[side], key, sizeof(*key), use);
	if (use)
		return use;
	if (uses->of_class[side][key->class] == DIFF_USES_MAX) {
		uses->too_many = true;
		return NULL;
	}
	use = calloc(1, sizeof(*use));
	if (!use)
		return NULL;
	use->key = *key;
	HASH_ADD(hh, uses->by_key[side], key, sizeof(use->key), use);
	if (!use->hh.tbl) {
		free(use);
		return NULL;
	}
	uses->count[side]++;
	uses->of_class[side][key->class]++;
	return use;
}

static int add_row(struct diff_uses *uses, int side, struct diff_classes *classes,
                   const struct ledger_row *row)
{
	struct use_key key;
	struct diff_use *use;

	memset(&key, 0, sizeof(key));
	key.class = diff_classes_number(classes, row->class);
	if (key.class < 0)
		return key.class;
	key.pid = row->pid;
	key.start_ns = row->start_ns;
	key.id = row->id;
	key.hash = tag_hash(row->tag);
	use = use_of(uses, side, &key);
	if (!use)
		return uses->of_class[side][key.class] == DIFF_USES_MAX ? 0 : -ENOMEM;
	use->ns += (double)row->ns;
	use->oncpu_ns += row->state == LEDGER_ONCPU ? (double)row->ns : 0;
	use->runqueue_ns += row->state == LEDGER_RUNQUEUE ? (double)row->ns : 0;
	return 0;
}

int diff_uses_add(struct diff_uses *uses, int side, const struct diff_filter *filter,
                  struct diff_classes *classes, struct ledger *ledger)
{
	int err = 0;

	for (size_t i = 0; i < ledger_count(ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		/* Without an id a tag is one for all its uses. */
		if (!row || row->base || row->folded || !row->id || !diff_filter_row(filter, row))
			continue;
		err = add_row(uses, side, classes, row);
	}
	return err;
}

/* --- comparing ---------------------------------------------------------------------------------------------- */

struct value {
	double ns;
	int side;
	uint64_t process;
	const struct diff_use *use;
	bool only; /* its process has no other of the class */
};

static int compare_values(const void *left, const void *right)
{
	const struct value *a = left, *b = right;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

static int compare_processes(const void *left, const void *right)
{
	const struct value *a = left, *b = right;
	int order = a->side - b->side;

	order = order ? order : compare_u64(a->process, b->process);
	return order ? order : compare_values(left, right);
}

static int compare_tags(const void *left, const void *right)
{
	const struct use_key *a = &((const struct value *)left)->use->key,
	                     *b = &((const struct value *)right)->use->key;
	int order = compare_u64(a->id, b->id);

	return order ? order : compare_i64(a->hash, b->hash);
}

static bool same_process(const struct value *values, size_t n, size_t a, size_t b)
{
	return a < n && b < n && values[a].process == values[b].process;
}

/* Leaves out the uses of processes that were forked within one and have none of their own, as workers that are started in the first step: theirs is
 * that one. `values` are of one side and class; returns how many are left. */
static size_t drop_inherited(struct value *values, size_t n)
{
	size_t kept = 0;

	qsort(values, n, sizeof(*values), compare_processes);
	for (size_t i = 0; i < n; i++)
		values[i].only = !same_process(values, n, i, i + 1) && !same_process(values, n, i, i - 1);
	qsort(values, n, sizeof(*values), compare_tags);
	for (size_t i = 0, end; i < n; i = end) {
		bool owned = false;

		for (end = i; end < n && !compare_tags(&values[i], &values[end]); end++)
			owned |= !values[end].only;
		for (size_t k = i; k < end; k++)
			if (!owned || !values[k].only)
				values[kept++] = values[k];
	}
	return kept;
}

static double median_of(const struct value *sorted, size_t n)
{
	return n ? (sorted[(n - 1) / 2].ns + sorted[n / 2].ns) / 2 : 0;
}

/* By how many sigmas the ranks of NEW are above what they would be by chance. `values` are sorted. */
static double rank_sigmas(const struct value *values, size_t n, const size_t count[2])
{
	double ranks = 0, a = (double)count[0], b = (double)count[1], off;

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !(values[end].ns > values[i].ns);)
			end++;
		for (size_t k = i; k < end; k++)
			ranks += values[k].side ? (double)(i + end + 1) / 2 : 0;
	}
	off = ranks - b * (a + b + 1) / 2;
	off = off > 0.5 ? off - 0.5 : off < -0.5 ? off + 0.5 : 0;
	return off / sqrt(a * b * (a + b + 1) / 12);
}

static double mean_of(const struct value *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i].ns;
	return n ? sum / (double)n : 0;
}

typedef double (*average_fn)(const struct value *sorted, size_t n);

/* The range of the processes' averages of a side; how many there are. Sorts. */
static size_t processes_of(struct value *values, size_t n, average_fn average, double low[2], double high[2],
                           size_t processes[2])
{
	qsort(values, n, sizeof(*values), compare_processes);
	for (size_t i = 0, end; i < n; i = end) {
		int side = values[i].side;
		double one;

		for (end = i + 1;
		     end < n && values[end].side == side && values[end].process == values[i].process;)
			end++;
		one = average(values + i, end - i);
		low[side] = processes[side] ? fmin(low[side], one) : one;
		high[side] = processes[side] ? fmax(high[side], one) : one;
		processes[side]++;
	}
	return processes[0] + processes[1];
}

/* Whether processes say so, too; and how large the difference must be. Where there are nearly as many as uses, these are by themselves. */
static bool agree(struct value *values, size_t n, average_fn average, bool grew, double *least)
{
	double low[2] = { 0, 0 }, high[2] = { 0, 0 };
	size_t processes[2] = { 0, 0 };

	*least = CHANGE_LEAST;
	if (3 * processes_of(values, n, average, low, high, processes) > n)
		return true;
	if (processes[0] < 2 || processes[1] < 2) {
		*least = CHANGE_ALONE;
		return true;
	}
	return grew ? low[1] > high[0] : high[1] < low[0];
}

/* Two-sided, for a probability. */
static double sigmas_for(double confidence)
{
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		*(erf(middle / sqrt(2)) < confidence ? &low : &high) = middle;
	}
	return high;
}

/* By how many sigmas of their means NEW is above BASE. */
static double mean_sigmas(const struct value *values, size_t n, const struct diff_use_class *class)
{
	double square[2] = { 0, 0 }, of = 0;

	for (size_t i = 0; i < n; i++) {
		double off = values[i].ns - class->mean_ns[values[i].side];

		square[values[i].side] += off * off;
	}
	for (int side = 0; side < 2; side++)
		of += square[side] / (double)(class->count[side] - 1) / (double)class->count[side];
	return of > 0 ? (class->mean_ns[1] - class->mean_ns[0]) / sqrt(of) : 0;
}

static double change_of(const double ns[2])
{
	return ns[0] > 0 ? ns[1] / ns[0] - 1 : INFINITY;
}

/* Ranks and medians do not see that a few uses take far longer, as where the others find done what those waited for. */
static void judge_means(struct diff_use_class *class, struct value *values, size_t n, double sigmas)
{
	double z = mean_sigmas(values, n, class), change = change_of(class->mean_ns), least;

	class->mean_significant = agree(values, n, mean_of, z > 0, &least) && fabs(z) >= sigmas &&
	                          fabs(change) >= fmax(least, CHANGE_ALONE);
	if (class->mean_significant && (z > 0 || !class->significant))
		class->verdict = z > 0 ? DIFF_WORSE : DIFF_BETTER;
}

static void judge(struct diff_use_class *class, struct value *values, size_t n, double sigmas)
{
	double z, change, least;

	class->verdict = DIFF_UNKNOWN;
	if (class->count[0] < DIFF_USES_LEAST || class->count[1] < DIFF_USES_LEAST)
		return;
	z = rank_sigmas(values, n, class->count);
	change = change_of(class->median_ns);
	class->significant = agree(values, n, median_of, z > 0, &least) && fabs(z) >= sigmas &&
	                     fabs(change) >= least && (z > 0) == (change > 0);
	class->verdict = !class->significant ? DIFF_NOISE : z > 0 ? DIFF_WORSE : DIFF_BETTER;
	judge_means(class, values, n, sigmas);
}

static void sum_uses(struct diff_use_class *class, int side, struct value *values, size_t n)
{
	class->count[side] = n;
	for (size_t i = 0; i < n; i++) {
		class->whole_ns[side] += values[i].use->ns;
		class->oncpu_ns[side] += values[i].use->oncpu_ns / (double)n;
		class->runqueue_ns[side] += values[i].use->runqueue_ns / (double)n;
	}
	qsort(values, n, sizeof(*values), compare_values);
	class->median_ns[side] = median_of(values, n);
	class->mean_ns[side] = mean_of(values, n);
}

/* Fills the class and the values of its uses, sorted; returns how many. */
static size_t take_uses(const struct diff_uses *uses, int number, struct diff_use_class *class,
                        struct value *values)
{
	size_t n = 0;

	for (int side = 0; side < 2; side++) {
		struct value *own = values + n;
		size_t count = 0;

		for (struct diff_use *use = uses->by_key[side]; use; use = use->hh.next)
			if (use->key.class == number)
				own[count++] = (struct value){ .ns = use->ns,
					                       .side = side,
					                       .process = use->key.start_ns ^
					                                  (uint64_t)use->key.pid << 32,
					                       .use = use };
		count = drop_inherited(own, count);
		sum_uses(class, side, own, count);
		n += count;
	}
	qsort(values, n, sizeof(*values), compare_values);
	return n;
}

static void find_small(struct diff_uses *uses)
{
	double longest = 0;

	for (size_t i = 0; i < uses->n; i++)
		longest = fmax(longest, fmax(uses->classes[i].whole_ns[0], uses->classes[i].whole_ns[1]));
	for (size_t i = 0; i < uses->n; i++) {
		struct diff_use_class *class = &uses->classes[i];

		if (class->verdict != DIFF_UNKNOWN &&
		    fmax(class->whole_ns[0], class->whole_ns[1]) < SMALL_PART * longest)
			class->verdict = DIFF_SMALL;
	}
}

int diff_uses_judge(struct diff_uses *uses, const struct diff_classes *classes, double confidence)
{
	struct value *values = calloc(uses->count[0] + uses->count[1] + 1, sizeof(*values));
	double sigmas = sigmas_for(1 - (1 - confidence) / (double)(classes->count ? classes->count : 1));

	if (!values)
		return -ENOMEM;
	for (size_t c = 0; c < classes->count; c++) {
		struct diff_use_class class = { .class = classes->name[c] };
		size_t n = take_uses(uses, (int)c, &class, values);

		if (!n)
			continue;
		judge(&class, values, n, sigmas);
		uses->classes[uses->n++] = class;
	}
	free(values);
	find_small(uses);
	return 0;
}

bool diff_uses_changed(const struct diff_use_class *class)
{
	return class->verdict == DIFF_WORSE || class->verdict == DIFF_BETTER;
}

const struct diff_use_class *diff_uses_find(const struct diff_uses *uses, const char *class)
{
	for (size_t i = 0; i < uses->n; i++)
		if (!strcmp(uses->classes[i].class, class))
			return &uses->classes[i];
	return NULL;
}

void diff_uses_free(struct diff_uses *uses)
{
	for (int side = 0; side < 2; side++) {
		struct diff_use *use = uses->by_key[side], *next;

		HASH_CLEAR(hh, uses->by_key[side]);
		for (; use; use = next) {
			next = use->hh.next;
			free(use);
		}
	}
	*uses = (struct diff_uses){ .n = 0 };
}
