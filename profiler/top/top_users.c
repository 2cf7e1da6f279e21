/* Finds out whether tagged threads waited much for CPUs or a disk, and says who used them. */

#include "profiler/top/top_users.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/format/text_cells.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_users.h"

/* From which part on it is much: of the time in which threads were not blocked, as those that idle say nothing. */
#define MUCH      0.1
#define DISKS_MAX 32 /* that other programs use */

struct waited {
	bool pushed;     /* some tags are pushed: those of processes do not count */
	int64_t busy_ns; /* on a CPU, waiting for one, stalled */
	int64_t runqueue_ns;
	struct {
		const char *name;
		int64_t ns;
	} disk[DISKS_MAX];
	size_t n_disks;
};

/* The disks of the host whose users are known. */
static void list_disks(struct waited *waited, const struct timeline *timeline)
{
	for (size_t i = 0; timeline && i < timeline_count(timeline) && waited->n_disks < DISKS_MAX; i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		size_t at = 0;

		if (lane->kind != TIMELINE_SIGNAL || strcmp(lane->name, HOST_USER_DISK) != 0)
			continue;
		while (at < waited->n_disks && strcmp(waited->disk[at].name, lane->device) != 0)
			at++;
		if (at == waited->n_disks)
			waited->disk[waited->n_disks++].name = lane->device;
	}
}

static void add_row(struct waited *waited, const struct ledger_row *row)
{
	if (row->state == LEDGER_BLOCKED || row->state == LEDGER_UNOBSERVED || (waited->pushed && row->base))
		return;
	waited->busy_ns = saturating_add(waited->busy_ns, row->ns);
	if (row->state == LEDGER_RUNQUEUE)
		waited->runqueue_ns = saturating_add(waited->runqueue_ns, row->ns);
	for (size_t i = 0; row->state == LEDGER_STALL && i < waited->n_disks; i++)
		if (!strcmp(waited->disk[i].name, row->device))
			waited->disk[i].ns = saturating_add(waited->disk[i].ns, row->ns);
}

static void sum_waited(struct waited *waited, const struct loaded_profiles *input)
{
	size_t rows = ledger_count(input->ledger);

	*waited = (struct waited){ .pushed = false };
	list_disks(waited, input->timeline);
	for (size_t i = 0; i < rows && ledger_at(input->ledger, i); i++)
		waited->pushed |= !ledger_at(input->ledger, i)->base;
	for (size_t i = 0; i < rows && ledger_at(input->ledger, i); i++)
		add_row(waited, ledger_at(input->ledger, i));
}

size_t top_users_find(struct loaded_users found[TOP_USERS_MAX], const struct loaded_profiles *input)
{
	struct waited waited;
	size_t n = 0, most = 0;
	double least;

	sum_waited(&waited, input);
	least = MUCH * (double)waited.busy_ns;
	if (waited.runqueue_ns > 0 && (double)waited.runqueue_ns >= least)
		n += !loaded_users_find(&found[n], input, HOST_USER_CPU, "") && found[n].count;
	for (size_t i = 1; i < waited.n_disks; i++)
		most = waited.disk[i].ns > waited.disk[most].ns ? i : most;
	if (waited.n_disks && waited.disk[most].ns > 0 && (double)waited.disk[most].ns >= least)
		n += !loaded_users_find(&found[n], input, HOST_USER_DISK, waited.disk[most].name) &&
		     found[n].count;
	return n;
}

/* Returns whether there was memory for the line. */
static bool print_users(FILE *out, const struct loaded_users *users, size_t columns)
{
	char *line = NULL;
	size_t size;
	FILE *memory = open_memstream(&line, &size);
	bool whole;

	if (!memory)
		return false;
	loaded_users_text(memory, users);
	whole = !fclose(memory);
	if (whole) {
		text_print_clean(out, line, columns);
		fputc('\n', out);
	}
	free(line);
	return whole;
}

size_t top_text_users(FILE *out, const struct loaded_profiles *input, size_t columns)
{
	struct loaded_users found[TOP_USERS_MAX];
	size_t n = top_users_find(found, input), lines = 0;

	if (!n)
		return 0;
	fputc('\n', out);
	for (size_t i = 0; i < n; i++)
		lines += print_users(out, &found[i], columns);
	return lines + 1;
}
