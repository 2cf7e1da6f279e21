/* Finds what other classes waited while one class waited for the same cause and device. */

#include "profiler/diff/diff_overlap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_bounds.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/timeline.h"

#define BUCKETS_MAX (1u << 20)

/* What a class waited for a cause on a device, by bucket. */
struct lane {
	char *class, *stall, *device;
	struct diff_points points;
};

struct overlap_lanes {
	struct lane *lane;
	size_t count, room;
	double *duration_ns; /* by bucket */
	size_t buckets_room;
};

/* Sums over a part of the buckets. */
struct part {
	double active_ns, other_ns; /* time */
	double together, apart;     /* waited in active buckets, in the others */
};

int diff_overlap_init(struct diff_overlap *overlap)
{
	*overlap = (struct diff_overlap){ .lanes = calloc(1, sizeof(struct overlap_lanes)) };
	return overlap->lanes ? 0 : -ENOMEM;
}

void diff_overlap_free(struct diff_overlap *overlap)
{
	struct overlap_lanes *lanes = overlap->lanes;

	for (size_t i = 0; lanes && i < lanes->count; i++) {
		free(lanes->lane[i].class);
		free(lanes->lane[i].stall);
		free(lanes->lane[i].device);
		diff_points_free(&lanes->lane[i].points);
	}
	if (lanes) {
		free(lanes->lane);
		free(lanes->duration_ns);
	}
	free(lanes);
	free(overlap->rows);
	*overlap = (struct diff_overlap){ .count = 0 };
}

/* --- lanes ------------------------------------------------------------------------------------------------ */

static struct lane *lane_new(struct overlap_lanes *lanes, const char *class, const char *stall,
                             const char *device)
{
	struct lane *lane;

	if (lanes->count == lanes->room) {
		size_t room = lanes->room ? lanes->room * 2 : 16;

		lane = realloc(lanes->lane, room * sizeof(*lane));
		if (!lane)
			return NULL;
		lanes->lane = lane;
		lanes->room = room;
	}
	lane = &lanes->lane[lanes->count++];
	*lane = (struct lane){ .class = strdup(class), .stall = strdup(stall), .device = strdup(device) };
	return lane->class && lane->stall && lane->device ? lane : NULL;
}

static struct lane *lane_of(struct overlap_lanes *lanes, const char *class, const char *stall,
                            const char *device)
{
	for (size_t i = 0; i < lanes->count; i++) {
		struct lane *lane = &lanes->lane[i];

		if (!strcmp(lane->class, class) && !strcmp(lane->stall, stall) &&
		    !strcmp(lane->device, device))
			return lane;
	}
	return lane_new(lanes, class, stall, device);
}

static int add_bucket(struct diff_overlap *overlap, double duration_ns)
{
	struct overlap_lanes *lanes = overlap->lanes;
	double *grown;

	if (overlap->buckets == lanes->buckets_room) {
		size_t room = lanes->buckets_room ? lanes->buckets_room * 2 : 64;

		grown = realloc(lanes->duration_ns, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		lanes->duration_ns = grown;
		lanes->buckets_room = room;
	}
	lanes->duration_ns[overlap->buckets++] = duration_ns;
	return 0;
}

int diff_overlap_add(struct diff_overlap *overlap, double duration_ns, struct ledger *ledger)
{
	uint32_t bucket = (uint32_t)overlap->buckets;
	int err = add_bucket(overlap, duration_ns);

	for (size_t i = 0; i < ledger_count(ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		struct lane *lane;

		if (!row || row->state != LEDGER_STALL || !row->ns)
			continue;
		lane = lane_of(overlap->lanes, row->class, row->cause, row->device);
		err = lane ? diff_points_add(&lane->points, bucket, (double)row->ns) : -ENOMEM;
	}
	return err;
}

/* The widest of the buckets of stalls, twice as wide until there are few enough. 0: there are no stalls. */
static uint64_t bucket_width(const struct timeline *timeline, uint64_t span_ns)
{
	uint64_t width = 0;

	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);

		if (lane->kind == TIMELINE_STALL && lane->bucket_ns > width)
			width = lane->bucket_ns;
	}
	while (width && span_ns / width >= BUCKETS_MAX)
		width *= 2;
	return width;
}

/* `first`: the bucket that begins at begin_ns. */
static int add_points(struct diff_overlap *overlap, const struct timeline *timeline, size_t index,
                      size_t first, uint64_t begin_ns, uint64_t width)
{
	const struct timeline_lane *from = timeline_lane_at(timeline, index);
	struct lane *lane = lane_of(overlap->lanes, from->class, from->name, from->device);
	const struct timeline_point *points;
	size_t count;
	int err = lane ? 0 : -ENOMEM;

	points = timeline_points(timeline, index, &count);
	for (size_t p = 0; p < count && !err; p++) {
		bool before = points[p].begin_ns < begin_ns;
		uint64_t bucket = before ? first : first + (points[p].begin_ns - begin_ns) / width;

		/* What is taken back there was told by the windows before, as what it seemed to be. */
		if (bucket < overlap->buckets && (!before || points[p].value > 0))
			err = diff_points_add(&lane->points, (uint32_t)bucket, (double)points[p].value);
	}
	return err;
}

int diff_overlap_add_timeline(struct diff_overlap *overlap, const struct timeline *timeline,
                              uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t width = end_ns > begin_ns ? bucket_width(timeline, end_ns - begin_ns) : 0;
	size_t first = overlap->buckets;
	uint64_t buckets;
	int err = 0;

	if (!width)
		return -ENODATA;
	begin_ns -= begin_ns % width;
	buckets = (end_ns - 1 - begin_ns) / width + 1;
	for (uint64_t i = 0; i < buckets && !err; i++)
		err = add_bucket(overlap, (double)width);
	for (size_t i = 0; i < timeline_count(timeline) && !err; i++)
		if (timeline_lane_at(timeline, i)->kind == TIMELINE_STALL)
			err = add_points(overlap, timeline, i, first, begin_ns, width);
	return err;
}

/* --- what coincides --------------------------------------------------------------------------------------- */

struct judging {
	struct diff_overlap *overlap;
	const struct diff_filter *disturber;
	bool *active;        /* by bucket */
	double *value;       /* by bucket: what the class waited */
	struct part *blocks; /* overlap->blocks of them */
	uint32_t *times;
};

static bool same_wait(const struct lane *a, const struct lane *b)
{
	return !strcmp(a->stall, b->stall) && !strcmp(a->device, b->device);
}

/* Marks the buckets in which the disturber waited for the lane's cause on its device. False: in none. */
static bool find_active(struct judging *judging, const struct lane *of)
{
	const struct overlap_lanes *lanes = judging->overlap->lanes;
	bool any = false;

	memset(judging->active, 0, judging->overlap->buckets * sizeof(*judging->active));
	for (size_t i = 0; i < lanes->count; i++) {
		const struct lane *lane = &lanes->lane[i];

		if (!same_wait(lane, of) || !diff_filter_class(judging->disturber, lane->class))
			continue;
		for (size_t p = 0; p < lane->points.count; p++)
			if (lane->points.value[p] > 0)
				any = judging->active[lane->points.window[p]] = true;
	}
	return any;
}

/* Sums each block, and all of them. */
static struct part sum_blocks(struct judging *judging, const struct lane *lane)
{
	const struct diff_overlap *overlap = judging->overlap;
	struct part whole = { .active_ns = 0 };

	memset(judging->value, 0, overlap->buckets * sizeof(*judging->value));
	memset(judging->blocks, 0, overlap->blocks * sizeof(*judging->blocks));
	for (size_t p = 0; p < lane->points.count; p++)
		judging->value[lane->points.window[p]] += lane->points.value[p];
	for (size_t b = 0; b < overlap->buckets; b++) {
		struct part *block = &judging->blocks[b * overlap->blocks / overlap->buckets];
		bool active = judging->active[b];

		*(active ? &block->active_ns : &block->other_ns) += overlap->lanes->duration_ns[b];
		*(active ? &block->together : &block->apart) += judging->value[b];
	}
	for (size_t i = 0; i < overlap->blocks; i++) {
		whole.active_ns += judging->blocks[i].active_ns;
		whole.other_ns += judging->blocks[i].other_ns;
		whole.together += judging->blocks[i].together;
		whole.apart += judging->blocks[i].apart;
	}
	return whole;
}

static double expected(const struct part *part)
{
	return part->other_ns > 0 ? part->apart / part->other_ns * part->active_ns : 0;
}

static double spread(struct judging *judging, double caused)
{
	size_t blocks = judging->overlap->blocks, draws = 0;
	uint64_t state = DIFF_SEED;
	double sum = 0;

	for (size_t d = 0; d < DIFF_DRAWS; d++) {
		struct part part = { .active_ns = 0 };

		diff_draw(judging->times, blocks, &state);
		for (size_t i = 0; i < blocks; i++) {
			part.active_ns += judging->times[i] * judging->blocks[i].active_ns;
			part.other_ns += judging->times[i] * judging->blocks[i].other_ns;
			part.together += judging->times[i] * judging->blocks[i].together;
			part.apart += judging->times[i] * judging->blocks[i].apart;
		}
		if (!(part.other_ns > 0))
			continue;
		draws++;
		sum += pow(part.together - expected(&part) - caused, 2);
	}
	return draws ? sqrt(sum / (double)draws) * sqrt((double)blocks / (double)(blocks - 1)) : 0;
}

static void judge_lane(struct judging *judging, const struct lane *lane, double confidence,
                       struct diff_overlap_row *row)
{
	struct part whole = sum_blocks(judging, lane);
	double caused, wide;

	*row = (struct diff_overlap_row){ .class = lane->class,
		                          .stall = lane->stall,
		                          .device = lane->device,
		                          .whole_ns = whole.together + whole.apart,
		                          .together_ns = whole.together,
		                          .expected_ns = expected(&whole),
		                          .active_ns = whole.active_ns,
		                          .judged = judging->overlap->blocks > 1 && whole.other_ns > 0 };
	if (!row->judged)
		return;
	caused = row->together_ns - row->expected_ns;
	wide = diff_student(confidence, (double)judging->overlap->blocks - 1) * spread(judging, caused);
	row->low_ns = caused - wide;
	row->high_ns = caused + wide;
}

static int compare_rows(const void *left, const void *right)
{
	const struct diff_overlap_row *a = left, *b = right;
	double first = a->together_ns - a->expected_ns, second = b->together_ns - b->expected_ns;

	return (second > first) - (second < first);
}

static void judge_lanes(struct judging *judging, double confidence)
{
	struct diff_overlap *overlap = judging->overlap;

	for (size_t i = 0; i < overlap->lanes->count; i++) {
		const struct lane *lane = &overlap->lanes->lane[i];

		if (diff_filter_class(judging->disturber, lane->class) || !find_active(judging, lane))
			continue;
		judge_lane(judging, lane, confidence, &overlap->rows[overlap->count++]);
	}
	qsort(overlap->rows, overlap->count, sizeof(*overlap->rows), compare_rows);
}

int diff_overlap_judge(struct diff_overlap *overlap, const struct diff_filter *disturber, double confidence)
{
	size_t n = overlap->buckets;
	struct judging judging = { .overlap = overlap, .disturber = disturber };
	int err = -ENOMEM;

	overlap->blocks = n < DIFF_BLOCKS_MAX ? n : DIFF_BLOCKS_MAX;
	for (size_t b = 0; b < n; b++)
		overlap->bucket_ns += overlap->lanes->duration_ns[b] / (double)n;
	overlap->rows = calloc(overlap->lanes->count + 1, sizeof(*overlap->rows));
	judging.active = calloc(n + 1, sizeof(*judging.active));
	judging.value = calloc(n + 1, sizeof(*judging.value));
	judging.blocks = calloc(overlap->blocks + 1, sizeof(*judging.blocks));
	judging.times = calloc(overlap->blocks + 1, sizeof(*judging.times));
	if (overlap->rows && judging.active && judging.value && judging.blocks && judging.times) {
		judge_lanes(&judging, confidence);
		err = 0;
	}
	free(judging.active);
	free(judging.value);
	free(judging.blocks);
	free(judging.times);
	return err;
}
