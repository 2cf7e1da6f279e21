/* Parses the rules of --fail-on. */

#include "profiler/diff/diff_rule.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fault(char *err, size_t err_size, const char *text, const char *what)
{
	snprintf(err, err_size,
	         "'%.200s': %s; examples: total:+5%%, use:save:+20%%, stall:nvme_reset>0, "
	         "function:write_shard:+10%%",
	         text, what);
	return -EINVAL;
}

bool diff_by_parse(const char *name, enum top_by *by)
{
	if (!strcmp(name, "cause"))
		name = "stall";
	if (!strcmp(name, "ai_tag"))
		name = "class";
	return top_by_parse(name, by);
}

/* --- the limit -------------------------------------------------------------------------------------------- */

/* "5%", "2ms", "0": all of the text, a number that is not negative, in decimal. */
static bool parse_limit(struct diff_rule *rule, const char *text)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	size_t digits = strspn(text, "0123456789.");
	char *end;

	if (!digits || digits > 20 || (text[0] == '.' && digits == 1))
		return false;
	rule->limit = strtod(text, &end);
	if (end != text + digits || !isfinite(rule->limit))
		return false;
	rule->percent = rule->grows && !strcmp(end, "%");
	if (!*end || rule->percent)
		return true;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		rule->limit *= units[i].ns;
		rule->duration = true;
		return true;
	}
	return false;
}

/* Where the subject ends: names may have : + and > in them, so the last one counts that a limit follows. */
static size_t find_limit(struct diff_rule *rule, const char *text)
{
	for (size_t at = strlen(text); at > 0; at--) {
		rule->grows = text[at - 1] == ':' && text[at] == '+';
		if ((rule->grows || text[at - 1] == '>') && parse_limit(rule, text + at + rule->grows))
			return at - 1;
	}
	return 0;
}

/* --- the subject ------------------------------------------------------------------------------------------ */

static int parse_subject(struct diff_rule *rule, size_t length, char *err, size_t err_size)
{
	char *subject = strndup(rule->text, length), *colon = subject ? strchr(subject, ':') : NULL;
	int result = 0;

	if (!subject)
		return -ENOMEM;
	if (colon)
		*colon = '\0';
	if (!colon && !strcmp(subject, "total")) {
		rule->subject = DIFF_TOTAL;
	} else if (!colon && !strcmp(subject, "any")) {
		rule->subject = DIFF_ANY;
	} else if (!colon || (strcmp(subject, "use") != 0 && !diff_by_parse(subject, &rule->what))) {
		result = fault(err, err_size, rule->text,
		               "its subject is none of total, any, use:CLASS, function:NAME, line:, stack:, "
		               "stall:, device:, "
		               "class:, tag:, process:, inherited:");
	} else if (!colon[1]) {
		result = fault(err, err_size, rule->text, "there is no name behind the colon");
	} else {
		rule->subject = strcmp(subject, "use") ? DIFF_NAMED : DIFF_USE;
		rule->name = strdup(colon + 1);
		result = rule->name ? 0 : -ENOMEM;
	}
	free(subject);
	return result;
}

int diff_rule_parse(struct diff_rule *rule, const char *text, char *err, size_t err_size)
{
	size_t length;
	int result = -ENOMEM;

	*rule = (struct diff_rule){ .text = strdup(text) };
	if (rule->text) {
		length = find_limit(rule, text);
		result = length ? parse_subject(rule, length, err, err_size)
		                : fault(err, err_size, text,
		                        "it does not end in >LIMIT or :+LIMIT with a LIMIT such as 0, 5% or "
		                        "2ms");
	}
	if (result == -ENOMEM)
		snprintf(err, err_size, "no memory left");
	if (result)
		diff_rule_release(rule);
	return result;
}

void diff_rule_release(struct diff_rule *rule)
{
	free(rule->text);
	free(rule->name);
	*rule = (struct diff_rule){ .text = NULL };
}
