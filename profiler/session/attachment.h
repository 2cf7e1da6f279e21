/*
 * Decides when the hot programs are attached: while something is tagged or may be, and for ATTACHMENT_LINGER_NS
 * after. When it attaches, threads that were tagged before are adopted.
 *
 *	struct attachment a = { .tracer = …, .watch = …, .families = …, .always = …, .say = … };
 *	attachment_wanted(&a, now);			after each look at processes, until it says yes
 *	attachment_begin(&a, err, sizeof(err));		the first time
 *	attachment_hold(&a, now);			ten times a second
 */
#ifndef STALLPROF_PROFILER_ATTACHMENT_H
#define STALLPROF_PROFILER_ATTACHMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/format/say.h"

struct families;
struct tag_watch;
struct tracer;

#define ATTACHMENT_LINGER_NS 10000000000ULL
#define ATTACHMENT_RETRY_NS  1000000000ULL

/* What the decision is made from: the functions of these names in tag_watch.h and families.h. A test has its
 * own. */
struct attachment_finder {
	bool (*take_held)(struct tag_watch *watch);
	bool (*take_changed)(struct tag_watch *watch);
	bool (*needs_attach)(const struct tag_watch *watch);
	int (*look)(struct families *families);
};

struct attachment {
	struct tracer *tracer;
	struct tag_watch *watch;
	struct families *families; /* those who were forked while we attached are adopted, too */
	bool always;               /* do not wait for a tag */
	say_fn say;
	const struct attachment_finder *finder; /* NULL: those of tag_watch.h and families.h */

	/* Set by the functions below. */
	uint64_t tagged_ns; /* tracer_tagged_ns() when it was looked at last */
	uint64_t wanted_ns; /* when somebody was tagged last */
	uint64_t due_ns;    /* since when they are wanted */
	uint64_t failed_ns; /* when attaching failed last; 0: it did not */
	uint64_t count;     /* how often they were attached */
	uint64_t
	        late_ns; /* from when they were wanted until they were attached, by attachment_hold(), in sum */
	bool wanted;
	bool adopt; /* processes were added that the iterator has not adopted */
};

/* Whether the programs are to be attached at `now_ns` (CLOCK_MONOTONIC). */
bool attachment_wanted(struct attachment *a, uint64_t now_ns);

/* Attaches if that is wanted. 0 or -errno with a line. */
int attachment_begin(struct attachment *a, char *err, size_t err_len);

/* Attaches, adopts or detaches. What fails is said once, and tried again each second. */
void attachment_hold(struct attachment *a, uint64_t now_ns);

#endif
