/*
 * When it was: how much of something there was in each bucket of time.
 *
 *     timeline_add(timeline, &lane, begin_ns, end_ns, value)    any number, any order
 *     timeline_to_notes(timeline, profile)
 *
 * A lane is what is told apart: a kind, a class of tags, a name, a device. All times are Unix times in nanoseconds. A
 * timeline has bounded memory: when there are too many points, the lanes with the narrowest buckets get buckets twice as
 * wide. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_TIMELINE_H
#define STALLPROF_PROFILER_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

struct profile;

#define TIMELINE_WAITS_BUCKET_NS  10000000ULL   /* of stalls and blocked waits, at first */
#define TIMELINE_LEDGER_BUCKET_NS 1000000000ULL /* of what the ledger tells */
#define TIMELINE_BUCKET_MAX_NS    (86400 * 1000000000ULL)
#define TIMELINE_LANES_MAX        512
#define TIMELINE_READ_LANES_MAX   4096 /* of profiles read again, which may be many windows */
#define TIMELINE_REFUSED_MAX      4096 /* lanes without room that are counted */

/* Signals that are of a process, which is their class (profiler/session/host_users.h). A host may have any number of processes: beyond
 * TIMELINE_USERS_MAX lanes of them the others are one lane a name and device, of the class HOST_USER_OTHERS. */
#define HOST_USER_CPU       "cpu_user"
#define HOST_USER_DISK      "disk_user"
#define HOST_USER_OTHERS    "others"
#define TIMELINE_USERS_MAX  128
#define TIMELINE_POINTS_MAX (1u << 17)

enum timeline_kind {
	TIMELINE_STALL,    /* ns of waits that kept their stack, and of those that they stand for */
	TIMELINE_BLOCKED,  /* the same of waits that are no stalls: those told with stacks */
	TIMELINE_ONCPU,    /* ns by the ledger */
	TIMELINE_RUNQUEUE, /* ns by the ledger */
	TIMELINE_STEPS,    /* exact tags of a class, when they were first seen */
	TIMELINE_SIGNAL,   /* of the host; its name says the unit */
	TIMELINE_SPIN, /* ns on a CPU in a call that waits for a GPU or other ranks, sampled: a part of ONCPU */
	TIMELINE_KINDS
};

struct timeline_lane {
	enum timeline_kind kind;
	const char *class;  /* the value of ai_tag; "": of no tag */
	const char *name;   /* a stall, a kind of wait, or a signal */
	const char *device; /* "": not known, or none */
	uint64_t bucket_ns; /* width of its buckets; no part of what tells lanes apart */
};

struct timeline_point {
	uint64_t begin_ns; /* a multiple of the lane's bucket_ns */
	int64_t value;     /* negative: taken back from what an earlier profile said */
};

struct timeline;

/* stall, blocked, oncpu, runqueue, steps, signal, spin */
const char *timeline_kind_name(enum timeline_kind kind);

/* `max_points`: 0: TIMELINE_POINTS_MAX. NULL with errno ENOMEM. */
struct timeline *timeline_new(size_t max_points);
/* Lets it have up to TIMELINE_READ_LANES_MAX lanes, in place of TIMELINE_LANES_MAX. */
void timeline_allow_many(struct timeline *timeline);
void timeline_free(struct timeline *timeline);

/*
 * Spreads `value` evenly over [begin_ns, end_ns), or puts it into the bucket of begin_ns if that is empty. NULL strings
 * count as "". A lane that has narrower buckets gets `bucket_ns` or wider; one with wider buckets keeps them. 0; -ENOMEM; -ENOSPC beyond
 * its number of lanes, or when no buckets are wide enough; -EINVAL: an end before its begin, or a bucket of 0 or over
 * TIMELINE_BUCKET_MAX_NS.
 */
int timeline_add(struct timeline *timeline, const struct timeline_lane *lane, uint64_t begin_ns,
                 uint64_t end_ns, int64_t value);

/* Adds all lanes of another one. A lane that there is no room for is left out, the others are added all the same. 0, or what the first
 * timeline_add() that failed said. */
int timeline_merge(struct timeline *timeline, const struct timeline *from);

/* Counts a lane that found no room, once. 0 or -ENOMEM. */
int timeline_refuse(struct timeline *timeline, const struct timeline_lane *lane);
/* How many there were, up to TIMELINE_REFUSED_MAX: what the others say is then not all. NULL has none. */
size_t timeline_refused(const struct timeline *timeline);

/* Lanes in the order of their first addition. What is handed out lives until the next call that adds. */
size_t timeline_count(const struct timeline *timeline);
const struct timeline_lane *timeline_lane_at(const struct timeline *timeline, size_t index);
/* Sorted by time; buckets to which nothing was added have no point. */
const struct timeline_point *timeline_points(const struct timeline *timeline, size_t index, size_t *count);

/*
 * Adds notes in the form of note_line.h, each of 2048 points at most:
 *
 *     stallprof.timeline kind=stall class=ckpt name=block_io device=vda bucket_ns=10000000 begin_ns=… data=0:9500000,1:10000000
 *
 * data has, for each point, how many buckets it is behind the one before it (the first: behind begin_ns), and its
 * value. 0, -ENOMEM, or what profile_add_note says.
 */
int timeline_to_notes(const struct timeline *timeline, struct profile *profile);

/* Adds what the notes say. Lines that are not as above, or of times beyond INT64_MAX, are read as far as they are, and counted
 * in *malformed (added to it; may be NULL), but for lanes that find no room: these are timeline_refuse()d. 0 or -ENOMEM. */
int timeline_from_notes(struct timeline *timeline, const struct profile *profile, size_t *malformed);

#endif
