/* Prints the findings of stallprof doctor for people. */

#include "profiler/cli/doctor_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profiler/cli/doctor_findings.h"
#include "profiler/format/text_cells.h"
#include "profiler/tracer/probe_table.h"

#define NAMES_A_LINE  8
#define CAUSE_COLUMNS 18

/* --- hooks by their state --- */

/* Why rows of a table are as they are, and what would help. */
struct state {
	const char *missing; /* NULL: they are available */
	const char *advice;
};

static struct state state_of(const struct doctor_findings *found, size_t row)
{
	struct state state = { .missing = doctor_row_missing(found, row), .advice = "" };

	/* What another hook needs is said with that one. */
	if (state.missing && strcmp(state.missing, PROBE_OTHER_MISSING) != 0)
		state.advice = doctor_row_advice(found, row);
	return state;
}

static bool same_state(struct state a, struct state b)
{
	if (!a.missing || !b.missing)
		return a.missing == b.missing;
	return !strcmp(a.missing, b.missing) && !strcmp(a.advice, b.advice);
}

/* Those that others serve in place of are no part of the text. */
static bool is_shown(const struct doctor_findings *found, size_t row)
{
	return !(found->probes && probe_replaced(found->probes, &probe_table[row]));
}

static bool is_in(const struct doctor_findings *found, size_t row, struct state state)
{
	return is_shown(found, row) && same_state(state_of(found, row), state);
}

static void print_indented(const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		printf("%-10s   %.*s\n", "", (int)strcspn(text, "\n"), text);
}

/* The row's hook behind those of its cause; *column is where the line ends. */
static void print_hook(size_t row, bool first, size_t *column)
{
	char hook[96];
	int length = snprintf(hook, sizeof(hook), "%s%s", probe_kind_prefix(probe_table[row].kind),
	                      probe_table[row].hook);

	if (first) {
		printf("  %-*s %s", CAUSE_COLUMNS, probe_table[row].cause, hook);
		*column = CAUSE_COLUMNS + 3;
	} else if (*column + 2 + (size_t)length < text_line_columns(stdout)) {
		printf(", %s", hook);
		*column += 2;
	} else {
		printf(",\n  %-*s %s", CAUSE_COLUMNS, "", hook);
		*column = CAUSE_COLUMNS + 3;
	}
	*column += (size_t)length;
}

/* All rows of the cause in this state, where `row` is the first of them. */
static void print_cause(const struct doctor_findings *found, size_t row, struct state state)
{
	size_t column = 0;

	for (size_t i = row; i < probe_table_len; i++)
		if (!strcmp(probe_table[i].cause, probe_table[row].cause) && is_in(found, i, state))
			print_hook(i, i == row, &column);
	putchar('\n');
}

static bool cause_printed_before(const struct doctor_findings *found, size_t row, struct state state)
{
	for (size_t i = 0; i < row; i++)
		if (!strcmp(probe_table[i].cause, probe_table[row].cause) && is_in(found, i, state))
			return true;
	return false;
}

/* What the verifier said of those that it refused. */
static void print_logs(const struct doctor_findings *found, struct state state)
{
	for (size_t i = 0; i < probe_table_len && found->probes; i++) {
		const char *log = probe_log(found->probes, &probe_table[i]);

		if (!*log || !is_in(found, i, state))
			continue;
		printf("  %s%s:\n", probe_kind_prefix(probe_table[i].kind), probe_table[i].hook);
		print_indented(log);
	}
}

static bool state_seen_before(const struct doctor_findings *found, size_t row)
{
	const struct state state = state_of(found, row);

	for (size_t i = 0; i < row; i++)
		if (is_in(found, i, state))
			return true;
	return false;
}

static void print_states(const struct doctor_findings *found, bool available)
{
	for (size_t i = 0; i < probe_table_len; i++) {
		const struct state state = state_of(found, i);

		if (!is_shown(found, i) || !state.missing != available || state_seen_before(found, i))
			continue;
		printf("\nhooks: %s%s%s\n", available ? "available" : state.missing,
		       *state.advice ? "; needs: " : "", state.advice);
		for (size_t row = i; row < probe_table_len; row++)
			if (is_in(found, row, state) && !cause_printed_before(found, row, state))
				print_cause(found, row, state);
		print_logs(found, state);
	}
}

/* --- all of it in short --- */

static void print_causes(const struct doctor_findings *found, enum doctor_seen seen, const char *title)
{
	size_t n = 0;

	for (size_t i = 0; i < probe_table_len; i++) {
		if (doctor_names_cause_before(i) || doctor_cause_seen(found, probe_table[i].cause) != seen)
			continue;
		if (!n)
			printf("%s:", title);
		printf("%s%s", n % NAMES_A_LINE ? ", " : "\n  ", probe_table[i].cause);
		n++;
	}
	if (n)
		putchar('\n');
}

/* All of it in short. */
static void print_summary(const struct doctor_findings *found)
{
	putchar('\n');
	if (!found->tracer) {
		puts("Nothing can be recorded here: see what is \"no\" above.");
		return;
	}
	print_causes(found, DOCTOR_SEEN_WHOLE, "Seen whole");
	print_causes(found, DOCTOR_SEEN_PART, "Seen in part, as a hook is missing (above)");
	print_causes(found, DOCTOR_SEEN_NOTHING, "Without a hook of their own (above)");
	print_causes(found, DOCTOR_SEEN_UNNEEDED,
	             "Nothing to hook now, as modules are not loaded or file systems not mounted");
}

void doctor_print_text(const struct doctor_findings *found)
{
	printf("host: Linux %s\n", found->host.release);
	for (size_t i = 0; i < found->n_facts; i++)
		printf("  %-16s %s%s\n", found->facts[i].name, found->facts[i].good ? "yes" : "no: ",
		       found->facts[i].good ? "" : found->facts[i].advice);
	print_states(found, true);
	print_states(found, false);
	print_summary(found);
}
