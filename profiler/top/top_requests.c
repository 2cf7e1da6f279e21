/* Sums the request rows by class and device, and prints them. */

#include "profiler/top/top_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_profiles.h"
#include "symbolizer/base/compare.h"

#define CLASS_COLUMNS 40
#define NO_TAG        "(no tag)"

/* --- the sums --------------------------------------------------------------------------------------------- */

static bool same_row(const struct top_request *a, const struct request_row *b)
{
	return !strcmp(a->device, b->device) && !strcmp(a->class, b->class) && a->op == b->op;
}

/* Rows come sorted by device, class and op. */
static void add_row(struct top_requests *requests, const struct request_row *row)
{
	struct top_request *last = requests->count ? &requests->rows[requests->count - 1] : NULL;

	if (!last || !same_row(last, row)) {
		last = &requests->rows[requests->count++];
		*last = (struct top_request){ .device = row->device, .class = row->class, .op = row->op };
	}
	last->requests += row->requests;
	last->bytes += row->bytes;
	last->ns += row->ns;
	last->writeback_bytes += row->writeback ? row->bytes : 0;
}

/* Leaves the rows of the devices that served a tag, and tells each the time of its device. */
static void keep_tagged(struct top_requests *requests)
{
	struct top_request *rows = requests->rows;
	size_t kept = 0, first, end, i;

	for (first = 0; first < requests->count; first = end) {
		bool tagged = false;
		uint64_t ns = 0;

		for (end = first; end < requests->count && !strcmp(rows[end].device, rows[first].device);
		     end++) {
			tagged = tagged || *rows[end].class;
			ns += rows[end].ns;
		}
		for (i = first; i < end && tagged; i++) {
			rows[i].device_ns = ns;
			rows[kept++] = rows[i];
		}
	}
	requests->count = kept;
}

static int compare(const void *left, const void *right)
{
	const struct top_request *a = left, *b = right;
	int order = compare_u64(b->device_ns, a->device_ns);

	order = order ? order : strcmp(a->device, b->device);
	order = order ? order : compare_u64(b->ns, a->ns);
	order = order ? order : compare_u64(b->bytes, a->bytes);
	order = order ? order : strcmp(a->class, b->class);
	return order ? order : (int)a->op - (int)b->op;
}

int top_requests_build(struct top_requests *requests, const struct loaded_profiles *input)
{
	size_t n = request_rows_count(input->requests);

	*requests = (struct top_requests){ .rows = calloc(n + 1, sizeof(struct top_request)) };
	if (!requests->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		add_row(requests, request_rows_at(input->requests, i));
	keep_tagged(requests);
	qsort(requests->rows, requests->count, sizeof(*requests->rows), compare);
	return 0;
}

void top_requests_free(struct top_requests *requests)
{
	free(requests->rows);
	*requests = (struct top_requests){ .count = 0 };
}

/* --- text ------------------------------------------------------------------------------------------------- */

static void print_bytes(FILE *out, uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	size_t i = 0;

	for (; value >= 1024 && i + 1 < sizeof(units) / sizeof(*units); i++)
		value /= 1024;
	fprintf(out, "%.*f %s", i == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2, value, units[i]);
}

static const char *done(enum request_op op)
{
	static const char *const words[REQUEST_OPS] = {
		[REQUEST_READ] = "read",          [REQUEST_WRITE] = "written",
		[REQUEST_FLUSH] = "flushed",      [REQUEST_DISCARD] = "discarded",
		[REQUEST_OTHER] = "other things",
	};

	return words[op];
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void write_row(FILE *out, const struct top_request *row, int device_columns, size_t class_columns)
{
	const char *class = *row->class ? row->class : NO_TAG;
	size_t used = text_columns(class);
	char mean[TEXT_DURATION_BYTES];

	fprintf(out, "  %-*s  ", device_columns, row->device);
	text_print_clean(out, class, CLASS_COLUMNS);
	fprintf(out, "%*s", used < class_columns ? (int)(class_columns - used) + 2 : 2, "");
	if (row->bytes) {
		print_bytes(out, row->bytes);
		fputc(' ', out);
	}
	fprintf(out, "%s in %" PRIu64 ", mean %s, %.1f %% of the time", done(row->op), row->requests,
	        text_short_duration(mean, row->requests ? row->ns / row->requests : 0),
	        percent(row->ns, row->device_ns));
	if (percent(row->writeback_bytes, row->bytes) >= 0.5)
		fprintf(out, " (%.0f %% by writeback)", percent(row->writeback_bytes, row->bytes));
}

/* Without memory the row is left out. */
static void print_row(FILE *out, const struct top_request *row, int device_columns, size_t class_columns,
                      size_t columns)
{
	char *line = NULL;
	size_t size;
	FILE *memory = open_memstream(&line, &size);

	if (!memory)
		return;
	write_row(memory, row, device_columns, class_columns);
	if (!fclose(memory)) {
		text_print_clean(out, line, columns);
		fputc('\n', out);
	}
	free(line);
}

size_t top_text_requests(FILE *out, const struct top_requests *requests, size_t limit, size_t columns)
{
	size_t n = limit && limit < requests->count ? limit : requests->count, class_columns = 0, i;
	int device_columns = 0;

	for (i = 0; i < n; i++) {
		const struct top_request *row = &requests->rows[i];
		size_t class = text_columns(*row->class ? row->class : NO_TAG);
		int device = (int)strlen(row->device);

		class_columns = class > class_columns ? class : class_columns;
		device_columns = device > device_columns ? device : device_columns;
	}
	if (!n)
		return 0;
	if (class_columns > CLASS_COLUMNS)
		class_columns = CLASS_COLUMNS;
	fputs("Whose requests the devices served, and how long one took:\n", out);
	for (i = 0; i < n; i++)
		print_row(out, &requests->rows[i], device_columns, class_columns, columns);
	return n + 1;
}

/* --- JSON ------------------------------------------------------------------------------------------------- */

void top_json_requests(struct json_writer *json, const struct loaded_profiles *input)
{
	json_key(json, "requests");
	json_array_begin(json);
	for (size_t i = 0; i < request_rows_count(input->requests); i++) {
		const struct request_row *row = request_rows_at(input->requests, i);

		json_object_begin(json);
		json_member_string(json, "device", row->device);
		json_member_string(json, "class", *row->class ? row->class : NULL);
		json_member_string(json, "op", request_op_name(row->op));
		json_key(json, "writeback");
		json_bool(json, row->writeback);
		json_member_u64(json, "requests", row->requests);
		json_member_u64(json, "bytes", row->bytes);
		json_member_u64(json, "ns", row->ns);
		json_object_end(json);
	}
	json_array_end(json);
}
