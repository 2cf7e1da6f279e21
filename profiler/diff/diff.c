/* Reads both sides into tables, and has them judged. */

#include "profiler/diff/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/diff/diff_absent.h"
#include "profiler/diff/diff_judge.h"
#include "profiler/diff/diff_query.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/session/working_call.h"

/* --- what is summed --------------------------------------------------------------------------------------- */

/* The visit of one place, for one side or, where two filters of it are compared, for both. */
struct gathering {
	struct diff *diff;
	int first, last;
	uint64_t number; /* of samples so far, over both sides */
};

static void list_types(const struct profile *profile, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < profile_n_types(profile) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
		                         profile_type(profile, i).type);
}

/* The type that is compared. A rule that names a duration wants one of durations. */
static int take_type(struct diff *diff, const char *type, const char *unit, char *err, size_t err_size)
{
	const struct diff_task *task = diff->task;

	for (size_t i = 0; i < task->rule_count; i++) {
		if (!task->rules[i].duration || task->rules[i].subject == DIFF_USE ||
		    !strcmp(unit, "nanoseconds"))
			continue;
		snprintf(
		        err, err_size,
		        "'%.200s': its limit is a time, but '%s' is told in %s: give a number without a unit",
		        task->rules[i].text, type, *unit ? unit : "no unit");
		return -EINVAL;
	}
	diff->type = strdup(type);
	diff->unit = strdup(unit);
	return diff->type && diff->unit ? 0 : -ENOMEM;
}

/* The index of the type that is compared; the first profile decides which that is, and its unit. */
static int pick_type(struct diff *diff, const struct loaded_profiles *window, char *err, size_t err_size)
{
	const struct profile *profile = window->profile;
	const char *wanted = diff->type ? diff->type : diff->task->type;
	const char *unit, *path = window->path ? window->path : "profile";
	char types[256];
	int index, result;

	if (!wanted)
		wanted = profile_find_type(profile, "delay") >= 0 ? "delay" : profile_default_type(profile);
	index = profile_find_type(profile, wanted);
	if (index < 0) {
		list_types(profile, types, sizeof(types));
		snprintf(err, err_size, "%s: no sample type '%s' in it; there are: %s", path, wanted, types);
		return -EINVAL;
	}
	unit = profile_type(profile, (size_t)index).unit;
	unit = unit ? unit : "";
	result = diff->type ? 0 : take_type(diff, wanted, unit, err, err_size);
	if (result)
		return result;
	if (!strcmp(diff->unit, unit))
		return index;
	snprintf(err, err_size, "%s: its '%s' is in '%s', that of the profiles before it in '%s'", path,
	         wanted, unit, diff->unit);
	return -EINVAL;
}

static int add_to_tables(struct diff *diff, const struct diff_sample *sample)
{
	int err = diff_points_add(&diff->total.points[sample->side], sample->window, sample->value);

	diff->total.own[sample->side] += sample->value;
	for (unsigned int by = 0; by < TOP_BYS && !err; by++)
		if (diff->has_table[by])
			err = diff_table_add(&diff->table[by], sample);
	return err;
}

/* What is waited on a CPU for a GPU or for other ranks is waited as well, where delays are compared. `cpu`: its type, or negative. */
static double value_of(const struct diff *diff, const struct loaded_profiles *input,
                       const struct loaded_sample *sample, size_t type, int cpu)
{
	const struct profile_sample_view *view = &sample->view;
	double value = (double)view->values[type];

	if (cpu < 0 || !view->values[cpu] || strcmp(diff->type, "delay") != 0 ||
	    !working_call_may_spin(sample->stall) ||
	    working_call(input->profile, view->location_ids, view->n_locations))
		return value;
	return value + (double)view->values[cpu];
}

static int add_samples(struct gathering *gathering, const struct loaded_profiles *input, int side,
                       size_t type, const struct loaded_slices *slices, size_t first)
{
	struct diff *diff = gathering->diff;
	int waits = profile_find_type(input->profile, "contentions"), err = 0;
	int cpu = profile_find_type(input->profile, "cpu");
	struct loaded_tags *tags = loaded_tags_new(input);
	struct loaded_sample sample;

	if (!tags)
		return -ENOMEM;
	for (size_t i = 0; !err && loaded_sample_get(input, tags, i, &sample); i++) {
		size_t window = first + loaded_slices_of(slices, &sample.view);
		int class = diff_classes_number(&diff->classes, sample.class);
		double value;
		bool passes;

		if (class < 0)
			err = class;
		if (err)
			continue;
		passes = diff_filter_sample(&diff->side[side].filter, input, &sample);
		diff_side_count(&diff->side[side], &sample, passes,
		                waits >= 0 ? (double)sample.view.values[waits] : 0);
		if (!passes)
			continue;
		if (waits >= 0)
			diff_side_add_waits(&diff->side[side], window, class,
			                    (double)sample.view.values[waits]);
		value = value_of(diff, input, &sample, type, cpu);
		if (value < 0 || value > 0)
			err = add_to_tables(diff, &(struct diff_sample){ .input = input,
			                                                 .sample = &sample,
			                                                 .side = side,
			                                                 .window = (uint32_t)window,
			                                                 .value = value,
			                                                 .number = ++gathering->number,
			                                                 .class = class });
	}
	loaded_tags_free(tags);
	return err;
}

/* What the timeline's lanes of a class have in each slice: those of the kinds `first` to `last`. */
static void class_parts(const struct timeline *timeline, const char *class, enum timeline_kind first,
                        enum timeline_kind last, const struct loaded_slices *slices, double *parts)
{
	memset(parts, 0, slices->count * sizeof(*parts));
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		const struct timeline_point *points;
		size_t count;

		if (lane->kind < first || lane->kind > last || strcmp(lane->class, class) != 0)
			continue;
		points = timeline_points(timeline, i, &count);
		for (size_t p = 0; p < count; p++) {
			int64_t since = saturating_i64(points[p].begin_ns) - slices->begin_ns;
			size_t slice = since > 0 ? (size_t)(since / slices->width_ns) : 0;

			parts[slice < slices->count ? slice : slices->count - 1] += (double)points[p].value;
		}
	}
}

/* Requests are told in whole, and come as waits do. */
static int share_out(struct diff *diff, struct diff_side *side, const struct loaded_profiles *input,
                     const struct loaded_slices *slices, size_t first)
{
	double *parts = calloc(slices->count, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (size_t c = 0; c < diff->classes.count; c++) {
		const char *class = diff->classes.name[c];

		class_parts(input->timeline, class, TIMELINE_STALL, TIMELINE_RUNQUEUE, slices, parts);
		diff_side_share(side, first, (int)c, DIFF_PER_TAG, parts);
		diff_side_share(side, first, (int)c, DIFF_BASE_TIME, parts);
		class_parts(input->timeline, class, TIMELINE_STEPS, TIMELINE_STEPS, slices, parts);
		diff_side_share(side, first, (int)c, DIFF_PER_STEP, parts);
		for (size_t i = 0; i < slices->count; i++)
			parts[i] = side->windows[first + i].of[c][DIFF_PER_NONE];
		diff_side_share(side, first, (int)c, DIFF_PER_IO, parts);
		diff_side_share(side, first, (int)c, DIFF_PER_BYTES, parts);
	}
	free(parts);
	return 0;
}

static int add_overlap(struct diff *diff, const struct loaded_profiles *input)
{
	struct stamp_coverage coverage = stamp_coverage(input->stamp);
	int err;

	if (!diff->has_overlap)
		return 0;
	err = diff_overlap_add_timeline(&diff->overlap, input->timeline, coverage.first_ns, coverage.last_ns);
	diff->overlap_by_timeline |= !err;
	return err == -ENODATA ? diff_overlap_add(&diff->overlap, (double)coverage.covered_ns, input->ledger)
	                       : err;
}

static bool pushes_tags(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (row && !row->base)
			return true;
	}
	return false;
}

static void leave_idle_out(struct diff *diff)
{
	diff->side[0].filter.idle_left_out = diff->side[1].filter.idle_left_out = true;
}

static int gather(void *context, const struct loaded_profiles *window, bool lone, char *err, size_t err_size)
{
	struct gathering *gathering = context;
	int type = pick_type(gathering->diff, window, err, err_size), result = type < 0 ? type : 0;
	struct loaded_slices slices = { .count = 1 };

	if (!result && lone)
		result = loaded_slices_find(&slices, window);
	if (lone && pushes_tags(window->ledger))
		leave_idle_out(gathering->diff);
	for (int side = gathering->first; side <= gathering->last && !result; side++) {
		size_t first;

		result = diff_side_add(&gathering->diff->side[side], window, &slices, &first);
		if (!result)
			result = add_samples(gathering, window, side, (size_t)type, &slices, first);
		if (!result && slices.count > 1)
			result = share_out(gathering->diff, &gathering->diff->side[side], window, &slices,
			                   first);
	}
	if (!result && !gathering->diff->paired)
		result = diff_uses_add(&gathering->diff->uses, gathering->first,
		                       &gathering->diff->side[gathering->first].filter,
		                       &gathering->diff->classes, window->ledger);
	if (!result)
		result = add_overlap(gathering->diff, window);
	if (result && result != -EINVAL)
		snprintf(err, err_size, "%s: %s", window->path ? window->path : "profile", strerror(-result));
	return result;
}

/* --- building --------------------------------------------------------------------------------------------- */

static int read_side(struct diff *diff, int side, uint64_t *number, char *err, size_t err_size)
{
	const struct diff_task *task = diff->task;
	const struct diff_input input = { .place = task->place[side],
		                          .type = task->type,
		                          .access = &task->access };
	struct gathering gathering = {
		.diff = diff, .first = side, .last = diff->paired ? 1 : side, .number = *number
	};
	int result = diff_input_visit(&input, gather, &gathering, &diff->side[side].news, err, err_size);

	*number = gathering.number;
	if (diff->paired)
		diff->side[1].news = diff->side[0].news;
	return result;
}

static int find_pushed(void *context, const struct loaded_profiles *window, bool lone, char *err,
                       size_t err_size)
{
	(void)context;
	(void)lone;
	(void)err;
	(void)err_size;
	return pushes_tags(window->ledger);
}

/* Reads up to the first window with pushed tags; what cannot be read is told later. A pipe can be read once only, and Pyroscope has no
 * ledger. */
static bool place_pushes_tags(const struct diff_task *task, const char *place)
{
	const struct diff_input input = { .place = place, .type = task->type, .access = &task->access };
	struct diff_input_news news;
	struct stat info;
	char err[512];

	if (!place || !strcmp(place, "-") || stat(place, &info) != 0 ||
	    !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
		return false;
	return diff_input_visit(&input, find_pushed, NULL, &news, err, sizeof(err)) == 1;
}

/* Windows before the first pushed tag have idle threads, too: so it is looked for before samples are read. */
static void look_for_pushed(struct diff *diff)
{
	const struct diff_task *task = diff->task;

	if (!diff_filter_has_waits(&diff->side[0].filter) && !diff_filter_has_waits(&diff->side[1].filter))
		return;
	if (place_pushes_tags(task, task->place[0]) || place_pushes_tags(task, task->place[1]))
		leave_idle_out(diff);
}

static int init_tables(struct diff *diff)
{
	const struct diff_task *task = diff->task;
	int err = 0;

	diff->has_table[task->by] = true;
	for (size_t i = 0; i < task->rule_count; i++)
		if (task->rules[i].subject == DIFF_NAMED)
			diff->has_table[task->rules[i].what] = true;
	for (unsigned int by = 0; by < TOP_BYS && !err; by++)
		if (diff->has_table[by])
			err = diff_table_init(&diff->table[by], by, task->native);
	if (!err && diff->has_overlap)
		err = diff_overlap_init(&diff->overlap);
	return err;
}

static int init(struct diff *diff, struct diff_task *task)
{
	int err = 0;

	*diff = (struct diff){ .task = task, .paired = !task->place[1] };
	diff->has_overlap =
	        diff->paired && diff_filter_has_tag(&task->filter[1]) && !diff_query_is(task->place[0]);
	for (int side = 0; side < 2 && !err; side++) {
		err = diff_side_init(&diff->side[side], task->place[diff->paired ? 0 : side], &diff->classes);
		diff->side[side].filter = task->filter[side];
		task->filter[side] = (struct diff_filter){ .count = 0 };
	}
	diff->total.name = strdup("total");
	return err || !diff->total.name ? -ENOMEM : init_tables(diff);
}

static void check_sound(struct diff *diff)
{
	diff_absent_check(&diff->side[0], "BASE", &diff->against);
	diff_absent_check(&diff->side[1], "NEW", &diff->against);
	diff_absent_pushed(diff->side, diff->paired, &diff->against);
	diff_absent_waits(diff->side, &diff->remarks);
	diff_absent_runqueue(diff->side, &diff->remarks);
	if (diff->type && !strcmp(diff->type, "cpu") && !diff->paired)
		diff_absent_oncpu(diff->side, &diff->against);
	if (!diff->paired)
		diff_sound_check(diff->side, &diff->against, &diff->remarks);
	else if (diff->side[0].news.unreadable_files)
		diff_lines_add(&diff->remarks, "%zu files are left out: %s",
		               diff->side[0].news.unreadable_files, diff->side[0].news.unreadable);
	if (diff->uses.too_many)
		diff_lines_add(&diff->remarks,
		               "Of uses of a class's tags %u of a side are compared, the others are left out",
		               DIFF_USES_MAX);
	if (diff->classes.too_many)
		diff_lines_add(
		        &diff->remarks,
		        "BASE and NEW have more than %d classes of tags: those beyond are divided by the "
		        "time, steps and requests of all of them together",
		        DIFF_CLASSES_MAX);
	diff->refused = diff->against.count && !diff->task->force;
}

/* Timelines have classes alone, so what one tag of a class waited for, or one process, is not known by its time. */
static int judge_overlap(struct diff *diff)
{
	const struct diff_filter *disturber = &diff->side[1].filter;

	if (diff_filter_is_of_classes(disturber, &diff->classes))
		return diff_overlap_judge(&diff->overlap, disturber, diff->task->confidence / 100);
	diff_lines_add(&diff->remarks, "What NEW caused is known of whole classes of tags only.");
	diff_overlap_free(&diff->overlap);
	diff->has_overlap = false;
	return 0;
}

static int judge(struct diff *diff, char *err, size_t err_size)
{
	int result = diff_judge(diff, err, err_size);

	if (!result && diff->has_overlap)
		result = judge_overlap(diff);
	if (!result)
		result = diff_uses_judge(&diff->uses, &diff->classes, diff->task->confidence / 100);
	if (!result)
		diff_judge_rules(diff);
	return result;
}

int diff_build(struct diff *diff, struct diff_task *task, char *err, size_t err_size)
{
	uint64_t number = 0;
	int result = init(diff, task);

	*err = '\0';
	if (!result)
		look_for_pushed(diff);
	for (int side = 0; side < (diff->paired ? 1 : 2) && !result; side++)
		result = read_side(diff, side, &number, err, err_size);
	if (!result) {
		diff_side_settle(diff->side, diff->paired);
		check_sound(diff);
		result = diff->refused ? 0 : judge(diff, err, err_size);
	}
	if (result && !*err)
		snprintf(err, err_size, "%s", strerror(-result));
	if (result)
		diff_free(diff);
	return result;
}

void diff_free(struct diff *diff)
{
	for (int side = 0; side < 2; side++) {
		diff_side_release(&diff->side[side]);
		diff_points_free(&diff->total.points[side]);
	}
	for (unsigned int by = 0; by < TOP_BYS; by++)
		if (diff->has_table[by])
			diff_table_free(&diff->table[by]);
	if (diff->has_overlap)
		diff_overlap_free(&diff->overlap);
	diff_uses_free(&diff->uses);
	diff_classes_free(&diff->classes);
	free(diff->total.name);
	free(diff->findings);
	free(diff->type);
	free(diff->unit);
	*diff = (struct diff){ .task = NULL };
}
