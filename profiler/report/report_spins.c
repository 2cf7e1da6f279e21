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
#include "profiler/session/working_call.h"
#include "symbolizer/base/growing_array.h"

#define SPINS_MAX 4096 /* classes, causes and processes of one profile; what is beyond is left out */

bool report_spins_any(const struct timeline *timeline, const char *cause)
{
	for (size_t i = 0; timeline && i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);

		if (lane->kind == TIMELINE_SPIN && !strcmp(lane->name, cause))
			return true;
	}
	return false;
}

bool report_spins_untold(const struct loaded_profiles *input)
{
	int cpu = input->profile ? profile_find_type(input->profile, "cpu") : -1;
	struct loaded_sample sample;

	for (size_t i = 0; cpu >= 0 && loaded_sample_get(input, NULL, i, &sample); i++)
		if (sample.view.values[cpu] > 0 && working_call_may_spin(sample.stall) &&
		    !report_spins_any(input->timeline, sample.stall) &&
		    !working_call(input->profile, sample.view.location_ids, sample.view.n_locations))
			return true;
	return false;
}

static bool is_of(const struct report_spin *spin, const struct loaded_sample *sample)
{
	return spin->pid == sample->pid && !strcmp(spin->class, sample->class) &&
	       !strcmp(spin->cause, sample->stall);
}

/* Adds the time to the sample's own sum. Samples of one process come together: mostly it is the last one. 0 or -ENOMEM. */
static int add(struct report_spins *spins, size_t *room, const struct loaded_sample *sample, int64_t ns)
{
	size_t i = spins->n;
	int err;

	while (i > 0 && !is_of(&spins->spin[i - 1], sample))
		i--;
	if (i > 0) {
		spins->spin[i - 1].ns = saturating_add(spins->spin[i - 1].ns, ns);
		return 0;
	}
	err = growing_array_reserve((void **)&spins->spin, spins->n + 1, room, sizeof(*spins->spin),
	                            SPINS_MAX);
	if (err)
		return err == -EFBIG ? 0 : err;
	spins->spin[spins->n++] = (struct report_spin){
		.class = sample->class, .cause = sample->stall, .pid = sample->pid, .ns = ns
	};
	return 0;
}

int report_spins_sum(struct report_spins *spins, const struct loaded_profiles *input)
{
	int cpu = input->profile ? profile_find_type(input->profile, "cpu") : -1;
	struct loaded_sample sample;
	size_t room = 0;

	*spins = (struct report_spins){ .n = 0 };
	for (size_t i = 0; cpu >= 0 && loaded_sample_get(input, NULL, i, &sample); i++) {
		int64_t ns = sample.view.values[cpu];

		if (ns <= 0 || !report_spins_any(input->timeline, sample.stall) ||
		    working_call(input->profile, sample.view.location_ids, sample.view.n_locations))
			continue;
		if (add(spins, &room, &sample, ns)) {
			report_spins_free(spins);
			return -ENOMEM;
		}
	}
	return 0;
}

void report_spins_free(struct report_spins *spins)
{
	free(spins->spin);
	*spins = (struct report_spins){ .n = 0 };
}
