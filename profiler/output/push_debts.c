/* What was pushed too much, by type and labels, and which samples pay it back. */

#include "profiler/output/push_debts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "pprof/profile.h"

struct debt {
	char *key;     /* "type\nlabel=value\n…" */
	uint64_t owed; /* by the windows after the present one */
	/* Of the present window: */
	uint64_t positive; /* the sum of its samples */
	uint64_t paid;     /* how much of it is not pushed */
	uint64_t upto;     /* the sum of the samples so far */
	UT_hash_handle hh;
};

struct push_debts {
	struct debt *debts;
	bool none; /* in the present window nothing is owed */
	const struct profile *profile;
	char *key; /* the one that was asked for last */
	size_t key_room;
};

struct push_debts *push_debts_new(void)
{
	return calloc(1, sizeof(struct push_debts));
}

void push_debts_free(struct push_debts *debts)
{
	struct debt *debt, *next;

	if (!debts)
		return;
	HASH_ITER (hh, debts->debts, debt, next) {
		HASH_DEL(debts->debts, debt);
		free(debt->key);
		free(debt);
	}
	free(debts->key);
	free(debts);
}

static bool tells_apart(const struct profile_label *label)
{
	return label->str && strcmp(label->key, "span_id") != 0 && strcmp(label->key, "trace_id") != 0;
}

static bool is_undecided(const struct profile_sample_view *sample)
{
	for (size_t i = 0; i < sample->n_labels; i++)
		if (sample->labels[i].str && !strcmp(sample->labels[i].key, "stall"))
			return !strcmp(sample->labels[i].str, "undecided");
	return false;
}

/* Labels come sorted, so that a set of them has one text. False: no memory. */
static bool make_key(struct push_debts *debts, const struct profile_sample_view *sample, const char *type)
{
	size_t need = strlen(type) + 2, at;

	for (size_t i = 0; i < sample->n_labels; i++)
		if (tells_apart(&sample->labels[i]))
			need += strlen(sample->labels[i].key) + strlen(sample->labels[i].str) + 2;
	if (need > debts->key_room) {
		char *more = realloc(debts->key, need);

		if (!more)
			return false;
		debts->key = more;
		debts->key_room = need;
	}
	at = (size_t)snprintf(debts->key, need, "%s\n", type);
	for (size_t i = 0; i < sample->n_labels; i++)
		if (tells_apart(&sample->labels[i]))
			at += (size_t)snprintf(debts->key + at, need - at, "%s=%s\n", sample->labels[i].key,
			                       sample->labels[i].str);
	return true;
}

static struct debt *find(struct push_debts *debts)
{
	struct debt *debt;

	HASH_FIND_STR(debts->debts, debts->key, debt);
	return debt;
}

static struct debt *add(struct push_debts *debts)
{
	struct debt *debt = calloc(1, sizeof(*debt));

	if (debt)
		debt->key = strdup(debts->key);
	if (debt && debt->key) {
		HASH_ADD_KEYPTR(hh, debts->debts, debt->key, strlen(debt->key), debt);
		if (debt->hh.tbl)
			return debt;
	}
	if (debt)
		free(debt->key);
	free(debt);
	return NULL;
}

/* When there are too many, all others of a type are one that nobody pays. */
static struct debt *find_or_add(struct push_debts *debts)
{
	struct debt *debt = find(debts);

	if (!debt && HASH_COUNT(debts->debts) >= PUSH_DEBTS_MAX) {
		strchr(debts->key, '\n')[1] = '\0';
		debt = find(debts);
	}
	return debt ? debt : add(debts);
}

/* --- a window -------------------------------------------------------------------------------------------- */

static bool is_negative_somewhere(const struct profile *profile, const int *types, size_t n_types)
{
	struct profile_sample_view sample;

	for (size_t i = 0; i < profile_n_samples(profile); i++) {
		profile_get_sample(profile, i, &sample);
		for (size_t t = 0; t < n_types; t++)
			if (sample.values[types[t]] < 0)
				return true;
	}
	return false;
}

static int owe(struct push_debts *debts, const struct profile_sample_view *sample, int type)
{
	int64_t value = sample->values[type];
	struct debt *debt;

	if (value >= 0 || is_undecided(sample))
		return 0;
	debt = make_key(debts, sample, profile_type(debts->profile, type).type) ? find_or_add(debts) : NULL;
	if (!debt)
		return -ENOMEM;
	debt->owed += -(uint64_t)value;
	return 0;
}

static int count_positive(struct push_debts *debts, const struct profile_sample_view *sample, int type)
{
	int64_t value = sample->values[type];
	struct debt *debt;

	if (value <= 0)
		return 0;
	if (!make_key(debts, sample, profile_type(debts->profile, type).type))
		return -ENOMEM;
	debt = find(debts);
	if (debt)
		debt->positive += (uint64_t)value;
	return 0;
}

static int for_each_value(struct push_debts *debts, const int *types, size_t n_types,
                          int (*fn)(struct push_debts *, const struct profile_sample_view *, int))
{
	struct profile_sample_view sample;
	int err = 0;

	for (size_t i = 0; i < profile_n_samples(debts->profile) && !err; i++) {
		profile_get_sample(debts->profile, i, &sample);
		for (size_t t = 0; t < n_types && !err; t++)
			err = fn(debts, &sample, types[t]);
	}
	return err;
}

/* Forgets those that the last window has paid. */
static void start_window(struct push_debts *debts)
{
	struct debt *debt, *next;

	HASH_ITER (hh, debts->debts, debt, next) {
		debt->positive = debt->paid = debt->upto = 0;
		if (debt->owed)
			continue;
		HASH_DEL(debts->debts, debt);
		free(debt->key);
		free(debt);
	}
}

int push_debts_begin(struct push_debts *debts, const struct profile *profile, const int *types,
                     size_t n_types)
{
	struct debt *debt, *next;
	int err;

	start_window(debts);
	debts->profile = profile;
	debts->none = !debts->debts && !is_negative_somewhere(profile, types, n_types);
	if (debts->none)
		return 0;
	err = for_each_value(debts, types, n_types, owe);
	if (!err)
		err = for_each_value(debts, types, n_types, count_positive);
	HASH_ITER (hh, debts->debts, debt, next) {
		debt->paid = debt->owed < debt->positive ? debt->owed : debt->positive;
		debt->owed -= debt->paid;
	}
	return err;
}

static uint64_t part(uint64_t whole, uint64_t upto, uint64_t of)
{
	return (uint64_t)((unsigned __int128)whole * upto / of);
}

int64_t push_debts_pay(struct push_debts *debts, const struct profile_sample_view *sample, int type)
{
	int64_t value = sample->values[type];
	struct debt *debt = NULL;
	uint64_t before;

	if (value <= 0 || is_undecided(sample))
		return 0;
	if (debts->none)
		return value;
	if (make_key(debts, sample, profile_type(debts->profile, type).type))
		debt = find(debts);
	if (!debt || !debt->paid || debt->upto + (uint64_t)value > debt->positive)
		return value;
	before = part(debt->paid, debt->upto, debt->positive);
	debt->upto += (uint64_t)value;
	return value - (int64_t)(part(debt->paid, debt->upto, debt->positive) - before);
}

uint64_t push_debts_owed(const struct push_debts *debts, const char *type)
{
	size_t len = strlen(type);
	uint64_t sum = 0;

	for (const struct debt *debt = debts->debts; debt; debt = debt->hh.next)
		if (!strncmp(debt->key, type, len) && debt->key[len] == '\n')
			sum += debt->owed;
	return sum;
}
