/* Hooks that a recording was without, in words. */

#include "profiler/top/top_hooks.h"

#include <string.h>

#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/tracer/probe_table.h"

bool losses_begin_line(struct losses *losses)
{
	if (losses->limit && losses->lines + 1 >= losses->limit) {
		losses->more++;
		return false;
	}
	losses->lines++;
	return true;
}

static bool is_off(const struct stamp_hook *hook)
{
	return hook->state == HOOK_UNUSED && !strcmp(hook->reason, PROBE_OFF);
}

/* A hook that was wanted and is not there, or is off: once a cause, with its first reason. */
static bool told_before(const struct stamp *stamp, size_t index)
{
	struct stamp_hook hook = stamp_hook_at(stamp, index);

	for (size_t i = 0; i < index; i++) {
		struct stamp_hook other = stamp_hook_at(stamp, i);

		if ((other.state == HOOK_MISSING || is_off(&other)) && !strcmp(other.cause, hook.cause))
			return true;
	}
	return false;
}

/* Whether the hook's cause is to be told with that reason; off is told apart. */
static bool is_told(const struct stamp *stamp, size_t index, const char *reason)
{
	struct stamp_hook hook = stamp_hook_at(stamp, index);

	return hook.state == HOOK_MISSING && !told_before(stamp, index) && !strcmp(hook.reason, reason);
}

/* "For a, b and c", all with the reason of the first. Returns how many. */
static size_t tell_causes(struct losses *losses, const struct stamp *stamp, size_t first, const char *reason)
{
	size_t n = 0, left = 0;

	for (size_t i = first; i < stamp_hook_count(stamp); i++)
		left += is_told(stamp, i, reason);
	for (size_t i = first; i < stamp_hook_count(stamp); i++) {
		if (!is_told(stamp, i, reason))
			continue;
		fputs(!n ? "For " : --left > 1 ? ", " : " and ", losses->out);
		text_print_clean(losses->out, stamp_hook_at(stamp, i).cause, 0);
		n++;
	}
	return n;
}

static bool reason_told_before(const struct stamp *stamp, size_t index, const char *reason)
{
	for (size_t i = 0; i < index; i++)
		if (is_told(stamp, i, reason))
			return true;
	return false;
}

static void tell_off(struct losses *losses, const struct stamp *stamp)
{
	for (size_t i = 0; i < stamp_hook_count(stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (!is_off(&hook) || told_before(stamp, i) || !losses_begin_line(losses))
			continue;
		text_print_clean(losses->out, hook.cause, 0);
		fputs(" was not looked for: " PROBE_OFF ".\n", losses->out);
	}
}

/* One line a reason; the hook is named where it is of one cause. */
void top_hooks_tell(struct losses *losses, const struct stamp *stamp)
{
	for (size_t i = 0; i < stamp_hook_count(stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (!is_told(stamp, i, hook.reason) || reason_told_before(stamp, i, hook.reason) ||
		    !losses_begin_line(losses))
			continue;
		if (tell_causes(losses, stamp, i, hook.reason) == 1) {
			fputs(" not all was seen: ", losses->out);
			text_print_clean(losses->out, hook.hook, 0);
			fputs(*hook.reason ? ": " : "", losses->out);
		} else {
			fputs(" not all was seen, for want of hooks (stallprof doctor): ", losses->out);
		}
		text_print_clean(losses->out, hook.reason, 0);
		fputs(".\n", losses->out);
	}
	tell_off(losses, stamp);
}

void top_hooks_print(FILE *out, const struct stamp *stamp)
{
	size_t counts[HOOK_STATES] = { 0 };

	for (size_t i = 0; i < stamp_hook_count(stamp); i++)
		counts[stamp_hook_at(stamp, i).state]++;
	fputs("  hooks:", out);
	for (unsigned int state = 0; state < HOOK_STATES; state++)
		fprintf(out, "%s %zu %s", state ? "," : "", counts[state], hook_state_name(state));
	fputc('\n', out);
	for (size_t i = 0; i < stamp_hook_count(stamp); i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (hook.state == HOOK_ATTACHED)
			continue;
		fprintf(out, "    %s for ", hook_state_name(hook.state));
		text_print_clean(out, hook.cause, 0);
		fputs(": ", out);
		text_print_clean(out, hook.hook, 0);
		fputs(*hook.reason ? ": " : "", out);
		text_print_clean(out, hook.reason, 0);
		fputc('\n', out);
	}
}
