/* A comparison as JSON. */

#include <math.h>
#include <string.h>

#include "profiler/diff/diff_result.h"
#include "profiler/diff/diff_print.h"
#include "profiler/format/json_writer.h"

static void member_double(struct json_writer *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

static void write_lines(struct json_writer *json, const char *key, const struct diff_lines *lines)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < lines->count; i++)
		json_string(json, lines->text[i]);
	if (lines->more) {
		char text[64];

		snprintf(text, sizeof(text), "... and %zu more of this kind", lines->more);
		json_string(json, text);
	}
	json_array_end(json);
}

static void write_side(struct json_writer *json, const char *key, const struct diff_side *side)
{
	json_key(json, key);
	json_object_begin(json);
	json_member_string(json, "place", side->place);
	json_key(json, "filter");
	json_array_begin(json);
	for (size_t i = 0; i < side->filter.count; i++) {
		json_object_begin(json);
		json_member_string(json, "label", side->filter.condition[i].label);
		json_member_string(json, "value", side->filter.condition[i].value);
		json_key(json, "not");
		json_bool(json, side->filter.condition[i].not );
		json_object_end(json);
	}
	json_array_end(json);
	member_double(json, "seconds", side->amount[DIFF_PER_WALL] / 1e9);
	json_member_u64(json, "windows", side->count);
	json_key(json, "slices");
	json_bool(json, side->sliced);
	json_object_end(json);
}

static void write_values(struct json_writer *json, const struct diff_bound *bound, enum diff_verdict verdict)
{
	double percent = diff_percent(bound);

	member_double(json, "base", bound->value[0]);
	member_double(json, "new", bound->value[1]);
	member_double(json, "diff", bound->value[1] - bound->value[0]);
	member_double(json, "percent", isinf(percent) ? NAN : percent);
	member_double(json, "low", bound->judged ? bound->low : NAN);
	member_double(json, "high", bound->judged ? bound->high : NAN);
	json_member_string(json, "verdict", diff_verdict_name(verdict));
}

static void write_row(struct json_writer *json, const struct diff_row *row)
{
	json_object_begin(json);
	json_member_string(json, "name", row->name);
	write_values(json, &row->bound, row->verdict);
	member_double(json, "flat_base", row->flat[0] * row->per[0]);
	member_double(json, "flat_new", row->flat[1] * row->per[1]);
	member_double(json, "own_base", row->own[0] * row->per[0]);
	member_double(json, "own_new", row->own[1] * row->per[1]);
	json_object_end(json);
}

static void write_rows(struct json_writer *json, const struct diff *diff, size_t limit)
{
	const struct diff_table *table = &diff->table[diff->task->by];
	size_t shown = limit && limit < table->count ? limit : table->count;

	json_key(json, "total");
	json_object_begin(json);
	write_values(json, &diff->total.bound, diff->total.verdict);
	json_object_end(json);
	json_key(json, "rows");
	json_array_begin(json);
	for (size_t i = 0; i < shown; i++)
		write_row(json, table->rows[i]);
	json_array_end(json);
}

static void write_rules(struct json_writer *json, const struct diff *diff)
{
	static const char *const outcomes[] = { "passed", "failed", "unjudged" };

	json_key(json, "rules");
	json_array_begin(json);
	for (size_t i = 0; i < diff->finding_count; i++) {
		const struct diff_finding *finding = &diff->findings[i];

		json_object_begin(json);
		json_member_string(json, "rule", finding->rule->text);
		json_member_string(json, "outcome", outcomes[finding->outcome]);
		json_member_string(json, "text", finding->text);
		if (finding->rule->grows && finding->bound.side[0])
			write_values(json, &finding->bound, finding->verdict);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_uses(struct json_writer *json, const struct diff *diff)
{
	json_key(json, "uses");
	json_array_begin(json);
	for (size_t i = 0; i < diff->uses.n; i++) {
		const struct diff_use_class *use = &diff->uses.classes[i];

		json_object_begin(json);
		json_member_string(json, "class", use->class);
		json_member_u64(json, "base_uses", use->count[0]);
		json_member_u64(json, "new_uses", use->count[1]);
		member_double(json, "base_median_ns", use->median_ns[0]);
		member_double(json, "new_median_ns", use->median_ns[1]);
		member_double(json, "base_oncpu_ns", use->oncpu_ns[0]);
		member_double(json, "new_oncpu_ns", use->oncpu_ns[1]);
		member_double(json, "base_runqueue_ns", use->runqueue_ns[0]);
		member_double(json, "new_runqueue_ns", use->runqueue_ns[1]);
		json_member_string(json, "verdict",
		                   use->verdict == DIFF_UNKNOWN ? "too few"
		                                                : diff_verdict_name(use->verdict));
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_overlap_row(struct json_writer *json, const struct diff_overlap_row *row)
{
	json_object_begin(json);
	json_member_string(json, "class", row->class);
	json_member_string(json, "stall", row->stall);
	json_member_string(json, "device", row->device);
	member_double(json, "whole_ns", row->whole_ns);
	member_double(json, "together_ns", row->together_ns);
	member_double(json, "expected_ns", row->judged ? row->expected_ns : NAN);
	member_double(json, "caused_ns", row->judged ? row->together_ns - row->expected_ns : NAN);
	member_double(json, "low_ns", row->judged ? row->low_ns : NAN);
	member_double(json, "high_ns", row->judged ? row->high_ns : NAN);
	json_object_end(json);
}

static void write_overlap(struct json_writer *json, const struct diff *diff)
{
	const struct diff_overlap *overlap = &diff->overlap;

	json_key(json, "overlap");
	json_object_begin(json);
	json_member_u64(json, "buckets", overlap->buckets);
	member_double(json, "bucket_ns", overlap->bucket_ns);
	json_member_u64(json, "blocks", overlap->blocks);
	json_key(json, "timeline");
	json_bool(json, diff->overlap_by_timeline);
	json_key(json, "rows");
	json_array_begin(json);
	for (size_t i = 0; i < overlap->count; i++)
		write_overlap_row(json, &overlap->rows[i]);
	json_array_end(json);
	json_object_end(json);
}

int diff_print_json(FILE *out, struct diff *diff, size_t limit)
{
	struct json_writer json;

	json_begin(&json, out);
	json_object_begin(&json);
	json_member_string(&json, "verdict", diff_verdict(diff));
	json_member_i64(&json, "status", diff_status(diff));
	write_lines(&json, "refused", &diff->against);
	write_lines(&json, "remarks", &diff->remarks);
	json_member_string(&json, "type", diff->type);
	json_member_string(&json, "unit", diff->unit);
	json_member_string(&json, "normalize", diff_per_name(diff->per));
	json_member_string(&json, "by", top_by_name(diff->task->by));
	json_key(&json, "native");
	json_bool(&json, diff->task->native);
	json_member_u64(&json, "folded", diff_shown(diff)->folded);
	member_double(&json, "confidence", diff->task->confidence);
	member_double(&json, "min_change", diff->task->min_change);
	write_side(&json, "base", &diff->side[0]);
	write_side(&json, "new", &diff->side[1]);
	if (!diff->refused) {
		write_rows(&json, diff, limit);
		write_rules(&json, diff);
		write_uses(&json, diff);
		if (diff->has_overlap)
			write_overlap(&json, diff);
	}
	json_object_end(&json);
	return json_end(&json);
}
