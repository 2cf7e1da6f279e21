/*
 * Fuzzes what `stallprof diff` makes of profiles: whole recordings, and two filters of one. A comparison that can be made must be written
 * in each form. Input: profile_set.h; the first folder is BASE, the second one NEW.
 */
#include "tests/fuzz/profile_mutator.h"
#include "tests/fuzz/profile_set.h"

#include "profiler/diff/diff.h"
#include "profiler/diff/diff_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static struct diff_filter filter_of(const char *text)
{
	struct diff_filter filter = { .count = 0 };
	char err[256];

	check(!*text || !diff_filter_add(&filter, text, err, sizeof(err)));
	return filter;
}

static void write_forms(struct diff *diff)
{
	FILE *out = fopen("/dev/null", "we");

	check(out != NULL);
	check(!diff_print_text(out, diff, 20) && !diff_print_markdown(out, diff, 20) &&
	      !diff_print_json(out, diff, 0) && !diff_print_junit(out, diff, 0));
	fclose(out);
	check(diff_status(diff) >= 0 && diff_status(diff) <= 2);
}

static void compare(struct diff_task *task, const struct diff_rule *rules, size_t rule_count)
{
	char err[512] = "";
	struct diff diff;

	task->rules = rules;
	task->rule_count = rule_count;
	if (diff_build(&diff, task, err, sizeof(err))) {
		check(*err && !strchr(err, '\n'));
		return;
	}
	write_forms(&diff);
	diff_free(&diff);
}

/* Bits of the choice: the first two say what is compared, the others by what, and divided by what. */
static void compare_folders(const struct profile_folders *folders, bool paired, uint16_t choice)
{
	static const char *const rule_texts[] = { "total:+5%", "any:+0%", "use:loader:+20%",
		                                  "stall:block_io>0", "device:vda:+2ms" };
	struct diff_rule rules[sizeof(rule_texts) / sizeof(rule_texts[0])];
	size_t rule_count = sizeof(rules) / sizeof(rules[0]);
	char err[256];
	struct diff_task task = { .place = { folders->path[0], paired ? NULL : folders->path[1] },
		                  .filter = { filter_of(paired ? "ai_tag!=loader" : ""),
		                              filter_of(paired       ? "ai_tag=loader"
		                                        : choice & 1 ? "stall=blocked"
		                                                     : "") },
		                  .by = choice / 4 % 16 % TOP_BYS,
		                  .per_given = choice & 2,
		                  .per = choice / 64 % DIFF_PERS,
		                  .confidence = DIFF_CONFIDENCE,
		                  .min_change = DIFF_MIN_CHANGE,
		                  .force = true };

	for (size_t i = 0; i < rule_count; i++)
		check(!diff_rule_parse(&rules[i], rule_texts[i], err, sizeof(err)));
	compare(&task, rules, choice & 1024 ? 0 : rule_count);
	for (size_t i = 0; i < rule_count; i++)
		diff_rule_release(&rules[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profile_folders folders;
	struct profile_set set;

	profile_set_read(&set, data, size);
	if (!set.count)
		return 0;
	profile_folders_fill(&folders, &set);
	compare_folders(&folders, set.count == 1 || set.choice & 2048, set.choice);
	profile_folders_empty(&folders);
	return 0;
}
