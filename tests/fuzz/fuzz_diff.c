/*
 * Fuzzes what `stallprof diff` parses of its command line: a rule of --fail-on, a filter, a question to Pyroscope. What is
 * taken must be whole, what is refused must have one line that says why.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_filter.h"
#include "profiler/diff/diff_query.h"
#include "profiler/diff/diff_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const char *err)
{
	if (!*err || strchr(err, '\n'))
		abort();
}

/* A line for a fault repeats a part of the input, and with it its newlines. */
static int is_one_line(const char *text)
{
	return !strchr(text, '\n');
}

static void try_rule(const char *text)
{
	struct diff_rule rule;
	char err[512] = "";

	if (diff_rule_parse(&rule, text, err, sizeof(err))) {
		check_refusal(err);
		return;
	}
	if (strcmp(rule.text, text) != 0 || !(rule.limit >= 0) ||
	    (rule.percent && (!rule.grows || rule.duration)))
		abort();
	if ((rule.subject == DIFF_NAMED) != (rule.name && *rule.name))
		abort();
	diff_rule_release(&rule);
}

static void try_filter(const char *text)
{
	struct diff_filter filter = { .count = 0 };
	char err[512] = "";

	if (diff_filter_add(&filter, text, err, sizeof(err)))
		check_refusal(err);
	for (size_t i = 0; i < filter.count; i++)
		if (!*filter.condition[i].label || !*filter.condition[i].value)
			abort();
	diff_filter_release(&filter);
}

static void try_query(const char *text)
{
	struct diff_query query;
	char err[512] = "", *narrowed;

	if (diff_query_parse(&query, text, 1700000000000, err, sizeof(err))) {
		check_refusal(err);
		return;
	}
	if (strncmp(query.url, "http", 4) != 0 || !*query.conditions || query.from_ms >= query.to_ms)
		abort();
	narrowed = diff_query_and(query.conditions, "stall", text);
	if (!narrowed || strlen(narrowed) <= strlen(query.conditions) + strlen(text))
		abort();
	free(narrowed);
	diff_query_release(&query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (is_one_line(text)) {
		try_rule(text);
		try_filter(text);
		try_query(text);
	}
	free(text);
	return 0;
}
