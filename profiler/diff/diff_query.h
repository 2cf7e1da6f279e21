/*
 * A question to a Pyroscope server as one word of a command line:
 *
 *     pyroscope://host[:port]/service[{name="value",...}]@from..to
 *
 * pyroscopes:// asks by https. The port is 4040 unless given, 443 by https. The labels are a selector as Pyroscope's own (=, !=, =~,
 * !~). from and to are Unix seconds, 2026-11-23T10:00:00Z, now, or now-90s, now-15m, now-2h, now-1d. The service has neither / nor {
 * nor @ in it; of one that has, use {service_name="..."} behind an empty name.
 */
#ifndef STALLPROF_PROFILER_DIFF_QUERY_H
#define STALLPROF_PROFILER_DIFF_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_query {
	char *url;              /* http(s)://host:port */
	char *conditions;       /* of the selector, without braces: service_name="train",job="a" */
	int64_t from_ms, to_ms; /* Unix time */
};

/* Whether a text is meant as a question to Pyroscope. */
bool diff_query_is(const char *text);

/* now_ms is what "now" means. -EINVAL with one line, without newline, in err; -ENOMEM. Only after 0 is there something to
 * release. */
int diff_query_parse(struct diff_query *query, const char *text, int64_t now_ms, char *err, size_t err_size);
void diff_query_release(struct diff_query *query);

/* Adds name="value" to a selector's conditions, escaped; the caller frees it. NULL: no memory. */
char *diff_query_and(const char *conditions, const char *name, const char *value);

#endif
