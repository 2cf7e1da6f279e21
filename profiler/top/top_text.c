/* Prints a table of summed samples, cut to the terminal. */

#include "profiler/top/top_text.h"

#include <inttypes.h>
#include <string.h>

#include "profiler/format/text_cells.h"

#define NAME_COLUMNS_MIN 16

/* Room for a name after `used` columns; 0: no bound. */
static size_t columns_left(FILE *out, size_t used)
{
	size_t columns = text_terminal_columns(out);

	if (!columns)
		return 0;
	return columns > used + NAME_COLUMNS_MIN ? columns - used : NAME_COLUMNS_MIN;
}

static size_t bounded(size_t count, size_t limit)
{
	return limit && limit < count ? limit : count;
}

static void print_duration(FILE *out, int width, int64_t ns)
{
	char text[TEXT_DURATION_BYTES];

	fprintf(out, "%*s", width, text_duration(text, ns));
}

static double percent(double part, double whole)
{
	return whole ? 100 * part / whole : 0;
}

/* --- the table --------------------------------------------------------------------------------------------
 */

static void print_value(FILE *out, int width, int64_t value, const char *unit)
{
	if (unit && !strcmp(unit, "nanoseconds"))
		print_duration(out, width, value);
	else
		fprintf(out, "%*" PRId64, width, value);
}

static const char *plural(enum top_by by)
{
	static const char *const names[TOP_BYS] = {
		[TOP_BY_FUNCTION] = "functions",
		[TOP_BY_LINE] = "lines",
		[TOP_BY_STACK] = "stacks",
		[TOP_BY_CLASS] = "classes",
		[TOP_BY_TAG] = "tags",
		[TOP_BY_STALL] = "stalls",
		[TOP_BY_DEVICE] = "devices",
		[TOP_BY_PROCESS] = "processes",
		[TOP_BY_INHERITED] = "inherited waits",
	};

	return names[by];
}

/* A stack: its sum, then its frames below each other. */
static void print_stack(FILE *out, const struct top_entry *entry, int64_t total, const char *unit,
                        size_t columns)
{
	const char *line = entry->name;

	print_value(out, 12, entry->flat, unit);
	fprintf(out, "%7.2f %%  in %" PRIu64 " sample%s\n", percent((double)entry->flat, (double)total),
	        entry->samples, entry->samples == 1 ? "" : "s");
	while (*line) {
		char frame[8192];
		size_t length = strcspn(line, "\n");

		snprintf(frame, sizeof(frame), "%.*s", (int)length, line);
		fprintf(out, "%16s", "");
		text_print_clean(out, frame, columns);
		fputc('\n', out);
		line += length + (line[length] == '\n');
	}
}

static void print_stacks(FILE *out, const struct top_table *table, const char *unit, size_t shown)
{
	size_t columns = columns_left(out, 16);

	for (size_t i = 0; i < shown; i++)
		print_stack(out, &table->entries[i], table->total, unit, columns);
}

static void print_entries(FILE *out, const struct top_table *table, enum top_by by, const char *unit,
                          size_t shown)
{
	size_t columns = columns_left(out, 2 * 12 + 3 * 10 + 2);
	int64_t running = 0;

	fprintf(out, "%12s%10s%10s%12s%10s  %s\n", "flat", "flat%", "sum%", "cum", "cum%", top_by_name(by));
	for (size_t i = 0; i < shown; i++) {
		const struct top_entry *entry = &table->entries[i];
		double total = (double)table->total;

		running = __builtin_add_overflow(running, entry->flat, &running) ? INT64_MAX : running;
		print_value(out, 12, entry->flat, unit);
		fprintf(out, "%8.2f %%%8.2f %%", percent((double)entry->flat, total),
		        percent((double)running, total));
		print_value(out, 12, entry->cum, unit);
		fprintf(out, "%8.2f %%  ", percent((double)entry->cum, total));
		text_print_clean(out, entry->name, columns);
		fputc('\n', out);
	}
}

void top_text_table(FILE *out, const struct top_table *table, enum top_by by, struct profile_value_type type,
                    size_t limit)
{
	size_t shown = bounded(table->count, limit);

	fprintf(out, "Top %zu of %zu %s by ", shown, table->count, plural(by));
	text_print_clean(out, type.type, 0);
	fputs(": ", out);
	print_value(out, 0, table->total, type.unit);
	fprintf(out, " in %" PRIu64 " sample%s\n", table->samples, table->samples == 1 ? "" : "s");
	if (!table->count)
		fputs("  no sample matches\n", out);
	else if (by == TOP_BY_STACK)
		print_stacks(out, table, type.unit, shown);
	else
		print_entries(out, table, by, type.unit, shown);
}
