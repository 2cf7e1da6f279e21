/* Writes who ended a line of code's waits, and the longest parts of what it waited for through others. */

#include "profiler/top/top_inherited_text.h"

#include <stdbool.h>
#include <stdio.h>

#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/top/top_code.h"

#define SHOWN      4
#define LEAST_PART 50

size_t top_inherited_text(char *text, size_t size, const struct top_code *code)
{
	char amount[TEXT_DURATION_BYTES], of[512];
	size_t used = 0;

	for (size_t i = 0; i < code->n_inherited && i < SHOWN && used < size; i++) {
		const struct top_inherited *part = &code->inherited[i];

		if (part->ns <= 0 || part->ns < code->ns / LEAST_PART)
			break;
		loaded_inherited_text(of, sizeof(of), part->stall, part->device, part->from);
		used += (size_t)snprintf(text + used, size - used, "%s%s %s", i ? ", " : "",
		                         text_short_duration(amount, (uint64_t)part->ns), of);
	}
	return used;
}

const char *top_waker_text(char *text, size_t size, const char *how, const char *waker, int64_t ns,
                           int64_t all_ns)
{
	bool most = ns > all_ns / 2, all = ns >= all_ns;

	*text = '\0';
	if (*waker)
		snprintf(text, size, "%s%s %s%s", most && !all ? "mostly " : "", how, waker,
		         most ? "" : " and others");
	return text;
}
