/* Finds out whether tagged threads waited much for CPUs or a disk, and says who used them. */

#include "profiler/top/top_users.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/ledger_row.h"
#include "profiler/format/text_cells.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_users.h"

/* From which part on it is much: of the time in which threads were not blocked, as those that idle say nothing. */
#define MUCH        0.1
#define DEVICES_MAX 32

struct waited {
	bool pushed;     /* some tags are pushed: those of processes do not count */
	int64_t busy_ns; /* on a CPU, waiting for one, stalled */
	int64_t runqueue_ns;
	struct {
		const char *name;
		int64_t ns;
	} device[DEVICES_MAX];
	size_t n_devices;
};

static void add_device(struct waited *waited, const char *name, int64_t ns)
{
	size_t i = 0;

	while (i < waited->n_devices && strcmp(waited->device[i].name, name) != 0)
		i++;
	if (i == DEVICES_MAX)
		return;
	waited->n_devices += i == waited->n_devices;
	waited->device[i].name = name;
	waited->device[i].ns += ns;
}

static void add_row(struct waited *waited, const struct ledger_row *row)
{
	if (row->state == LEDGER_BLOCKED || row->state == LEDGER_UNOBSERVED || (waited->pushed && row->base))
		return;
	waited->busy_ns += row->ns;
	if (row->state == LEDGER_RUNQUEUE)
		waited->runqueue_ns += row->ns;
	else if (row->state == LEDGER_STALL && *row->device)
		add_device(waited, row->device, row->ns);
}

static void sum_waited(struct waited *waited, struct ledger *ledger)
{
	size_t rows = ledger_count(ledger);

	*waited = (struct waited){ .pushed = false };
	for (size_t i = 0; i < rows && ledger_at(ledger, i); i++)
		waited->pushed |= !ledger_at(ledger, i)->base;
	for (size_t i = 0; i < rows && ledger_at(ledger, i); i++)
		add_row(waited, ledger_at(ledger, i));
}

static size_t print_users(FILE *out, const struct loaded_profiles *input, const char *signal,
                          const char *device, size_t columns)
{
	struct loaded_users users;
	char *line = NULL;
	size_t size;
	FILE *memory;

	if (loaded_users_find(&users, input, signal, device) || !users.count)
		return 0;
	memory = open_memstream(&line, &size);
	if (!memory)
		return 0;
	loaded_users_text(memory, &users);
	if (fclose(memory)) {
		free(line);
		return 0;
	}
	text_print_clean(out, line, columns);
	fputc('\n', out);
	free(line);
	return 1;
}

size_t top_text_users(FILE *out, const struct loaded_profiles *input, size_t columns)
{
	struct waited waited;
	size_t lines = 0, most = 0;
	double least;

	sum_waited(&waited, input->ledger);
	least = MUCH * (double)waited.busy_ns;
	if (waited.runqueue_ns > 0 && (double)waited.runqueue_ns >= least)
		lines += print_users(out, input, HOST_USER_CPU, "", columns);
	for (size_t i = 1; i < waited.n_devices; i++)
		most = waited.device[i].ns > waited.device[most].ns ? i : most;
	if (waited.n_devices && waited.device[most].ns > 0 && (double)waited.device[most].ns >= least)
		lines += print_users(out, input, HOST_USER_DISK, waited.device[most].name, columns);
	return lines;
}
