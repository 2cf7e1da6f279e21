/* Parses pyroscope://host/service{labels}@from..to. */

#include "profiler/diff/diff_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXAMPLE "pyroscope://127.0.0.1:4040/train{stall=\"throttle\"}@now-1h..now"

/* A scheme of ours, what it stands for, and the port unless one is given. */
static const struct {
	const char *ours, *theirs, *port;
} schemes[] = { { "pyroscope://", "http://", "4040" }, { "pyroscopes://", "https://", "443" } };

static int fault(char *err, size_t err_size, const char *text, const char *what)
{
	snprintf(err, err_size, "%.200s: %s; an example: " EXAMPLE, text, what);
	return -EINVAL;
}

static int scheme_of(const char *text)
{
	for (int i = 0; i < 2; i++)
		if (!strncmp(text, schemes[i].ours, strlen(schemes[i].ours)))
			return i;
	return -1;
}

bool diff_query_is(const char *text)
{
	return scheme_of(text) >= 0;
}

/* --- times ------------------------------------------------------------------------------------------------ */

static bool parse_ago(const char *text, int64_t now_ms, int64_t *ms)
{
	static const struct {
		char unit;
		int64_t ms;
	} units[] = { { 's', 1000 }, { 'm', 60000 }, { 'h', 3600000 }, { 'd', 86400000 } };
	char *end;
	long long number;

	*ms = now_ms;
	if (!*text)
		return true;
	if (text[0] != '-' || text[1] < '0' || text[1] > '9')
		return false;
	number = strtoll(text + 1, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (*end != units[i].unit || end[1] || number > 100000000)
			continue;
		*ms = now_ms - number * units[i].ms;
		return true;
	}
	return false;
}

static bool parse_date(const char *text, int64_t *ms)
{
	struct tm parts = { .tm_isdst = 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);

	if (!end || *end)
		return false;
	*ms = (int64_t)timegm(&parts) * 1000;
	return true;
}

static bool parse_time(const char *text, int64_t now_ms, int64_t *ms)
{
	char *end;
	long long seconds;

	if (!strncmp(text, "now", 3))
		return parse_ago(text + 3, now_ms, ms);
	if (strchr(text, 'T'))
		return parse_date(text, ms);
	if (*text < '0' || *text > '9' || strlen(text) > 11)
		return false;
	seconds = strtoll(text, &end, 10);
	*ms = seconds * 1000;
	return !*end;
}

/* "from..to" */
static int parse_range(struct diff_query *query, const char *text, int64_t now_ms, char *err, size_t err_size)
{
	const char *dots = strstr(text, "..");
	char from[64];

	if (!dots || (size_t)(dots - text) >= sizeof(from))
		return fault(err, err_size, text, "a time range is FROM..TO");
	snprintf(from, sizeof(from), "%.*s", (int)(dots - text), text);
	if (!parse_time(from, now_ms, &query->from_ms))
		return fault(err, err_size, from,
		             "no time: Unix seconds, 2026-11-23T10:00:00Z, now or now-90s, m, h, d");
	if (!parse_time(dots + 2, now_ms, &query->to_ms))
		return fault(err, err_size, dots + 2,
		             "no time: Unix seconds, 2026-11-23T10:00:00Z, now or now-90s, m, h, d");
	if (query->from_ms < 0 || query->to_ms > INT64_MAX / 1000000)
		return fault(err, err_size, text, "no time of Unix: nanoseconds since 1970 do not hold it");
	if (query->from_ms >= query->to_ms)
		return fault(err, err_size, text, "the time range ends before it begins");
	return 0;
}

/* --- selector --------------------------------------------------------------------------------------------- */

/* The closing brace of a selector whose text begins behind the opening one; NULL: there is none. */
static const char *closing_brace(const char *text)
{
	char quote = '\0';

	for (; *text; text++) {
		if (quote && *text == '\\' && quote == '"' && text[1])
			text++;
		else if (quote)
			quote = *text == quote ? '\0' : quote;
		else if (*text == '"' || *text == '`')
			quote = *text;
		else if (*text == '}')
			return text;
	}
	return NULL;
}

char *diff_query_and(const char *conditions, const char *name, const char *value)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	bool failed;

	if (!stream)
		return NULL;
	fprintf(stream, "%s%s%s=\"", conditions, *conditions ? "," : "", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", stream);
		else
			fprintf(stream, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
	}
	fputc('"', stream);
	failed = ferror(stream) != 0;
	failed |= fclose(stream) != 0;
	if (!failed)
		return text;
	free(text);
	return NULL;
}

static int make_conditions(struct diff_query *query, const char *service, size_t service_length,
                           const char *labels, size_t labels_length)
{
	char *name = strndup(service, service_length), *given = strndup(labels, labels_length);

	if (name && given)
		query->conditions = *name ? diff_query_and(given, "service_name", name) : strdup(given);
	free(name);
	free(given);
	return query->conditions ? 0 : -ENOMEM;
}

/* "service{labels}@from..to" */
static int parse_path(struct diff_query *query, const char *path, int64_t now_ms, char *err, size_t err_size)
{
	size_t service = strcspn(path, "{@/");
	const char *labels = path + service, *end = labels;

	if (*labels == '/')
		return fault(err, err_size, path, "a service has no / in it");
	if (*labels == '{') {
		end = closing_brace(++labels);
		if (!end)
			return fault(err, err_size, path, "the labels have no closing }");
	}
	if (!service && end == labels)
		return fault(err, err_size, path, "there is no service behind the host");
	if (end[*end == '}'] != '@')
		return fault(err, err_size, path, "there is no @FROM..TO behind the service");
	if (parse_range(query, end + (*end == '}') + 1, now_ms, err, err_size))
		return -EINVAL;
	return make_conditions(query, path, service, labels, (size_t)(end - labels));
}

/* Whether host[:port] or [IPv6]:port of that length has a port. */
static bool names_port(const char *host, size_t length)
{
	size_t name = *host == '[' ? strcspn(host, "]/") : 0;

	return name + strcspn(host + name, ":/") < length;
}

int diff_query_parse(struct diff_query *query, const char *text, int64_t now_ms, char *err, size_t err_size)
{
	int scheme = scheme_of(text), result;
	const char *host = scheme < 0 ? text : text + strlen(schemes[scheme].ours);
	size_t length = strcspn(host, "/");
	bool has_port;

	*query = (struct diff_query){ .url = NULL };
	if (scheme < 0)
		return fault(err, err_size, text, "it must begin with pyroscope:// or pyroscopes://");
	if (!length || !host[length])
		return fault(err, err_size, text, "a host and a service are needed");
	if (strcspn(host, "@{?#\\ ") < length)
		return fault(err, err_size, text, "its host has a character that no host has");
	has_port = names_port(host, length);
	result = parse_path(query, host + length + 1, now_ms, err, err_size);
	if (!result && asprintf(&query->url, "%s%.*s%s%s", schemes[scheme].theirs, (int)length, host,
	                        has_port ? "" : ":", has_port ? "" : schemes[scheme].port) < 0) {
		query->url = NULL;
		result = -ENOMEM;
	}
	if (result == -ENOMEM)
		snprintf(err, err_size, "no memory left");
	if (result)
		diff_query_release(query);
	return result;
}

void diff_query_release(struct diff_query *query)
{
	free(query->url);
	free(query->conditions);
	*query = (struct diff_query){ .url = NULL };
}
