/* What stallprof doctor has found on this host, and what that means for each row of the probe table, and each cause. */
#ifndef STALLPROF_PROFILER_DOCTOR_FINDINGS_H
#define STALLPROF_PROFILER_DOCTOR_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/cli/host_check.h"
#include "profiler/config/config.h"
#include "profiler/tracer/tracer.h"

struct probe_host;

/* One line of the host's part of the report. */
struct doctor_fact {
	const char *name;
	bool good;
	char advice[600]; /* when it is not */
};

#define DOCTOR_FACTS_MAX 24

/* What the report is made of. */
struct doctor_findings {
	struct host_facts host;
	const struct config *config; /* the one given; NULL: none was */
	struct doctor_fact facts[DOCTOR_FACTS_MAX];
	size_t n_facts;
	struct probe_host *probes; /* NULL without BTF */
	struct tracer *tracer;     /* with all hooks attached; NULL when that cannot be */
	char why_not[2048];        /* that cannot be: a line, and what the verifier said below it */
};

/* NULL when the row can be attached, else why not. */
const char *doctor_row_missing(const struct doctor_findings *found, size_t row);

/* Whether there is something here for the row to do. */
bool doctor_row_needed(const struct doctor_findings *found, size_t row);

/* What would help; "" when the host's part of the report or the reason says it already. */
const char *doctor_row_advice(const struct doctor_findings *found, size_t row);

/* Whether an earlier row is of the same cause. */
bool doctor_names_cause_before(size_t row);

/* Whether any of its rows has something to do. */
bool doctor_cause_needed(const struct doctor_findings *found, const char *cause);

/* How much is seen of what a cause's hooks are for. */
enum doctor_seen { DOCTOR_SEEN_WHOLE, DOCTOR_SEEN_PART, DOCTOR_SEEN_NOTHING, DOCTOR_SEEN_UNNEEDED };

enum doctor_seen doctor_cause_seen(const struct doctor_findings *found, const char *cause);

#endif
