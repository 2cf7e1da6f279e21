#include "profiler/top_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profiler/ledger_row.h"
#include "profiler/stamp.h"
#include "profiler/text_cells.h"
#include "profiler/top_input.h"
#include "profiler/top_ledger.h"

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

static int64_t as_signed(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static double percent(double part, double whole)
{
	return whole ? 100 * part / whole : 0;
}

/* --- the ledger -------------------------------------------------------------------------------------------
 */

#define WALL_WIDTH 12

static int column_width(const char *name)
{
	size_t length = strlen(name);

	return length < 8 ? 10 : (int)length + 2;
}

static size_t print_ledger_head(FILE *out, const struct top_ledger *table)
{
	size_t used = WALL_WIDTH;

	fprintf(out, "%*s", WALL_WIDTH, "wall");
	for (size_t i = 0; i < table->column_count; i++) {
		fprintf(out, "%*s", column_width(table->columns[i]), table->columns[i]);
		used += (size_t)column_width(table->columns[i]);
	}
	fputs("  tag\n", out);
	return used + 2;
}

static void print_ledger_row(FILE *out, const struct top_ledger *table, const struct top_ledger_row *row,
                             const char *name, size_t columns)
{
	print_duration(out, WALL_WIDTH, as_signed(row->wall_ns));
	for (size_t i = 0; i < table->column_count; i++)
		fprintf(out, "%*.2f %%", column_width(table->columns[i]) - 2,
		        percent((double)row->ns[i], (double)row->wall_ns));
	fputs("  ", out);
	text_print_clean(out, name, columns);
	fputc('\n', out);
}

static void print_ledger(FILE *out, const struct top_ledger *table, size_t limit)
{
	size_t shown = bounded(table->row_count, limit), columns;

	fprintf(out, "Ledger: where the wall time of %zu tag%s in %zu process%s went\n", table->row_count,
	        table->row_count == 1 ? "" : "s", table->processes, table->processes == 1 ? "" : "es");
	columns = columns_left(out, print_ledger_head(out, table));
	for (size_t i = 0; i < shown; i++)
		print_ledger_row(out, table, &table->rows[i], table->rows[i].tag, columns);
	if (shown < table->row_count)
		fprintf(out, "%*s  and %zu more tags (-n 0 shows all)\n", WALL_WIDTH, "…",
		        table->row_count - shown);
	if (table->row_count > 1)
		print_ledger_row(out, table, &table->sum, "[all]", columns);
}

int top_text_ledger(FILE *out, const struct top_input *input, const struct top_tags *tags,
                    const struct top_filter *filter, size_t limit)
{
	struct top_ledger table;

	if (input->files && input->foreign_files == input->files) {
		fputs("Ledger: none, as stallprof did not write this\n", out);
		return 0;
	}
	if (top_ledger_build(&table, input, tags, filter))
		return -ENOMEM;
	if (table.row_count)
		print_ledger(out, &table, limit);
	else if (ledger_count(input->ledger))
		fputs("Ledger: no tag matches\n", out);
	else
		fputs("Ledger: empty, no thread was tagged\n", out);
	if (input->foreign_files)
		fprintf(out, "  (%zu of %zu files have no ledger, as stallprof did not write them)\n",
		        input->foreign_files, input->files);
	top_ledger_free(&table);
	return 0;
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
		[TOP_BY_FUNCTION] = "functions", [TOP_BY_LINE] = "lines",   [TOP_BY_STACK] = "stacks",
		[TOP_BY_TAG] = "tags",           [TOP_BY_STALL] = "stalls", [TOP_BY_DEVICE] = "devices",
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

	fprintf(out, "\nTop %zu of %zu %s by %s: ", shown, table->count, plural(by), type.type);
	print_value(out, 0, table->total, type.unit);
	fprintf(out, " in %" PRIu64 " sample%s\n", table->samples, table->samples == 1 ? "" : "s");
	if (!table->count)
		fputs("  no sample matches\n", out);
	else if (by == TOP_BY_STACK)
		print_stacks(out, table, type.unit, shown);
	else
		print_entries(out, table, by, type.unit, shown);
}

/* --- the stamp --------------------------------------------------------------------------------------------
 */

static void print_coverage(FILE *out, struct stamp_coverage coverage)
{
	fputs("\nSeen: ", out);
	print_duration(out, 0, as_signed(coverage.covered_ns));
	fprintf(out, " in %" PRIu64 " window%s", coverage.windows, coverage.windows == 1 ? "" : "s");
	if (coverage.threshold_ns) {
		fputs("; sampling threshold ", out);
		print_duration(out, 0, as_signed(coverage.threshold_ns));
	}
	fputc('\n', out);
}

static void print_kernel(FILE *out, const struct stamp_kernel *kernel)
{
	if (kernel->state == KERNEL_SYMBOLS_UNSAID)
		return;
	fprintf(out, "  kernel symbols: %s", kernel_symbols_name(kernel->state));
	if (kernel->modules_without_debug)
		fprintf(out, ", %" PRIu64 " modules without debug information",
		        kernel->modules_without_debug);
	fputs(*kernel->advice ? "; better: " : "", out);
	text_print_clean(out, kernel->advice, 0);
	fputc('\n', out);
}

static void print_hooks(FILE *out, const struct stamp *stamp)
{
	size_t attached = 0, count = stamp_hook_count(stamp);

	for (size_t i = 0; i < count; i++)
		attached += stamp_hook_at(stamp, i).state == HOOK_ATTACHED;
	fprintf(out, "  hooks: %zu attached, %zu missing\n", attached, count - attached);
	for (size_t i = 0; i < count; i++) {
		struct stamp_hook hook = stamp_hook_at(stamp, i);

		if (hook.state != HOOK_MISSING)
			continue;
		fputs("    missing for ", out);
		text_print_clean(out, hook.cause, 0);
		fputs(": ", out);
		text_print_clean(out, hook.hook, 0);
		fputs(*hook.reason ? ": " : "", out);
		text_print_clean(out, hook.reason, 0);
		fputc('\n', out);
	}
}

static void print_counters(FILE *out, const struct stamp *stamp)
{
	size_t zeros = 0, count = stamp_counter_count(stamp);

	fputs("  counters:", out);
	for (size_t i = 0; i < count; i++) {
		struct stamp_counter counter = stamp_counter_at(stamp, i);

		zeros += !counter.value;
		if (!counter.value)
			continue;
		fputc(' ', out);
		text_print_clean(out, counter.name, 0);
		fprintf(out, "=%" PRIu64, counter.value);
	}
	if (!count)
		fputs(" none", out);
	else if (zeros == count)
		fprintf(out, " all %zu are 0", count);
	else if (zeros)
		fprintf(out, " (and %zu that are 0)", zeros);
	fputc('\n', out);
}

void top_text_stamp(FILE *out, const struct top_input *input)
{
	struct stamp_kernel kernel;

	if (input->files && input->foreign_files == input->files)
		return;
	print_coverage(out, stamp_coverage(input->stamp));
	kernel = stamp_kernel(input->stamp);
	print_kernel(out, &kernel);
	print_hooks(out, input->stamp);
	print_counters(out, input->stamp);
	if (input->malformed_lines)
		fprintf(out, "  %zu comment lines of stallprof could not be read and were left out\n",
		        input->malformed_lines);
}
