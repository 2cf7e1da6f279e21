/*
 * The way from a tag to a cause: which classes waited for it, at which line of their own code, in which call, in
 * which function of the kernel, with the time of each.
 */
#ifndef STALLPROF_PROFILER_REPORT_PATH_H
#define STALLPROF_PROFILER_REPORT_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/report/report_chain.h"
#include "profiler/report/report_rank.h"

struct loaded_profiles;
struct loaded_tags;

#define REPORT_PATHS_MAX  3 /* that are kept, the heaviest first */
#define REPORT_LABELS_MAX 12
#define REPORT_TEXT_MAX   1024

/* One class's waits for the cause at one line. */
struct report_path {
	char class[256], own[REPORT_TEXT_MAX], call[REPORT_TEXT_MAX], kernel[REPORT_TEXT_MAX];
	char tag[256]; /* of the heaviest sample: its name, and id if it has one */
	int64_t ns, waits;
};

/* What the samples of the cause are labelled with besides: an NVMe queue, a tag's pool, a GPU's timeline. */
struct report_label {
	char key[64], value[128];
	int64_t ns; /* of samples with it */
};

struct report_paths {
	struct report_path path[REPORT_PATHS_MAX];
	size_t count;
	struct report_label label[REPORT_LABELS_MAX]; /* the heaviest first */
	size_t label_count;
	struct report_chains chains; /* who waited for it through others, or for what others waited */
	int64_t ns;                  /* of all samples of the cause */
	int64_t gil_ns;              /* of those that wait for CPython's GIL */
	bool whole;                  /* the samples are of the whole run, as they do not say when they were */
	uint64_t
	        slice_ns; /* they are of slices of time so wide, of which the incident fills few; 0: of none such */
	int64_t holder_ns; /* what else: time of the worker that brings the device back (recovery) */
	char holder[REPORT_TEXT_MAX];
};

/* Of the samples of `cause` between begin_ns and end_ns. A cause that is the run queue has no samples: count is 0. 0 or
 * -ENOMEM. */
int report_paths_find(struct report_paths *paths, const struct loaded_profiles *input,
                      const struct loaded_tags *tags, const struct report_cause *cause, uint64_t begin_ns,
                      uint64_t end_ns);

#endif
