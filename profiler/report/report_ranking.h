/* What a ranking is made of: report_incident.h fills the first part, report_rank.h the rest. */
#ifndef STALLPROF_PROFILER_REPORT_RANKING_H
#define STALLPROF_PROFILER_REPORT_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/format/timeline.h"
#include "profiler/report/report_families.h"
#include "profiler/report/report_series.h"
#include "profiler/report/report_spins.h"
#include "profiler/report/report_spikes.h"

struct report_untold;

/* What report_live.h has found while it went on. */
struct report_hint {
	uint64_t begin_ns, end_ns; /* Unix time; end_ns: 0 while it goes on */
	uint64_t baseline_begin_ns, baseline_end_ns;
	bool by_fault; /* then the place is looked for again: it is a short one */
	bool by_steps; /* steps came more slowly, while not more time was lost than varies anyway */
};

#define RANK_ALPHA   0.5
#define RANK_LAG_NS  200000000ULL
#define RANK_STEP_NS 10000000ULL  /* of the correlation */
#define RANK_REACH   2            /* values to either side over which spikes are smoothed */
#define RANK_WIDE_NS 100000000ULL /* of the spikes */

struct report_cause {
	enum timeline_kind kind; /* a stall, blocked, runqueue or signal */
	const char *name;        /* as in the label `stall`; "runqueue"; a signal */
	const char *device;
	enum report_family family;
	bool indirect;
	double z, spike, correlation, score;
	long lag_ms;           /* by how much the symptom comes later */
	double before, during; /* per nanosecond: threads, or of a signal its own rate */
	bool before_unknown;   /* the given baseline did not look at this signal: z is 0 */
	double excess_ns;      /* lost in the incident beyond the baseline */
	double share;          /* of all growth; of a steady run, of the wall time */
	double of_loop;        /* of a steady run, of the loop's wall time; 0 where no loop is known */
	double felt;           /* likewise, the most that it may have cost the loop; 1 where none is known */
};

/* A stretch that stands out. */
struct report_stretch {
	struct report_spike spike;
	uint64_t begin_ns, end_ns; /* Unix time */
	bool looked_into;
	bool in_incident;
	const char *name, *device; /* its primary cause, if it was looked into; NULL: none took much */
};

/* When no tagged thread was there (report_away.h). */
struct report_away {
	uint64_t ns; /* all stretches of REPORT_AWAY_NS and longer; 0: there is none, or it cannot be told */
	uint64_t begin_ns, end_ns; /* the longest, Unix time */
	size_t count;
	bool blind; /* no waits that are no stalls are in the timeline */
};

/* The class whose work grew where steps came more slowly (report_oncpu.h). */
struct report_oncpu {
	const char *class;           /* NULL: there is none */
	double before_ns, during_ns; /* on a CPU for each step */
};

enum report_mode {
	REPORT_NOTHING, /* no stall is to blame */
	REPORT_SPIKE,
	REPORT_STEADY /* slow all the time */
};

struct report_ranking {
	enum report_mode mode;
	struct report_baseline baseline;
	struct report_spike incident; /* the one with most lost time */
	uint64_t begin_ns, end_ns;    /* of the incident, or of the whole */
	uint64_t baseline_begin_ns, baseline_end_ns;
	size_t spikes;
	size_t processes; /* that have the steps, 0: not known */
	size_t ranks;     /* likewise */
	struct report_stretch *
	        stretches; /* all of lost time that stand out, by time, or none of them where there are no others */
	size_t stretch_count;
	bool goes_on;          /* when the profile ended; known by a hint alone */
	const char *steps;     /* the class of the steps, NULL: there is none */
	double before, during; /* threads lost */
	bool by_steps; /* steps came more slowly, and cost more than what stands out by lost time, if anything does */
	bool by_fault;       /* a device was recovered, while neither of these stood out */
	bool steps_left_out; /* a stretch of slower steps, as what the whole run has tells more */
	/* A second, of the seconds in which their threads were there; negative: not known. */
	double steps_before, steps_during;
	double steps_newest; /* the same, at the end of the incident */
	double steps_z; /* by how many sigmas they were slower, if they made the incident; 0: not known */
	struct report_cause *causes; /* with lost time, the highest score first */
	size_t count;
	struct report_cause *signals; /* of the host, all that the timeline has */
	size_t signal_count;
	const struct report_cause *primary; /* NULL: none took much */
	double share_there; /* of a steady run: what the primary cause takes in the given baseline, as report_primary_of_loop() says; negative: not known */
	const struct report_cause *
	        unfelt; /* took as much as a primary cause, but the loop did not wait for it; NULL: none, or it waited for another cause */
	const struct report_cause *
	        beside_gpu; /* the largest other cause where the primary one of a steady run is a GPU's; NULL: none, or it is not */
	/* Where the recording has a cause that took far more in all of it than the incident's did there: that, by the ledger. It may be
	 * the same one. name NULL: there is none. */
	struct report_cause whole;
	struct report_untold *untold; /* what is not compared; NULL: nothing is given to compare with */
	bool whole_is_usual; /* half of that and more came at its usual rate, not in stretches that stand out */
	struct report_spins spins;    /* what threads waited on a CPU in all */
	struct report_oncpu oncpu;    /* of an incident by steps */
	struct report_away away;      /* when the tagged threads were not there */
	struct report_series symptom; /* by RANK_WIDE_NS */
};

#endif
