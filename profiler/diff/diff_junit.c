/* A comparison as a JUnit report, which CI systems show beside their tests. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_result.h"
#include "profiler/diff/diff_print.h"
#include "profiler/format/text_cells.h"

static const char *entity_of(char c)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = {
		{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&apos;" }
	};

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (entities[i].c == c)
			return entities[i].entity;
	return NULL;
}

/* As XML text: lines are kept, all else that XML cannot hold is escaped as for a terminal. */
static void print_xml(FILE *out, const char *text)
{
	char *clean = NULL, line[8192];
	size_t size;
	FILE *stream = open_memstream(&clean, &size);

	if (!stream)
		return;
	while (*text) {
		size_t length = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		text_print_clean(stream, line, 0);
		text += length;
		if (*text == '\n') {
			fputc('\n', stream);
			text++;
		}
	}
	if (!fclose(stream))
		for (const char *at = clean; *at; at++) {
			const char *entity = entity_of(*at);

			if (entity)
				fputs(entity, out);
			else
				fputc(*at, out);
		}
	free(clean);
}

static void print_case(FILE *out, const char *name, const char *element, const char *message)
{
	fputs("    <testcase classname=\"stallprof.diff\" name=\"", out);
	print_xml(out, name);
	if (!element) {
		fputs("\"/>\n", out);
		return;
	}
	fprintf(out, "\">\n      <%s message=\"", element);
	print_xml(out, message);
	fputs("\"/>\n    </testcase>\n", out);
}

static void print_findings(FILE *out, const struct diff *diff)
{
	static const char *const elements[] = { NULL, "failure", "error" };

	for (size_t i = 0; i < diff->finding_count; i++) {
		const struct diff_finding *finding = &diff->findings[i];

		print_case(out, finding->rule->text, elements[finding->outcome], finding->text);
	}
}

static size_t count_outcome(const struct diff *diff, enum diff_outcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < diff->finding_count; i++)
		n += diff->findings[i].outcome == outcome;
	return n;
}

/* The whole as text. NULL: no memory. */
static char *whole_text(struct diff *diff, size_t limit)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	int err;

	if (!stream)
		return NULL;
	err = diff_print_text(stream, diff, limit);
	err |= fclose(stream);
	if (!err)
		return text;
	free(text);
	return NULL;
}

int diff_print_junit(FILE *out, struct diff *diff, size_t limit)
{
	size_t cases = diff->finding_count ? diff->finding_count : 1;
	size_t errors = diff->refused ? 1 : count_outcome(diff, DIFF_UNJUDGED);
	char *text = whole_text(diff, limit);

	if (!text)
		return -ENOMEM;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
	fprintf(out, "  <testsuite name=\"stallprof diff\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
	        cases, count_outcome(diff, DIFF_FAILED), errors);
	if (diff->refused)
		print_case(out, "the recordings can be compared", "error", diff->against.text[0]);
	else if (!diff->finding_count)
		print_case(out, "comparison", NULL, NULL);
	print_findings(out, diff);
	fputs("    <system-out>", out);
	print_xml(out, text);
	fputs("</system-out>\n  </testsuite>\n</testsuites>\n", out);
	free(text);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
