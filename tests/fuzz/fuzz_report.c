/*
 * Fuzzes what `stallprof report` makes of profiles: each report that can be made must be written in each form. Input: profile_set.h; the
 * first folder is reported, the second one, if there is any, is the baseline.
 */
#include "tests/fuzz/profile_mutator.h"
#include "tests/fuzz/profile_set.h"

#include <errno.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/report/report.h"
#include "profiler/report/report_forms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static bool load(struct loaded_profiles *input, char *folder)
{
	char err[512] = "";
	int result = loaded_profiles_load(input, &folder, 1, err, sizeof(err));

	check(!result || (*err && !strchr(err, '\n')));
	return !result;
}

static void make_report(const struct loaded_profiles *input, const struct loaded_profiles *baseline,
                        const char *steps, const struct report_hint *hint)
{
	struct report report;
	int err = report_make(&report, input, baseline, steps, hint);
	FILE *out;

	check(!err || err == -ENOENT);
	if (err)
		return;
	out = fopen("/dev/null", "we");
	check(out != NULL);
	for (enum report_format format = 0; format < REPORT_FORMATS; format++)
		check(!report_write(out, &report, format));
	fclose(out);
	report_release(&report);
}

/* The choice says whether a class of steps is named, and whether it is told when it was, as the agent does. */
static void report_all(const struct loaded_profiles *input, const struct loaded_profiles *baseline,
                       uint16_t choice)
{
	const struct ledger_row *row = ledger_count(input->ledger) ? ledger_at(input->ledger, 0) : NULL;
	const struct stamp_coverage covered = stamp_coverage(input->stamp);
	const struct report_hint hint = { .begin_ns = covered.first_ns / 2 + covered.last_ns / 2,
		                          .end_ns = choice & 4 ? covered.last_ns : 0,
		                          .baseline_begin_ns = covered.first_ns,
		                          .baseline_end_ns = covered.first_ns / 2 + covered.last_ns / 2,
		                          .by_fault = choice & 8 };

	make_report(input, baseline, choice & 1 && row ? row->class : NULL, choice & 2 ? &hint : NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profile_folders folders;
	struct loaded_profiles input, baseline;
	struct profile_set set;

	profile_set_read(&set, data, size);
	if (!set.count)
		return 0;
	profile_folders_fill(&folders, &set);
	if (load(&input, folders.path[0])) {
		bool compared = set.count > 1 && load(&baseline, folders.path[1]);

		report_all(&input, compared ? &baseline : NULL, set.choice);
		if (compared)
			loaded_profiles_release(&baseline);
		loaded_profiles_release(&input);
	}
	profile_folders_empty(&folders);
	return 0;
}
