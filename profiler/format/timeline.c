/* Values by lane and bucket of time, in sorted arrays that get coarser when they grow too large. */

#include "profiler/format/saturating.h"
#include "profiler/format/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/growing_array.h"
#include "symbolizer/base/search.h"

struct lane {
	struct timeline_lane key;
	struct timeline_point *points;
	size_t count, room;
};

struct timeline {
	struct lane *lanes;
	size_t count, room;
	size_t points, max_points; /* of all lanes */
	size_t recent;             /* the lane that was asked for last: often the next, too */
	size_t users;              /* lanes of processes */
	size_t max_lanes;
	uint64_t *refused; /* hashes of the lanes that timeline_refuse() was told of */
	size_t refused_count, refused_room;
};

static const char *const kind_names[TIMELINE_KINDS] = {
	[TIMELINE_STALL] = "stall",       [TIMELINE_BLOCKED] = "blocked", [TIMELINE_ONCPU] = "oncpu",
	[TIMELINE_RUNQUEUE] = "runqueue", [TIMELINE_STEPS] = "steps",     [TIMELINE_SIGNAL] = "signal",
	[TIMELINE_SPIN] = "spin",
};

const char *timeline_kind_name(enum timeline_kind kind)
{
	return (unsigned)kind < TIMELINE_KINDS ? kind_names[kind] : "?";
}

struct timeline *timeline_new(size_t max_points)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (timeline)
		timeline->max_points = max_points ? max_points : TIMELINE_POINTS_MAX;
	if (timeline)
		timeline->max_lanes = TIMELINE_LANES_MAX;
	return timeline;
}

void timeline_allow_many(struct timeline *timeline)
{
	timeline->max_lanes = TIMELINE_READ_LANES_MAX;
}

static void lane_free(struct lane *lane)
{
	free((char *)lane->key.class);
	free((char *)lane->key.name);
	free((char *)lane->key.device);
	free(lane->points);
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->count; i++)
		lane_free(&timeline->lanes[i]);
	free(timeline->lanes);
	free(timeline->refused);
	free(timeline);
}

size_t timeline_count(const struct timeline *timeline)
{
	return timeline->count;
}

const struct timeline_lane *timeline_lane_at(const struct timeline *timeline, size_t index)
{
	return index < timeline->count ? &timeline->lanes[index].key : NULL;
}

const struct timeline_point *timeline_points(const struct timeline *timeline, size_t index, size_t *count)
{
	*count = index < timeline->count ? timeline->lanes[index].count : 0;
	return *count ? timeline->lanes[index].points : NULL;
}

/* --- lanes ------------------------------------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_lane(const struct timeline_lane *a, const struct timeline_lane *b)
{
	return a->kind == b->kind && same_text(a->class, b->class) && same_text(a->name, b->name) &&
	       same_text(a->device, b->device);
}

static int lane_init(struct lane *lane, const struct timeline_lane *key)
{
	memset(lane, 0, sizeof(*lane));
	lane->key = (struct timeline_lane){ .kind = key->kind,
		                            .class = strdup(key->class ? key->class : ""),
		                            .name = strdup(key->name ? key->name : ""),
		                            .device = strdup(key->device ? key->device : ""),
		                            .bucket_ns = key->bucket_ns };
	if (lane->key.class && lane->key.name && lane->key.device)
		return 0;
	lane_free(lane);
	return -ENOMEM;
}

static bool is_of_a_process(const struct timeline_lane *lane)
{
	return lane->kind == TIMELINE_SIGNAL && lane->name &&
	       (!strcmp(lane->name, HOST_USER_CPU) || !strcmp(lane->name, HOST_USER_DISK)) &&
	       !same_text(lane->class, HOST_USER_OTHERS);
}

/* The lane with that key, or NULL. */
static struct lane *lane_find(struct timeline *timeline, const struct timeline_lane *key)
{
	for (size_t i = 0; i < timeline->count; i++) {
		size_t index = (timeline->recent + i) % timeline->count;

		if (same_lane(&timeline->lanes[index].key, key)) {
			timeline->recent = index;
			return &timeline->lanes[index];
		}
	}
	return NULL;
}

static int lane_get(struct timeline *timeline, const struct timeline_lane *key, struct lane **out)
{
	struct timeline_lane others = *key;
	int err;

	*out = lane_find(timeline, key);
	if (!*out && is_of_a_process(key) && timeline->users == TIMELINE_USERS_MAX) {
		others.class = HOST_USER_OTHERS;
		key = &others;
		*out = lane_find(timeline, key);
	}
	if (*out)
		return 0;
	if (timeline->count == timeline->max_lanes)
		return -ENOSPC;
	err = growing_array_reserve((void **)&timeline->lanes, timeline->count + 1, &timeline->room,
	                            sizeof(**out), timeline->max_lanes);
	if (err)
		return err;
	*out = &timeline->lanes[timeline->count];
	err = lane_init(*out, key);
	if (err)
		return err;
	timeline->count++;
	timeline->users += is_of_a_process(key);
	return 0;
}

static bool can_widen(uint64_t bucket_ns)
{
	return bucket_ns <= TIMELINE_BUCKET_MAX_NS / 2;
}

/* Makes the lane's buckets twice as wide. */
static void widen(struct timeline *timeline, struct lane *lane)
{
	uint64_t bucket_ns = lane->key.bucket_ns * 2;
	size_t n = 0;

	for (size_t i = 0; i < lane->count; i++) {
		struct timeline_point point = lane->points[i];

		point.begin_ns -= point.begin_ns % bucket_ns;
		if (n && lane->points[n - 1].begin_ns == point.begin_ns)
			lane->points[n - 1].value = saturating_add(lane->points[n - 1].value, point.value);
		else
			lane->points[n++] = point;
	}
	timeline->points -= lane->count - n;
	lane->count = n;
	lane->key.bucket_ns = bucket_ns;
}

/* Makes the narrowest buckets that there are twice as wide. False: they are as wide as may be. */
static bool widen_narrowest(struct timeline *timeline)
{
	uint64_t narrowest_ns = UINT64_MAX;

	for (size_t i = 0; i < timeline->count; i++) {
		if (timeline->lanes[i].key.bucket_ns < narrowest_ns)
			narrowest_ns = timeline->lanes[i].key.bucket_ns;
	}
	if (!can_widen(narrowest_ns))
		return false;
	for (size_t i = 0; i < timeline->count; i++) {
		if (timeline->lanes[i].key.bucket_ns == narrowest_ns)
			widen(timeline, &timeline->lanes[i]);
	}
	return true;
}

/* --- lanes that found no room ----------------------------------------------------------------------------- */

/* FNV-1a of its key. */
static uint64_t hash_of(const struct timeline_lane *lane)
{
	const char *texts[] = { lane->class, lane->name, lane->device };
	uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)lane->kind;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (const char *at = texts[i] ? texts[i] : ""; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
		hash = (hash ^ 0xff) * 0x100000001b3u; /* no byte of a text */
	}
	return hash;
}

int timeline_refuse(struct timeline *timeline, const struct timeline_lane *lane)
{
	uint64_t hash = hash_of(lane);
	int err;

	for (size_t i = 0; i < timeline->refused_count; i++)
		if (timeline->refused[i] == hash)
			return 0;
	err = growing_array_reserve((void **)&timeline->refused, timeline->refused_count + 1,
	                            &timeline->refused_room, sizeof(*timeline->refused),
	                            TIMELINE_REFUSED_MAX);
	if (!err)
		timeline->refused[timeline->refused_count++] = hash;
	return err == -EFBIG ? 0 : err;
}

size_t timeline_refused(const struct timeline *timeline)
{
	return timeline ? timeline->refused_count : 0;
}

/* --- points ----------------------------------------------------------------------------------------------- */

/* How many buckets of the lane [begin_ns, end_ns) touches. */
static uint64_t buckets_of(const struct lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t last_ns = end_ns > begin_ns ? end_ns - 1 : begin_ns;

	return last_ns / lane->key.bucket_ns - begin_ns / lane->key.bucket_ns + 1;
}

static int make_room(struct timeline *timeline, struct lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	while (buckets_of(lane, begin_ns, end_ns) > timeline->max_points / 2) {
		if (!can_widen(lane->key.bucket_ns))
			return -ENOSPC;
		widen(timeline, lane);
	}
	while (timeline->points + buckets_of(lane, begin_ns, end_ns) > timeline->max_points) {
		if (!widen_narrowest(timeline))
			return -ENOSPC;
	}
	return growing_array_reserve((void **)&lane->points,
	                             lane->count + (size_t)buckets_of(lane, begin_ns, end_ns), &lane->room,
	                             sizeof(*lane->points), SIZE_MAX);
}

/* There is room for one. */
static void add_point(struct timeline *timeline, struct lane *lane, uint64_t begin_ns, int64_t value)
{
	struct timeline_point *points = lane->points;
	size_t at = lane->count;

	if (at && points[at - 1].begin_ns >= begin_ns)
		at = search_past(i, 0, lane->count, points[i].begin_ns < begin_ns);
	if (at < lane->count && points[at].begin_ns == begin_ns) {
		points[at].value = saturating_add(points[at].value, value);
		return;
	}
	memmove(points + at + 1, points + at, (lane->count - at) * sizeof(*points));
	points[at] = (struct timeline_point){ .begin_ns = begin_ns, .value = value };
	lane->count++;
	timeline->points++;
}

int timeline_add(struct timeline *timeline, const struct timeline_lane *key, uint64_t begin_ns,
                 uint64_t end_ns, int64_t value)
{
	uint64_t whole_ns = end_ns - begin_ns, bucket_ns, bucket;
	struct lane *lane;
	int64_t told = 0;
	int err;

	if (end_ns < begin_ns || !key->bucket_ns || key->bucket_ns > TIMELINE_BUCKET_MAX_NS ||
	    (unsigned)key->kind >= TIMELINE_KINDS)
		return -EINVAL;
	err = lane_get(timeline, key, &lane);
	if (err)
		return err;
	while (lane->key.bucket_ns < key->bucket_ns && can_widen(lane->key.bucket_ns))
		widen(timeline, lane);
	err = make_room(timeline, lane, begin_ns, end_ns);
	if (err)
		return err;
	bucket_ns = lane->key.bucket_ns;
	bucket = begin_ns - begin_ns % bucket_ns;
	for (uint64_t i = buckets_of(lane, begin_ns, end_ns); i; i--, bucket += bucket_ns) {
		bool last = i == 1;
		int64_t upto = last ? value
		                    : (int64_t)((__int128)value * (bucket + bucket_ns - begin_ns) / whole_ns);

		if (upto != told)
			add_point(timeline, lane, bucket, upto - told);
		told = upto;
	}
	return 0;
}

int timeline_merge(struct timeline *timeline, const struct timeline *from)
{
	int first = 0;

	for (size_t i = 0; i < timeline_count(from); i++) {
		const struct timeline_lane *lane = timeline_lane_at(from, i);
		size_t count;
		const struct timeline_point *points = timeline_points(from, i, &count);
		int err = 0;

		for (size_t p = 0; p < count && !err; p++)
			err = timeline_add(timeline, lane, points[p].begin_ns,
			                   points[p].begin_ns + lane->bucket_ns, points[p].value);
		first = first ? first : err;
	}
	return first;
}
