/* Tells what did not happen from what was not looked for. */

#include "profiler/diff/diff_absent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "profiler/diff/diff_query.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/session/window.h"

#define WAITED_PART                                                                                          \
	0.01            /* of its tags' time: less may well have been in short waits, which have no samples */
#define WAITED_MORE 0.1 /* of what it was: less is what idle threads differ by */

static bool asks_for_waits(const struct diff_filter *filter, const char *kind)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct diff_condition *condition = &filter->condition[i];

		if (!strcmp(condition->label, "stall") && !condition->not )
			return !strcmp(condition->value, kind) || !strcmp(condition->value, LOADED_BLOCKED);
	}
	return filter->waits;
}

static double waited_ns(const struct diff_side *side, int kind)
{
	double sum = 0;

	for (int k = 0; k < ABI_WAIT_KINDS; k++)
		if (kind < 0 || kind == k)
			sum += side->waited_ns[k];
	return sum;
}

/* Whether waits of `ns` in all may each have been too short for a sample. Where no wait has any, it was not asked for them. */
static bool may_be_short(const struct diff_side *side, double ns)
{
	return !(ns > (side->wait_samples ? WAITED_PART * side->tag_ns : 0));
}

static bool kind_is_absent(const struct diff_side *side, const char *side_name, int kind, char *text,
                           size_t size)
{
	const char *name = window_cause_name((unsigned int)(kind + ABI_WAIT_OTHER));
	char waited[TEXT_DURATION_BYTES];
	double ns = waited_ns(side, kind);

	if (!side->ledger_rows)
		snprintf(text, size, "%s has no ledger, so whether it was in %s is not known", side_name,
		         name);
	else if (!asks_for_waits(&side->filter, name))
		snprintf(text, size, "%s is no stall, so it is left out: --waits takes it in", name);
	else if (!may_be_short(side, ns))
		snprintf(text, size, "%s was %s in %s and has no sample of it: record with --waits long",
		         side_name, text_computed_duration(waited, ns), name);
	else
		return true;
	return false;
}

static bool stall_is_absent(const struct diff_side *side, const char *side_name, const char *stall,
                            char *text, size_t size)
{
	char why[DIFF_LINE_BYTES_MAX / 2];

	if (diff_sound_looked_for(side->stamp, stall, why, sizeof(why)))
		return true;
	snprintf(text, size, "%s was not looked for in %s: %s", stall, side_name,
	         diff_query_is(side->place) ? "Pyroscope keeps no stamps" : why);
	return false;
}

static bool class_is_absent(const struct diff_side *side, const char *class)
{
	for (size_t i = 0; i < side->classes->count; i++)
		if (!strcmp(side->classes->name[i], class))
			return side->ledger_has[i];
	return false;
}

bool diff_absent_is_true(const struct diff_side *side, const char *side_name, enum top_by what,
                         const char *name, char *text, size_t size)
{
	int kind = what == TOP_BY_STALL ? loaded_wait_kind(name) : -1;

	if (kind >= 0)
		return kind_is_absent(side, side_name, kind, text, size);
	if (what == TOP_BY_STALL)
		return stall_is_absent(side, side_name, name, text, size);
	if (what == TOP_BY_CLASS && class_is_absent(side, name))
		return true;
	snprintf(text, size, "there is no %s '%.200s' in %s: is the name right?", top_by_name(what), name,
	         side_name);
	return false;
}

/* --- sides that have nothing ------------------------------------------------------------------------------ */

static bool is_cause(const char *stall)
{
	for (unsigned int cause = ABI_CAUSE_NONE + 1; cause < ABI_CAUSE_MAX; cause++)
		if (!strcmp(window_cause_name(cause), stall))
			return true;
	return false;
}

/* Whether a condition that no sample fulfils is one that the ledger or the stamp knows to be never fulfilled. */
static bool condition_is_known(const struct diff_side *side, const struct diff_condition *condition)
{
	char why[DIFF_LINE_BYTES_MAX];
	int kind = loaded_wait_kind(condition->value);

	if (diff_filter_is_of_tags(condition) || condition->not )
		return true;
	if (strcmp(condition->label, "stall") != 0)
		return false;
	if (!strcmp(condition->value, LOADED_BLOCKED))
		return may_be_short(side, waited_ns(side, -1));
	if (kind >= 0)
		return may_be_short(side, waited_ns(side, kind));
	return is_cause(condition->value) &&
	       diff_sound_looked_for(side->stamp, condition->value, why, sizeof(why));
}

/* The ledger has rows of the tags and processes, and whatever else the filter wants was looked for. */
static bool nothing_is_true(const struct diff_side *side)
{
	bool known = side->ledger_rows_passed > 0;

	for (size_t i = 0; i < side->filter.count && known; i++)
		known = condition_is_known(side, &side->filter.condition[i]);
	return known;
}

void diff_absent_check(const struct diff_side *side, const char *side_name, struct diff_lines *against)
{
	char text[DIFF_LINE_BYTES_MAX / 2] = "", waited[TEXT_DURATION_BYTES];
	double ns = waited_ns(side, -1);

	if (!side->samples_passed && !nothing_is_true(side)) {
		diff_filter_text(text, sizeof(text), &side->filter);
		if (side->filter.count)
			diff_lines_add(against, "nothing in %s passes its filter%s", side_name, text);
		else
			diff_lines_add(against, "%s is empty: it has no samples%s", side_name,
			               side->ledger_rows ? "" : " and no ledger");
	} else if (side->filter.waits && !side->wait_samples && ns > WAITED_PART * side->tag_ns) {
		diff_lines_add(against,
		               "--waits finds no samples in %s, which was %s in waits that are no stalls: "
		               "record with "
		               "--waits long",
		               side_name, text_computed_duration(waited, ns));
	}
}

static bool is_of_stalls(const struct diff_side *side)
{
	for (size_t i = 0; i < side->filter.count; i++)
		if (!strcmp(side->filter.condition[i].label, "stall"))
			return false;
	return !side->filter.waits && side->ledger_rows && side->amount[DIFF_PER_WALL] > 0;
}

void diff_absent_pushed(const struct diff_side side[2], bool paired, struct diff_lines *against)
{
	for (int s = 0; s < 2; s++) {
		const struct diff_side *of = &side[s], *other = &side[!s];
		bool pushes = paired ? of->pushed : of->any_pushed,
		     other_pushes = paired ? other->pushed : other->any_pushed;

		if (of->ledger_rows && !pushes && other_pushes && diff_filter_has_waits(&of->filter) &&
		    !diff_filter_has_tag(&of->filter))
			diff_lines_add(against,
			               "%s pushes no tags, so that its waits are left out as those of idle "
			               "threads: name a tag",
			               s ? "NEW" : "BASE");
	}
}

void diff_absent_waits(const struct diff_side side[2], struct diff_lines *remarks)
{
	char was[TEXT_DURATION_BYTES], is[TEXT_DURATION_BYTES];
	double most = 0, wall[2] = { side[0].amount[DIFF_PER_WALL], side[1].amount[DIFF_PER_WALL] };
	int worst = -1;

	if (!is_of_stalls(&side[0]) || !is_of_stalls(&side[1]))
		return;
	for (int kind = 0; kind < ABI_WAIT_KINDS; kind++) {
		double before = side[0].waited_ns[kind] / wall[0];
		double more = side[1].waited_ns[kind] / wall[1] - before;

		if (more > WAITED_PART && more > WAITED_MORE * before && more > most) {
			most = more;
			worst = kind;
		}
	}
	if (worst < 0)
		return;
	text_computed_duration(was, 1e9 * side[0].waited_ns[worst] / wall[0]);
	text_computed_duration(is, 1e9 * side[1].waited_ns[worst] / wall[1]);
	diff_lines_add(remarks,
	               "Waits that are no stalls are left out: NEW was %s in %s a second, BASE %s. %s", is,
	               window_cause_name((unsigned int)(worst + ABI_WAIT_OTHER)), was,
	               side[0].wait_samples && side[1].wait_samples
	                       ? "To compare them, add --waits."
	                       : "To compare them, record both with --waits long, and add --waits.");
}

void diff_absent_oncpu(const struct diff_side side[2], struct diff_lines *against)
{
	static const char *const names[] = { "BASE", "NEW" };

	for (int s = 0; s < 2; s++)
		if (side[s].oncpu_samples && !side[!s].oncpu_samples)
			diff_lines_add(
			        against,
			        "%s has time on CPUs outside of stalls, and %s has not: record both with "
			        "--oncpu-hz",
			        names[s], names[!s]);
}

static bool is_of_tags(const struct diff_side *side)
{
	for (size_t i = 0; i < side->filter.count; i++)
		if (!diff_filter_is_of_tags(&side->filter.condition[i]))
			return false;
	return side->ledger_rows && side->amount[DIFF_PER_WALL] > 0;
}

void diff_absent_runqueue(const struct diff_side side[2], struct diff_lines *remarks)
{
	char was[TEXT_DURATION_BYTES], is[TEXT_DURATION_BYTES];
	double before, now;

	if (!is_of_tags(&side[0]) || !is_of_tags(&side[1]))
		return;
	before = side[0].runqueue_ns / side[0].amount[DIFF_PER_WALL];
	now = side[1].runqueue_ns / side[1].amount[DIFF_PER_WALL];
	if (now - before <= WAITED_PART || now - before <= WAITED_MORE * before)
		return;
	text_computed_duration(was, 1e9 * before);
	text_computed_duration(is, 1e9 * now);
	diff_lines_add(
	        remarks,
	        "NEW waited %s for a CPU a second, BASE %s: no samples have that; `stallprof top` has it.",
	        is, was);
}
