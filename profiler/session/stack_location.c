/* Makes what the symbolizer says of an address a location of a profile. */

#include "profiler/session/stack_location.h"

#include "pprof/profile.h"
#include "symbolizer/symbolizer.h"

#define INLINED_MAX 64

int64_t stack_mapping(struct profile *profile, const struct sym_module *module)
{
	return profile_mapping(profile, module->address, module->address + (module->end - module->start),
	                       module->offset, module->path, module->build_id, module->has_functions,
	                       module->has_lines);
}

int64_t stack_location(struct profile *profile, const struct sym_result *result)
{
	struct profile_frame frames[INLINED_MAX];
	size_t i, n = result->n_frames < INLINED_MAX ? result->n_frames : INLINED_MAX;
	int64_t mapping = result->module ? stack_mapping(profile, result->module) : 0;

	if (mapping < 0)
		return mapping;
	for (i = 0; i < n; i++) {
		frames[i] = (struct profile_frame){
			.function = result->frames[i].function,
			.file = result->frames[i].file,
			.line = result->frames[i].line,
		};
	}
	return profile_location(profile, mapping, result->address, frames, n);
}

int64_t stack_placeholder(struct profile *profile, const char *name)
{
	struct profile_frame frame = { .function = name };

	return profile_location(profile, 0, 0, &frame, 1);
}
