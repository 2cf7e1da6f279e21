/*
 * A rule of --fail-on: what makes a comparison fail.
 *
 *     SUBJECT>LIMIT      the value in NEW is above a limit, whatever BASE has: a limit, which noise does not touch
 *     SUBJECT:+LIMIT     NEW has grown by more than that against BASE, and beyond noise
 *
 * SUBJECT is total, any (each row of the table that is shown), use:CLASS (how long a use of a tag of the class took, the median), or WHAT:NAME where
 * WHAT is function, line, stack, stall (or cause), device, class (or ai_tag), tag or process. LIMIT is a number, with % (of BASE; not behind >), ns, us, ms or s where
 * durations are summed; in the unit that the comparison is normalised to.
 *
 *     total:+5%   use:checkpoint_write:+20%   stall:nvme_reset>0   function:write_shard:+10%   device:vda:+2ms   any:+0%
 */
#ifndef STALLPROF_PROFILER_DIFF_RULE_H
#define STALLPROF_PROFILER_DIFF_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/top/top_names.h"

enum diff_subject { DIFF_TOTAL, DIFF_ANY, DIFF_USE, DIFF_NAMED };

struct diff_rule {
	char *text; /* as given */
	enum diff_subject subject;
	enum top_by what; /* of DIFF_NAMED */
	char *name;       /* of DIFF_NAMED; of DIFF_USE the class */
	bool grows;       /* :+LIMIT, else >LIMIT */
	bool percent;
	bool duration; /* the limit has a unit of time */
	double limit;  /* percent, nanoseconds, or a bare number */
};

/* -EINVAL with one line, without newline, in err; -ENOMEM. Only after 0 is there something to release. */
int diff_rule_parse(struct diff_rule *rule, const char *text, char *err, size_t err_size);
void diff_rule_release(struct diff_rule *rule);

/* As top_by_parse(), and also cause for stall, ai_tag for class. */
bool diff_by_parse(const char *name, enum top_by *by);

#endif
