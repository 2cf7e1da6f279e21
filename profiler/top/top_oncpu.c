/* Says how to see the code of who computes. */

#include "profiler/top/top_oncpu.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/saturating.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"

/* As columns[] of loaded_classes.h has them. */
enum { ONCPU, RUNQUEUE };

static bool computes(const struct loaded_class *row, int64_t covered_ns)
{
	return row->ns[ONCPU] > covered_ns / 10 &&
	       saturating_add(row->ns[ONCPU], row->ns[RUNQUEUE]) > row->wall_ns / 2;
}

static const struct loaded_class *busiest(const struct loaded_classes *classes, int64_t covered_ns)
{
	const struct loaded_class *most = NULL;

	for (size_t i = 0; i < classes->count; i++) {
		const struct loaded_class *row = &classes->rows[i];

		if (computes(row, covered_ns) && (!most || row->ns[ONCPU] > most->ns[ONCPU]))
			most = row;
	}
	return most;
}

/* Whether the profile has samples of CPU time outside of stalls. */
static bool is_sampled(const struct loaded_profiles *input, const struct loaded_tags *tags, int cpu)
{
	struct loaded_sample sample;

	for (size_t i = 0; loaded_sample_get(input, tags, i, &sample); i++)
		if (!strcmp(sample.stall, "none") && sample.view.values[cpu])
			return true;
	return false;
}

size_t top_text_oncpu(FILE *out, const struct loaded_profiles *input, const struct loaded_tags *tags,
                      size_t type, const struct loaded_classes *classes)
{
	int cpu = profile_find_type(input->profile, "cpu");
	struct stamp_coverage coverage = stamp_coverage(input->stamp);
	const struct loaded_class *row;

	if (cpu < 0 || type == (size_t)cpu)
		return 0;
	row = busiest(classes, (int64_t)stamp_span_ns(&coverage));
	if (!row)
		return 0;
	fputs("\nWhere ", out);
	text_print_clean(out, row->name, 0);
	fputs(is_sampled(input, tags, cpu) ? " computes: top --type cpu.\n"
	                                   : " computes: record --oncpu-hz 99, then top --type cpu.\n",
	      out);
	return 2;
}
