/* Judges rows of the probe table, and causes, by what was found on the host. */

#include "profiler/cli/doctor_findings.h"

#include <string.h>

#include "profiler/tracer/probe_table.h"

const char *doctor_row_missing(const struct doctor_findings *found, size_t row)
{
	const char *missing =
	        found->probes ? probe_missing(found->probes, &probe_table[row]) : "unknown without BTF";

	if (missing)
		return missing;
	missing = found->tracer ? tracer_missing(found->tracer, row) : "not tried";
	return missing && !strcmp(missing, PROBE_UNSEEN) ? NULL : missing;
}

bool doctor_row_needed(const struct doctor_findings *found, size_t row)
{
	const char *missing = found->probes ? probe_missing(found->probes, &probe_table[row]) : NULL;

	return !missing || strncmp(missing, PROBE_NOT_NEEDED, strlen(PROBE_NOT_NEEDED)) != 0;
}

const char *doctor_row_advice(const struct doctor_findings *found, size_t row)
{
	const struct probe *probe = &probe_table[row];

	return found->probes && probe_missing(found->probes, probe) && doctor_row_needed(found, row)
	               ? probe_advice(found->probes, probe)
	               : "";
}

bool doctor_names_cause_before(size_t row)
{
	size_t i;

	for (i = 0; i < row; i++) {
		if (!strcmp(probe_table[i].cause, probe_table[row].cause))
			return true;
	}
	return false;
}

bool doctor_cause_needed(const struct doctor_findings *found, const char *cause)
{
	for (size_t i = 0; i < probe_table_len; i++)
		if (!strcmp(probe_table[i].cause, cause) && doctor_row_needed(found, i))
			return true;
	return false;
}

enum doctor_seen doctor_cause_seen(const struct doctor_findings *found, const char *cause)
{
	size_t attached = 0, missing = 0;

	if (!doctor_cause_needed(found, cause))
		return DOCTOR_SEEN_UNNEEDED;
	for (size_t i = 0; i < probe_table_len; i++) {
		const struct probe *probe = &probe_table[i];

		if (strcmp(probe->cause, cause) != 0 || !doctor_row_needed(found, i) ||
		    (found->probes && probe_replaced(found->probes, probe)))
			continue;
		if (doctor_row_missing(found, i))
			missing++;
		else
			attached++;
	}
	return !missing ? DOCTOR_SEEN_WHOLE : attached ? DOCTOR_SEEN_PART : DOCTOR_SEEN_NOTHING;
}
