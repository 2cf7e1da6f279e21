/* Looks for the innermost function of a library. */

#include "profiler/session/working_call.h"

#include <string.h>

#include "pprof/profile.h"
#include "profiler/tracer/library_calls.h"

bool working_call_may_spin(const char *stall)
{
	static const char *const names[] = { "gpu_sync", "collective", "gpu_ring", "gpu_fence" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], stall))
			return true;
	return false;
}

bool working_call(const struct profile *profile, const int64_t *ids, size_t n)
{
	enum library_call kind = LIBRARY_CALL_NONE;

	for (size_t i = 0; i < n && kind == LIBRARY_CALL_NONE; i++) {
		struct profile_location_view location;

		if (!profile_get_location(profile, ids[i], &location))
			continue;
		for (size_t f = 0; f < location.n_frames && kind == LIBRARY_CALL_NONE; f++)
			kind = library_calls_kind(location.frames[f].function);
	}
	return kind == LIBRARY_CALL_WORKS;
}
