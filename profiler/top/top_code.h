/*
 * Which lines of the program's own code its waits come from: samples of one cause and device, or of all waits that
 * are no stalls, summed by class and by the innermost line of own code in their stack (loaded_frames.h), the heaviest
 * first.
 */
#ifndef STALLPROF_PROFILER_TOP_CODE_H
#define STALLPROF_PROFILER_TOP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_sample.h"

struct loaded_profiles;
struct loaded_wakers;

/* What waits were for through the threads that ended them. */
struct top_inherited {
	const char *waker, *from, *stall,
	        *device; /* who ended them; whose wait that is, for what; "": no device */
	int64_t ns;      /* 0: nothing is known */
};

/* Who ended waits: the class or the name of a thread. "": not known. */
struct top_waker {
	const char *name;
	int64_t ns;
};

struct top_code {
	const char *class; /* as the ledger's table has it; with a filter for a tag, that */
	const char *line;  /* function file:line */
	const char *stall; /* of blocked ones, the kind of wait */
	bool gil;          /* a lock, and that CPython's GIL */
	int64_t ns, waits;
	size_t sample; /* the heaviest one's index */
	int64_t sample_ns;
	const struct top_waker *wakers; /* whoever ended most first; there is one at least */
	size_t n_wakers;
	const struct top_inherited *inherited; /* the longest first; its waker may be another one */
	size_t n_inherited;
	bool base; /* its tag is that of a process */
};

struct top_section {
	const char *stall;  /* "blocked" for waits that are no stalls */
	const char *device; /* "": not known, or none */
	bool blocked;
	int64_t ns, waits;
	struct top_code *code; /* heaviest first */
	size_t count;
};

struct top_sections {
	struct top_section *sections; /* stalls, heaviest first, then what is blocked, if there is any */
	size_t count;
	struct code_memory *memory;
};

/* Sums the type `type` and, for waits, `waits_type` (negative: there is none). 0 or -ENOMEM; only after 0 is there
 * something to free. */
int top_sections_build(struct top_sections *out, const struct loaded_profiles *input,
                       const struct loaded_tags *tags, const struct loaded_filter *filter, size_t type,
                       int waits_type);
void top_sections_free(struct top_sections *sections);

/* What the sections are made of, and how much of them is to be printed: for top_code_text.h and
 * top_blocked_text.h. */
struct top_code_text {
	const struct loaded_profiles *input;
	const struct loaded_tags
	        *tags; /* NULL: it is not known which samples are of waits that are no stalls */
	const struct loaded_filter *filter;
	const struct loaded_classes *classes;
	const struct top_processes *processes; /* NULL: not known */
	const struct loaded_wakers *wakers;    /* NULL: names are not told to be tags or programs */
	size_t limit;                          /* lines of code a section; 0: all */
	size_t columns;                        /* 0: no bound */
	bool native;                           /* whole stacks, with all frames */
	bool on_cpu;                           /* what is summed is not waits, but samples of CPUs */
	const char *
	        counted; /* what is summed is no time, but a number of these, say "waits"; NULL: nanoseconds */
};

#endif
