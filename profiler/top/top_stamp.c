/* Prints the whole stamp, by the names that it has. */

#include "profiler/top/top_stamp.h"

#include <inttypes.h>

#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/top/top_hooks.h"

static void print_coverage(FILE *out, struct stamp_coverage coverage)
{
	char text[TEXT_DURATION_BYTES];

	fprintf(out, "\nSeen: %s in %" PRIu64 " window%s", text_short_duration(text, coverage.covered_ns),
	        coverage.windows, coverage.windows == 1 ? "" : "s");
	if (coverage.threshold_ns)
		fprintf(out, "; sampling threshold %s", text_short_duration(text, coverage.threshold_ns));
	if (coverage.blocked_threshold_ns && coverage.blocked_threshold_ns != coverage.threshold_ns)
		fprintf(out, ", of waits that are no stalls %s",
		        text_short_duration(text, coverage.blocked_threshold_ns));
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

static void print_counters(FILE *out, const struct stamp *stamp, size_t columns)
{
	size_t n = stamp_counter_count(stamp), used, zeros = 0;

	used = (size_t)fprintf(out, "  counters:");
	for (size_t i = 0; i < n; i++) {
		struct stamp_counter counter = stamp_counter_at(stamp, i);
		char value[24];
		size_t length;

		zeros += !counter.value;
		if (!counter.value)
			continue;
		length = 1 + text_columns(counter.name) +
		         (size_t)snprintf(value, sizeof(value), "=%" PRIu64, counter.value);
		if (columns && used + length > columns)
			used = (size_t)fprintf(out, "\n   ") - 1;
		fputc(' ', out);
		text_print_clean(out, counter.name, 0);
		fputs(value, out);
		used += length;
	}
	fputs(!n ? " none\n" : zeros == n ? " all 0\n" : "\n", out);
}

void top_text_stamp(FILE *out, const struct loaded_profiles *input, size_t columns)
{
	struct stamp_kernel kernel = stamp_kernel(input->stamp);

	if (input->foreign_files + input->rewritten_files == input->files)
		return;
	print_coverage(out, stamp_coverage(input->stamp));
	print_kernel(out, &kernel);
	top_hooks_print(out, input->stamp);
	print_counters(out, input->stamp, columns);
}
