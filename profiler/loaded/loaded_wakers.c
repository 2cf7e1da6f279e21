/* Lists the ledger's classes with their programs, and tells tags from programs by them. */

#include "profiler/loaded/loaded_wakers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"

static int compare_wakers(const void *left, const void *right)
{
	const struct loaded_waker *a = left, *b = right;

	return strcmp(a->class, b->class);
}

static struct loaded_waker *find(const struct loaded_wakers *wakers, const char *class)
{
	const struct loaded_waker key = { .class = class };

	return wakers->count ? bsearch(&key, wakers->waker, wakers->count, sizeof(key), compare_wakers)
	                     : NULL;
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

/* One for each class, in their order. 0 or -ENOMEM. */
static int list_classes(struct loaded_wakers *wakers, struct ledger *ledger)
{
	size_t rows = ledger_count(ledger), n = 0, kept = 0;

	wakers->waker = malloc((rows + 1) * sizeof(*wakers->waker));
	if (!wakers->waker)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (!row)
			return -ENOMEM;
		/* Rows of a class mostly follow each other. */
		if (!n || strcmp(wakers->waker[n - 1].class, row->class) != 0)
			wakers->waker[n++] = (struct loaded_waker){ .class = row->class, .base = row->base };
	}
	qsort(wakers->waker, n, sizeof(*wakers->waker), compare_wakers);
	for (size_t i = 0; i < n; i++)
		if (!kept || compare_wakers(&wakers->waker[kept - 1], &wakers->waker[i]) != 0)
			wakers->waker[kept++] = wakers->waker[i];
	wakers->count = kept;
	for (size_t i = 0; i < rows; i++)
		find(wakers, ledger_at(ledger, i)->class)->base &= ledger_at(ledger, i)->base;
	return 0;
}

int loaded_wakers_build(struct loaded_wakers *wakers, struct ledger *ledger)
{
	int err;

	*wakers = (struct loaded_wakers){ .count = 0 };
	err = list_classes(wakers, ledger);
	if (err) {
		loaded_wakers_free(wakers);
		return err;
	}
	for (size_t i = 0; i < ledger_count(ledger); i++)
		add_program(find(wakers, ledger_at(ledger, i)->class), ledger_at(ledger, i)->comm);
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
