/*
 * One side of a comparison: its windows, and what of their ledgers and stamps is needed to normalise and to compare.
 */
#ifndef STALLPROF_PROFILER_DIFF_SIDE_H
#define STALLPROF_PROFILER_DIFF_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "profiler/diff/diff_classes.h"
#include "profiler/diff/diff_filter.h"
#include "profiler/diff/diff_input.h"
#include "profiler/loaded/loaded_slices.h"

struct loaded_sample;
struct stamp;

/* What a comparison may be normalised by. */
enum diff_per {
	DIFF_PER_WALL,
	DIFF_PER_TAG,
	DIFF_PER_STEP,
	DIFF_PER_IO,
	DIFF_PER_BYTES,
	DIFF_PER_NONE,
	DIFF_PERS
};

/* Kept beside what may be normalised by: the time of processes' own tags, until diff_side_settle() says whether it counts. */
enum { DIFF_BASE_TIME = DIFF_PERS, DIFF_AMOUNTS };

/* wall, tag, step, io, bytes, none; false: none of them. */
const char *diff_per_name(enum diff_per per);
bool diff_per_parse(const char *name, enum diff_per *per);

/* Of the samples, ledger rows and requests that the side's filter lets pass. */
struct diff_window {
	int64_t begin_ns, wall_ns; /* Unix time; wall_ns 0: the profile does not say */
	/* wall_ns, ns of wall time of tags, steps (diff_steps.h), requests, bytes, waits, and DIFF_BASE_TIME */
	double amount[DIFF_AMOUNTS];
	double (*of)[DIFF_AMOUNTS]; /* the same of each class, but for wall_ns: DIFF_CLASSES_MAX of them */
};

/* An exact tag; its name as tag_hash.h has it. */
struct diff_tag {
	bool known;
	int64_t hash;
	uint64_t id;
};

/* From so many steps on a class is a loop's: of tags without ids there is one a run. */
#define DIFF_STEPS_MANY 10

struct diff_side {
	const char *place; /* the caller's */
	struct diff_filter filter;
	struct diff_window *windows;
	size_t count;
	bool sliced;                  /* windows are slices of the time of one file */
	double amount[DIFF_AMOUNTS];  /* sums over windows */
	bool pushed, any_pushed;      /* it has tags that are pushed: that pass its filter; any */
	struct diff_classes *classes; /* the caller's */
	struct stamp *stamp;
	size_t files, foreign_files, rewritten_files, malformed_lines;
	size_t samples_passed; /* its filter */
	size_t wait_samples;   /* of waits that are no stalls, whatever the filter */
	size_t oncpu_samples;  /* of time on a CPU outside of stalls (--oncpu-hz), likewise */
	size_t ledger_rows, ledger_rows_passed; /* by tag and process */
	bool ledger_has[DIFF_CLASSES_MAX];      /* which classes those are of */
	double waited_ns[ABI_WAIT_KINDS];       /* and how long they waited, by loaded_wait_kind() */
	double base_waited_ns[ABI_WAIT_KINDS];  /* so of processes' own tags, until diff_side_settle() */
	double runqueue_ns;                     /* and for a CPU */
	double tag_ns, stall_count;             /* time of tags and number of stalls, whatever the filter */
	double base_ns;                         /* of processes' own tags, until diff_side_settle() */
	struct diff_tag first_tag[DIFF_CLASSES_MAX];
	bool several_tags[DIFF_CLASSES_MAX]; /* which classes have them, by name or id, whatever the filter */
	struct diff_input_news news;
};

/* 0 or -ENOMEM; only after 0 is there something to release. The filter stays the caller's until diff_side_release(), which releases
 * it. */
int diff_side_init(struct diff_side *side, const char *place, struct diff_classes *classes);
void diff_side_release(struct diff_side *side);

/* Adds the windows of a profile: one, or a lone file's slices. *first is the number of the first of them. 0, -ENOMEM. */
int diff_side_add(struct diff_side *side, const struct loaded_profiles *input,
                  const struct loaded_slices *slices, size_t *first);

/* After the last window of both: tags of processes, which mostly idle, count only where there are no others. Of two recordings neither has
 * others then; of two filters of one (`paired`) each side is looked at by itself. What such threads waited for counts only where neither
 * side has others, or its filter names them. */
void diff_side_settle(struct diff_side side[2], bool paired);

/* Shares out what the windows from `first` on have of a class's amount in all, in the proportion of parts[0] ...: how much of it
 * came in a slice is known in proportion only. `per`: of enum diff_per, or DIFF_BASE_TIME. */
void diff_side_share(struct diff_side *side, size_t first, int class, unsigned int per, const double *parts);

/* Adds to a window's number of waits. */
void diff_side_add_waits(struct diff_side *side, size_t window, int class, double waits);

/* Counts a sample, whether or not the filter lets it pass. */
void diff_side_count(struct diff_side *side, const struct loaded_sample *sample, bool passes, double waits);

#endif
