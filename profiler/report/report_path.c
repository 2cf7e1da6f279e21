/* Sums a cause's samples by class and line, and looks at the heaviest one's stack. */

#include "profiler/report/report_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "pprof/profile.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/loaded/loaded_slices.h"
#include "profiler/report/report_spins.h"
#include "profiler/report/report_sums.h"

#define SECOND_NS 1000000000ULL
/* Of an incident that fills that many slices the two that it fills in part change little. */
#define SLICES_TELL 5

/* The samples of a class with the same own line. */
struct place {
	char *key;
	int64_t ns, waits, heaviest_ns;
	size_t heaviest; /* sample's index */
	UT_hash_handle hh;
};

struct search {
	const struct loaded_profiles *input;
	const struct loaded_tags *tags;
	const struct report_cause *cause;
	uint64_t begin_ns, end_ns;
	uint64_t slice_ns;    /* how wide slices of time are */
	uint64_t fraction_ns; /* how long after a whole second they begin */
	bool pushed;          /* some tags are pushed ones: those of processes do not count */
	int delay, contentions, recovery, cpu; /* types' indexes; negative: none */
	struct place *places;
	struct report_sums labels, chains;
	struct loaded_stack *stack;
	struct report_paths *out;
};

/* A wait's, or what a CPU sample in one stands for. */
static int64_t time_of(const struct search *search, const struct loaded_sample *sample)
{
	int64_t delay = sample->view.values[search->delay];

	return search->cpu < 0 ? delay : saturating_add(delay, sample->view.values[search->cpu]);
}

/* --- which samples ------------------------------------------------------------------------------------------ */

static const struct profile_label *label_of(const struct loaded_sample *sample, const char *key)
{
	for (size_t i = 0; i < sample->view.n_labels; i++)
		if (!strcmp(sample->view.labels[i].key, key))
			return &sample->view.labels[i];
	return NULL;
}

/* The longer a recording in one file is, the wider are its slices. Their times are cut to whole seconds (window_profile.c). */
static int look_at_slices(struct search *search)
{
	int64_t width_ns;
	int err = loaded_slices_width(&width_ns, search->input);

	if (err)
		return err;
	search->slice_ns = width_ns ? (uint64_t)width_ns : SECOND_NS;
	search->fraction_ns = stamp_coverage(search->input->stamp).first_ns % SECOND_NS;
	return 0;
}

/* Whether the time slice in which the wait ended is one of the incident, or begins right behind it. The wait may have begun long before. */
static bool is_in_time(const struct search *search, const struct loaded_sample *sample)
{
	const struct profile_label *at = label_of(sample, "at");
	uint64_t at_ns;

	if (search->out->whole || !at || at->str || at->num < 0)
		return true;
	at_ns = (uint64_t)at->num * SECOND_NS + search->fraction_ns;
	return at_ns + search->slice_ns > search->begin_ns && at_ns <= search->end_ns + SECOND_NS;
}

static bool is_of_cause(const struct search *search, const struct loaded_sample *sample)
{
	const struct report_cause *cause = search->cause;

	if (search->pushed && sample->row && sample->row->base)
		return false;
	return !strcmp(sample->stall, cause->name) && sample->is_wait == (cause->kind == TIMELINE_BLOCKED) &&
	       (cause->kind == TIMELINE_BLOCKED || !strcmp(sample->device, cause->device)) &&
	       is_in_time(search, sample);
}

/* Whether it is a wait for another thread, which waited for the cause; or, where the cause is such a wait itself, whether it is known for what.
 * Threads of processes may idle: those count by pushed tags alone. */
static bool inherits_cause(const struct search *search, const struct loaded_sample *sample)
{
	const struct report_cause *cause = search->cause;

	if (!*sample->inherited_stall || !sample->is_wait)
		return false;
	if (cause->kind == TIMELINE_BLOCKED)
		return is_of_cause(search, sample);
	return !(search->pushed && sample->row && sample->row->base) &&
	       !strcmp(sample->inherited_stall, cause->name) &&
	       !strcmp(sample->inherited_device, cause->device) && is_in_time(search, sample);
}

static bool has_pushed(const struct loaded_profiles *input)
{
	for (size_t i = 0; i < ledger_count(input->ledger); i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);

		if (row && !row->base)
			return true;
	}
	return false;
}

static bool any_in_time(struct search *search)
{
	struct loaded_sample sample;

	for (size_t i = 0; loaded_sample_get(search->input, search->tags, i, &sample); i++)
		if (label_of(&sample, "at") && is_of_cause(search, &sample) && time_of(search, &sample) > 0)
			return true;
	return false;
}

/* --- sums --------------------------------------------------------------------------------------------------- */

static struct place *place_of(struct search *search, const char *key)
{
	struct place *place;

	HASH_FIND_STR(search->places, key, place);
	if (place)
		return place;
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	place->key = strdup(key);
	if (place->key)
		HASH_ADD_KEYPTR(hh, search->places, place->key, strlen(place->key), place);
	if (place->key && place->hh.tbl)
		return place;
	free(place->key);
	free(place);
	return NULL;
}

static int add_sample(struct search *search, const struct loaded_sample *sample, size_t index)
{
	char own[LOADED_FRAME_TEXT_MAX] = "[no stack]", key[LOADED_FRAME_TEXT_MAX + 512];
	int64_t ns = time_of(search, sample);
	struct place *place;

	loaded_stack_get(search->stack, search->input->profile, &sample->view);
	if (search->stack->n)
		loaded_frame_text(own, sizeof(own), search->input->profile,
		                  &search->stack->frames[loaded_stack_own(search->stack)]);
	/* A foreign profile may have any text as a class: the line break stays. */
	snprintf(key, sizeof(key), "%.500s\n%s", sample->class, own);
	place = place_of(search, key);
	if (!place)
		return -ENOMEM;
	place->ns = saturating_add(place->ns, ns);
	search->out->ns = saturating_add(search->out->ns, ns);
	if (sample->is_wait && loaded_stack_gil(search->stack))
		search->out->gil_ns = saturating_add(search->out->gil_ns, ns);
	if (search->contentions >= 0)
		place->waits = saturating_add(place->waits, sample->view.values[search->contentions]);
	if (ns > place->heaviest_ns) {
		place->heaviest_ns = ns;
		place->heaviest = index;
	}
	return 0;
}

/* Labels that every sample has, that are no detail of the wait, or of which nearly each wait has its own. */
static bool is_usual(const char *key)
{
	static const char *const usual[] = { "ai_tag",
		                             "stall",
		                             "device",
		                             "rank",
		                             "span_id",
		                             "trace_id",
		                             "tag_hash",
		                             "pid",
		                             "tid",
		                             "at",
		                             "host",
		                             "seqno",
		                             "stack_of_a_like_wait",
		                             "inherited_from",
		                             "inherited_stall",
		                             "inherited_device" };

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!strcmp(usual[i], key))
			return true;
	return false;
}

static int add_labels(struct search *search, const struct loaded_sample *sample)
{
	int err = 0;

	for (size_t i = 0; i < sample->view.n_labels && !err; i++) {
		const struct profile_label *label = &sample->view.labels[i];
		char number[24];

		if (is_usual(label->key))
			continue;
		snprintf(number, sizeof(number), "%" PRId64, label->num);
		err = report_sums_add(&search->labels,
		                      (const char *[]){ label->key, label->str ? label->str : number }, 2,
		                      time_of(search, sample));
	}
	return err;
}

/* The worker that brings a device back has samples of a type of its own. */
static void add_recovery(struct search *search, const struct loaded_sample *sample)
{
	const struct profile_label *worker = label_of(sample, "worker");
	struct report_paths *out = search->out;
	char kernel[LOADED_FRAME_TEXT_MAX];
	int64_t ns = search->recovery < 0 ? 0 : sample->view.values[search->recovery];

	if (!ns)
		return;
	out->holder_ns = saturating_add(out->holder_ns, ns);
	if (*out->holder || !worker || !worker->str)
		return;
	loaded_stack_get(search->stack, search->input->profile, &sample->view);
	loaded_stack_kernel_text(kernel, sizeof(kernel), search->stack);
	snprintf(out->holder, sizeof(out->holder), "%.200s in %.700s", worker->str, kernel);
}

static int add_samples(struct search *search)
{
	struct loaded_sample sample;
	int err = 0;

	for (size_t i = 0; loaded_sample_get(search->input, search->tags, i, &sample) && !err; i++) {
		int64_t ns = time_of(search, &sample);

		if (inherits_cause(search, &sample) && ns > 0)
			err = report_chains_add(&search->chains, &sample, ns);
		if (!is_of_cause(search, &sample))
			continue;
		add_recovery(search, &sample);
		if (ns <= 0)
			continue;
		err = err ? err : add_labels(search, &sample);
		err = err ? err : add_sample(search, &sample, i);
	}
	return err;
}

/* --- the heaviest ones -------------------------------------------------------------------------------------- */

/* What the own line called: the frame below it that is not the kernel's. */
static void call_text(char *text, size_t size, const struct search *search)
{
	size_t own = loaded_stack_own(search->stack);

	*text = '\0';
	for (size_t i = 0; i < own; i++) {
		const struct loaded_frame *frame = &search->stack->frames[i];

		if (frame->kind == LOADED_FRAME_KERNEL || loaded_stack_folds(search->stack, i))
			continue;
		loaded_frame_text(text, size, search->input->profile, frame);
		return;
	}
}

static void tell_path(const struct search *search, const struct place *place)
{
	struct report_path *path = &search->out->path[search->out->count++];
	const char *own = strchr(place->key, '\n');
	struct loaded_sample sample;

	*path = (struct report_path){ .ns = place->ns, .waits = place->waits };
	loaded_sample_get(search->input, search->tags, place->heaviest, &sample);
	snprintf(path->class, sizeof(path->class), "%.*s", (int)(own - place->key), place->key);
	snprintf(path->own, sizeof(path->own), "%s", own + 1);
	if (*sample.id)
		snprintf(path->tag, sizeof(path->tag), "%.200s id=%" PRIu64, sample.tag,
		         sample.row ? sample.row->id : (uint64_t)strtoull(sample.id, NULL, 16));
	else
		snprintf(path->tag, sizeof(path->tag), "%.200s", sample.tag);
	loaded_stack_get(search->stack, search->input->profile, &sample.view);
	call_text(path->call, sizeof(path->call), search);
	loaded_stack_kernel_text(path->kernel, sizeof(path->kernel), search->stack);
}

static int compare_places(const struct place *a, const struct place *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->key, b->key);
}

static void take_labels(struct report_paths *out, struct report_sums *sums)
{
	const struct report_sum *sum;

	report_sums_sort(sums);
	for (sum = report_sums_first(sums); sum && out->label_count < REPORT_LABELS_MAX;
	     sum = report_sums_next(sum)) {
		struct report_label *label = &out->label[out->label_count++];

		snprintf(label->key, sizeof(label->key), "%s", sum->part[0]);
		snprintf(label->value, sizeof(label->value), "%s", sum->part[1]);
		label->ns = sum->ns;
	}
}

static void tell_heaviest(struct search *search)
{
	struct report_paths *paths = search->out;

	HASH_SORT(search->places, compare_places);
	for (struct place *place = search->places; place && paths->count < REPORT_PATHS_MAX;
	     place = place->hh.next)
		tell_path(search, place);
	take_labels(paths, &search->labels);
	report_chains_take(&paths->chains, &search->chains);
}

static void free_search(struct search *search)
{
	struct place *place = search->places, *next;

	HASH_CLEAR(hh, search->places);
	for (; place; place = next) {
		next = place->hh.next;
		free(place->key);
		free(place);
	}
	report_sums_free(&search->labels);
	report_sums_free(&search->chains);
	free(search->stack);
}

int report_paths_find(struct report_paths *paths, const struct loaded_profiles *input,
                      const struct loaded_tags *tags, const struct report_cause *cause, uint64_t begin_ns,
                      uint64_t end_ns)
{
	struct search search = { .input = input,
		                 .tags = tags,
		                 .cause = cause,
		                 .begin_ns = begin_ns,
		                 .end_ns = end_ns,
		                 .delay = profile_find_type(input->profile, "delay"),
		                 .contentions = profile_find_type(input->profile, "contentions"),
		                 .recovery = profile_find_type(input->profile, "recovery"),
		                 .cpu = report_spins_any(input->timeline, cause->name)
		                                ? profile_find_type(input->profile, "cpu")
		                                : -1,
		                 .out = paths };
	int err;

	memset(paths, 0, sizeof(*paths));
	if (search.delay < 0)
		return 0;
	search.pushed = has_pushed(input);
	search.stack = malloc(sizeof(*search.stack));
	if (!search.stack)
		return -ENOMEM;
	err = look_at_slices(&search);
	if (!err) {
		paths->whole = !any_in_time(&search);
		err = add_samples(&search);
	}
	if (!paths->whole && search.slice_ns > (end_ns - begin_ns) / SLICES_TELL)
		paths->slice_ns = search.slice_ns;
	if (!err)
		tell_heaviest(&search);
	free_search(&search);
	return err;
}
