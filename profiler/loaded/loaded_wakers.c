/* Lists the ledger's classes with their programs, and tells tags from programs by them. */

#include "profiler/loaded/loaded_wakers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "symbolizer/base/growing_array.h"

static struct loaded_waker *find(const struct loaded_wakers *wakers, const char *class)
{
	/* Rows of a class mostly follow each other. */
	for (size_t i = wakers->count; i-- > 0;)
		if (!strcmp(wakers->waker[i].class, class))
			return &wakers->waker[i];
	return NULL;
}

static void add_program(struct loaded_waker *waker, const char *program)
{
	if (!*program || waker->programs > LOADED_PROGRAMS_MAX)
		return;
	for (size_t i = 0; i < waker->programs && i < LOADED_PROGRAMS_MAX; i++)
		if (!strcmp(waker->program[i], program))
			return;
	if (waker->programs < LOADED_PROGRAMS_MAX)
		waker->program[waker->programs] = program;
	waker->programs++;
}

int loaded_wakers_build(struct loaded_wakers *wakers, struct ledger *ledger)
{
	size_t room = 0;

	*wakers = (struct loaded_wakers){ .count = 0 };
	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		struct loaded_waker *waker = row ? find(wakers, row->class) : NULL;

		if (!row || (!waker && growing_array_reserve((void **)&wakers->waker, wakers->count + 1,
		                                             &room, sizeof(*wakers->waker), SIZE_MAX))) {
			loaded_wakers_free(wakers);
			return -ENOMEM;
		}
		if (!waker) {
			waker = &wakers->waker[wakers->count++];
			*waker = (struct loaded_waker){ .class = row->class, .base = row->base };
		}
		add_program(waker, row->comm);
	}
	return 0;
}

void loaded_wakers_free(struct loaded_wakers *wakers)
{
	free(wakers->waker);
	*wakers = (struct loaded_wakers){ .count = 0 };
}

const char *loaded_waker_kind(const struct loaded_wakers *wakers, const char *woken_by)
{
	if (!wakers || !wakers->count)
		return "";
	return find(wakers, woken_by) ? "tag" : "program";
}

/* "program python3", "programs python3 and ld", "several programs"; "": none is known. */
static void programs_text(char *text, size_t size, const struct loaded_waker *waker)
{
	if (!waker->programs)
		*text = '\0';
	else if (waker->programs == 1)
		snprintf(text, size, "program %s", waker->program[0]);
	else if (waker->programs <= LOADED_PROGRAMS_MAX)
		snprintf(text, size, "programs %s and %s", waker->program[0], waker->program[1]);
	else
		snprintf(text, size, "several programs");
}

const char *loaded_waker_text(char *text, size_t size, const struct loaded_wakers *wakers,
                              const char *woken_by, bool programs)
{
	const struct loaded_waker *waker = wakers ? find(wakers, woken_by) : NULL;
	const char *kind = loaded_waker_kind(wakers, woken_by);
	char of[128] = "";

	if (programs && waker)
		programs_text(of, sizeof(of), waker);
	if (programs && waker && waker->base)
		snprintf(text, size, "tag %s (%s%sa thread without a tag of its own)", woken_by, of,
		         *of ? ", " : "");
	else
		snprintf(text, size, "%s%s%s%s%s%s", kind, *kind ? " " : "", woken_by, *of ? " (" : "", of,
		         *of ? ")" : "");
	return text;
}
