/* Writes who ended a line of code's waits, and the longest parts of what it waited for through others. */

#include "profiler/top/top_inherited_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/saturating.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_sample.h"
#include "profiler/loaded/loaded_wakers.h"
#include "profiler/top/top_code.h"

#define SHOWN      4
#define PARTS_MAX  64
#define LEAST_PART 50

/* Whoever ended the waits: that stands above. */
static bool reads_alike(const struct top_inherited *a, const struct top_inherited *b)
{
	return !strcmp(a->from, b->from) && !strcmp(a->stall, b->stall) && !strcmp(a->device, b->device);
}

/* Those beyond PARTS_MAX kinds are left out: the longest come first. */
static size_t merge(struct top_inherited parts[PARTS_MAX], const struct top_code *code)
{
	size_t n = 0, at;

	for (size_t i = 0; i < code->n_inherited; i++) {
		for (at = 0; at < n && !reads_alike(&parts[at], &code->inherited[i]); at++)
			;
		if (at == PARTS_MAX)
			continue;
		if (at == n)
			parts[n++] = code->inherited[i];
		else
			parts[at].ns = saturating_add(parts[at].ns, code->inherited[i].ns);
	}
	return n;
}

static int longest_first(const void *left, const void *right)
{
	const struct top_inherited *a = left, *b = right;

	return (a->ns < b->ns) - (a->ns > b->ns);
}

size_t top_inherited_text(char *text, size_t size, const struct top_code *code)
{
	char amount[TEXT_DURATION_BYTES], of[512];
	struct top_inherited parts[PARTS_MAX];
	size_t n = merge(parts, code), used = 0;

	qsort(parts, n, sizeof(*parts), longest_first);
	for (size_t i = 0; i < n && i < SHOWN && used < size; i++) {
		const struct top_inherited *part = &parts[i];

		if (part->ns <= 0 || part->ns < code->ns / LEAST_PART)
			break;
		loaded_inherited_text(of, sizeof(of), part->stall, part->device, part->from);
		used += (size_t)snprintf(text + used, size - used, "%s%s %s", i ? ", " : "",
		                         text_short_duration(amount, (uint64_t)part->ns), of);
	}
	return used;
}

const char *top_waker_text(char *text, size_t size, const struct loaded_wakers *wakers, const char *waker,
                           int64_t ns, int64_t all_ns, bool programs)
{
	bool most = ns > all_ns / 2, all = ns >= all_ns;
	char who[256];

	*text = '\0';
	if (*waker)
		snprintf(text, size, "%sended by %s%s", most && !all ? "mostly " : "",
		         loaded_waker_text(who, sizeof(who), wakers, waker, programs),
		         most ? "" : " and others");
	return text;
}
