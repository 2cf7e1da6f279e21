/* The stamp in a profile's notes: see stamp.h. */
#include "profiler/format/stamp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/note_rows.h"

#define FORMAT "stallprof.format "

static const char *const hook_state_names[HOOK_STATES] = {
	[HOOK_ATTACHED] = "attached", [HOOK_UNUSED] = "unused", [HOOK_MISSING] = "missing"
};

const char *hook_state_name(enum hook_state state)
{
	return (unsigned)state < HOOK_STATES ? hook_state_names[state] : "?";
}

static const char *const kernel_names[] = { [KERNEL_SYMBOLS_UNSAID] = "",
	                                    [KERNEL_SYMBOLS_DWARF] = "dwarf",
	                                    [KERNEL_SYMBOLS_KALLSYMS] = "kallsyms",
	                                    [KERNEL_SYMBOLS_HIDDEN] = "hidden" };

const char *kernel_symbols_name(enum kernel_symbols state)
{
	return (unsigned)state <= KERNEL_SYMBOLS_HIDDEN ? kernel_names[state] : "?";
}

/* --- writing ------------------------------------------------------------------------------------------ */

static int write_coverage(struct profile *profile, const struct stamp_coverage *coverage)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, "stallprof.covered"))
		return -ENOMEM;
	note_writer_u64(&writer, "first_ns", coverage->first_ns);
	note_writer_u64(&writer, "last_ns", coverage->last_ns);
	note_writer_u64(&writer, "covered_ns", coverage->covered_ns);
	note_writer_u64(&writer, "windows", coverage->windows);
	if (coverage->booted_ns)
		note_writer_u64(&writer, "booted_ns", coverage->booted_ns);
	return note_rows_add(profile, &writer);
}

static int write_thresholds(struct profile *profile, const struct stamp_coverage *coverage)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, "stallprof.sampling"))
		return -ENOMEM;
	note_writer_u64(&writer, "threshold_ns", coverage->threshold_ns);
	note_writer_u64(&writer, "blocked_threshold_ns", coverage->blocked_threshold_ns);
	return note_rows_add(profile, &writer);
}

static int write_hook(struct profile *profile, struct stamp_hook hook)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, "stallprof.hook"))
		return -ENOMEM;
	note_writer_text(&writer, "cause", hook.cause);
	note_writer_text(&writer, "hook", hook.hook);
	note_writer_text(&writer, "state", hook_state_name(hook.state));
	if (*hook.reason)
		note_writer_text(&writer, "reason", hook.reason);
	return note_rows_add(profile, &writer);
}

static int write_counter(struct profile *profile, struct stamp_counter counter)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, "stallprof.counter"))
		return -ENOMEM;
	note_writer_text(&writer, "name", counter.name);
	note_writer_u64(&writer, "value", counter.value);
	return note_rows_add(profile, &writer);
}

static int write_kernel(struct profile *profile, const struct stamp_kernel *kernel)
{
	struct note_writer writer;

	if (note_writer_begin(&writer, "stallprof.kernel_symbols"))
		return -ENOMEM;
	note_writer_text(&writer, "state", kernel_symbols_name(kernel->state));
	note_writer_u64(&writer, "modules_without_debug", kernel->modules_without_debug);
	if (*kernel->advice)
		note_writer_text(&writer, "advice", kernel->advice);
	return note_rows_add(profile, &writer);
}

int stamp_to_notes(const struct stamp *stamp, struct profile *profile)
{
	struct stamp_coverage coverage = stamp_coverage(stamp);
	struct stamp_kernel kernel = stamp_kernel(stamp);
	char format[64];
	int err;

	snprintf(format, sizeof(format), FORMAT "%d", STAMP_FORMAT);
	err = profile_add_note(profile, format);
	if (!err && coverage.windows)
		err = write_coverage(profile, &coverage);
	if (!err && coverage.threshold_ns)
		err = write_thresholds(profile, &coverage);
	if (!err && kernel.state != KERNEL_SYMBOLS_UNSAID)
		err = write_kernel(profile, &kernel);
	for (size_t i = 0; !err && i < stamp_hook_count(stamp); i++)
		err = write_hook(profile, stamp_hook_at(stamp, i));
	for (size_t i = 0; !err && i < stamp_counter_count(stamp); i++)
		err = write_counter(profile, stamp_counter_at(stamp, i));
	return err;
}

/* --- reading: each returns 0, -EINVAL for a field missing or wrong, or what the stamp says -------------- */

static int read_coverage(struct stamp *stamp, const struct note_fields *fields)
{
	struct stamp_coverage part = { .booted_ns = 0 };

	if (note_fields_u64(fields, "first_ns", &part.first_ns) ||
	    note_fields_u64(fields, "last_ns", &part.last_ns) ||
	    note_fields_u64(fields, "covered_ns", &part.covered_ns) ||
	    note_fields_u64(fields, "windows", &part.windows))
		return -EINVAL;
	/* Older profiles do not say it. */
	if (note_fields_u64(fields, "booted_ns", &part.booted_ns))
		part.booted_ns = 0;
	return stamp_add_coverage(stamp, &part);
}

/* Older profiles have one T for all waits. */
static int read_thresholds(struct stamp *stamp, const struct note_fields *fields)
{
	uint64_t threshold_ns, blocked_ns;

	if (note_fields_u64(fields, "threshold_ns", &threshold_ns))
		return -EINVAL;
	blocked_ns = threshold_ns;
	if (note_fields_text(fields, "blocked_threshold_ns") &&
	    note_fields_u64(fields, "blocked_threshold_ns", &blocked_ns))
		return -EINVAL;
	stamp_set_threshold(stamp, threshold_ns);
	stamp_set_blocked_threshold(stamp, blocked_ns);
	return 0;
}

static int read_hook(struct stamp *stamp, const struct note_fields *fields)
{
	const char *cause = note_fields_text(fields, "cause");
	const char *hook = note_fields_text(fields, "hook");
	const char *state = note_fields_text(fields, "state");

	for (unsigned i = 0; cause && hook && state && i < HOOK_STATES; i++)
		if (!strcmp(state, hook_state_names[i]))
			return stamp_add_hook(stamp, cause, hook, i, note_fields_text(fields, "reason"));
	return -EINVAL;
}

static int read_kernel(struct stamp *stamp, const struct note_fields *fields)
{
	struct stamp_kernel kernel = { .advice = note_fields_text(fields, "advice") };
	const char *state = note_fields_text(fields, "state");

	if (!state || note_fields_u64(fields, "modules_without_debug", &kernel.modules_without_debug))
		return -EINVAL;
	for (kernel.state = KERNEL_SYMBOLS_DWARF; kernel.state <= KERNEL_SYMBOLS_HIDDEN; kernel.state++)
		if (!strcmp(state, kernel_names[kernel.state]))
			return stamp_set_kernel(stamp, &kernel);
	return -EINVAL;
}

static int read_counter(struct stamp *stamp, const struct note_fields *fields)
{
	const char *name = note_fields_text(fields, "name");
	uint64_t value;

	if (!name || note_fields_u64(fields, "value", &value))
		return -EINVAL;
	return stamp_add_counter(stamp, name, value);
}

static const struct {
	const char *record;
	int (*read)(struct stamp *stamp, const struct note_fields *fields);
} readers[] = {
	{ "stallprof.covered", read_coverage }, { "stallprof.sampling", read_thresholds },
	{ "stallprof.hook", read_hook },        { "stallprof.kernel_symbols", read_kernel },
	{ "stallprof.counter", read_counter },
};

/* -ENOMSG when the line is none of ours. */
static int read_line(struct stamp *stamp, const char *line)
{
	int err = -ENOMSG;

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]) && err == -ENOMSG; i++) {
		struct note_fields fields;

		err = note_fields_parse(&fields, line, readers[i].record);
		if (!err) {
			err = readers[i].read(stamp, &fields);
			note_fields_free(&fields);
		}
	}
	return err;
}

/* The format a profile says it has: first a check, so that nothing of an unknown format is taken in. */
static int check_format(const struct profile *profile)
{
	char ours[64];
	int result = -ENODATA;

	snprintf(ours, sizeof(ours), FORMAT "%d", STAMP_FORMAT);
	for (size_t i = 0; i < profile_n_notes(profile); i++) {
		const char *line = profile_note(profile, i);

		if (strncmp(line, FORMAT, strlen(FORMAT)))
			continue;
		if (strcmp(line, ours))
			return -EPROTONOSUPPORT;
		result = 0;
	}
	return result;
}

int stamp_from_notes(struct stamp *stamp, const struct profile *profile, size_t *malformed)
{
	int err = check_format(profile);

	for (size_t i = 0; !err && i < profile_n_notes(profile); i++) {
		err = read_line(stamp, profile_note(profile, i));
		if (err == -EINVAL && malformed)
			(*malformed)++;
		if (err == -EINVAL || err == -ENOMSG)
			err = 0;
	}
	return err;
}

static int take_coverage(void *stamp, const struct note_fields *fields)
{
	return read_coverage(stamp, fields);
}

int stamp_coverage_from_notes(const struct profile *profile, struct stamp_coverage *coverage)
{
	struct stamp *stamp = stamp_new();
	int err = stamp ? 0 : -ENOMEM;

	if (!err && !check_format(profile))
		err = note_rows_read(profile, "stallprof.covered", take_coverage, stamp, NULL);
	*coverage = err ? (struct stamp_coverage){ .windows = 0 } : stamp_coverage(stamp);
	stamp_free(stamp);
	return err;
}
