/* Sums the samples of CPUs in calls that wait, by class, cause and process. */

#include "profiler/report/report_spins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/saturating.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"
#include "symbolizer/base/growing_array.h"

#define SPINS_MAX (1u << 16) /* classes, causes and processes of one profile */

bool report_spins_any(const struct timeline *timeline, const char *cause)
{
	for (size_t i = 0; timeline && i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);

		if (lane->kind == TIMELINE_SPIN && !strcmp(lane->name, cause))
			return true;
	}
	return false;
}

/* Where the sample's time goes to; NULL without memory. */
static struct report_spin *spin_of(struct report_spins *spins, size_t *room,
                                   const struct loaded_sample *sample)
{
	for (size_t i = 0; i < spins->n; i++) {
		struct report_spin *spin = &spins->spin[i];

		if (spin->pid == sample->pid && !strcmp(spin->class, sample->class) &&
		    !strcmp(spin->cause, sample->stall))
			return spin;
	}
	if (growing_array_reserve((void **)&spins->spin, spins->n + 1, room, sizeof(*spins->spin), SPINS_MAX))
		return NULL;
	spins->spin[spins->n] =
	        (struct report_spin){ .class = sample->class, .cause = sample->stall, .pid = sample->pid };
	return &spins->spin[spins->n++];
}

int report_spins_sum(struct report_spins *spins, const struct loaded_profiles *input)
{
	int cpu = input->profile ? profile_find_type(input->profile, "cpu") : -1;
	struct loaded_sample sample;
	size_t room = 0;

	*spins = (struct report_spins){ .n = 0 };
	for (size_t i = 0; cpu >= 0 && loaded_sample_get(input, NULL, i, &sample); i++) {
		int64_t ns = sample.view.values[cpu];
		struct report_spin *spin;

		if (ns <= 0 || !report_spins_any(input->timeline, sample.stall))
			continue;
		spin = spin_of(spins, &room, &sample);
		if (!spin) {
			report_spins_free(spins);
			return -ENOMEM;
		}
		spin->ns = saturating_add(spin->ns, ns);
	}
	return 0;
}

void report_spins_free(struct report_spins *spins)
{
	free(spins->spin);
	*spins = (struct report_spins){ .n = 0 };
}
