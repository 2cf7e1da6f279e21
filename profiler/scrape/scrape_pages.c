/* Answers to the paths that there are. */

#include "profiler/scrape/scrape_pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_server.h"
#include "profiler/scrape/scrape_text.h"
#include "profiler/scrape/scrape_windows.h"

#define PROFILE_TYPE "application/octet-stream" /* Alloy takes no other */
#define PPROF        "/debug/pprof/"
#define DELTA        "delta_"
#define SECONDS_MAX  86400

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404, FAILED = 500, UNAVAILABLE = 503 };

/* The names that Go gives its profiles, in the order of series_table. */
static const char *const names[] = { "block", "profile", "recovery" };

static const char contents[] =
        "stallprof agent\n"
        "\n"
        "/metrics                               counters, for Prometheus\n"
        "/debug/pprof/block?seconds=N           stalls: the last windows that cover N seconds, or the last "
        "one\n"
        "/debug/pprof/profile?seconds=N         CPU time inside stalls\n"
        "/debug/pprof/recovery?seconds=N        who recovered devices\n"
        "/debug/pprof/delta_block?reader=NAME   the windows that this reader has not had, each once;\n"
        "                                       so also delta_profile and delta_recovery\n"
        "\n"
        "go tool pprof http://ADDRESS/debug/pprof/block reads one.\n";

static void answer_error(struct scrape_answer *answer, int error)
{
	if (error == ENODATA)
		scrape_answer_text(answer, UNAVAILABLE, "No window has ended yet.\n");
	else if (error == EAGAIN)
		scrape_answer_text(
		        answer, UNAVAILABLE,
		        "Too much has been asked for that windows had to be joined for: ask again in 10 "
		        "s.\n");
	else if (error == EUSERS)
		scrape_answer_text(
		        answer, UNAVAILABLE,
		        "There are 16 other readers that have come more than once: ask again in some "
		        "minutes, or set "
		        "scrape.bearer_token_file.\n");
	else if (error == ECANCELED)
		scrape_answer_text(answer, UNAVAILABLE, "The agent ends, or has got another address.\n");
	else if (error == EFBIG)
		scrape_answer_text(answer, FAILED,
		                   "These windows are too large together: ask for fewer seconds.\n");
	else
		scrape_answer_text(answer, FAILED, "The profile could not be made.\n");
}

static void answer_profile(struct scrape_answer *answer, struct scrape_bytes *profile)
{
	if (!profile) {
		answer->taken.upto = 0;
		answer_error(answer, errno);
		return;
	}
	answer->status = OK;
	answer->type = PROFILE_TYPE;
	answer->body = profile;
}

/* *seconds is 0 where none are given. False: that is no number of seconds. */
static bool read_seconds(const char *text, uint64_t *seconds)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;

	*seconds = 0;
	if (!text)
		return true;
	if (!digits || digits > 5 || text[digits])
		return false;
	*seconds = strtoull(text, NULL, 10);
	return *seconds >= 1 && *seconds <= SECONDS_MAX;
}

static void answer_last(const struct scrape_pages *pages, size_t series, const struct scrape_request *request,
                        struct scrape_answer *answer)
{
	uint64_t seconds;

	if (read_seconds(scrape_request_parameter(request, "seconds"), &seconds))
		answer_profile(answer, scrape_windows_last(pages->windows, series, seconds,
		                                           scrape_request_stops(request)));
	else
		scrape_answer_text(answer, BAD_REQUEST, "seconds: a whole number from 1 to 86400.\n");
}

static void answer_new(const struct scrape_pages *pages, size_t series, const struct scrape_request *request,
                       struct scrape_answer *answer)
{
	const char *reader = scrape_request_parameter(request, "reader");

	reader = reader ? reader : "";
	if (strlen(reader) >= sizeof(answer->reader)) {
		scrape_answer_text(answer, BAD_REQUEST, "reader: a name of 63 bytes at most.\n");
		return;
	}
	snprintf(answer->reader, sizeof(answer->reader), "%s", reader);
	answer_profile(answer, scrape_windows_new_for(pages->windows, reader, series, &answer->taken,
	                                              scrape_request_stops(request)));
}

static bool answer_pprof(const struct scrape_pages *pages, const char *name,
                         const struct scrape_request *request, struct scrape_answer *answer)
{
	bool is_delta = !strncmp(name, DELTA, strlen(DELTA));

	name += is_delta ? strlen(DELTA) : 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		if (is_delta)
			answer_new(pages, i, request, answer);
		else
			answer_last(pages, i, request, answer);
		return true;
	}
	return false;
}

void scrape_pages_answer(const struct scrape_pages *pages, const char *path,
                         const struct scrape_request *request, struct scrape_answer *answer)
{
	if (!strcmp(path, "/metrics")) {
		answer->status = OK;
		answer->type = SCRAPE_TEXT_TYPE;
		answer->body = pages->metrics(pages->ctx);
	} else if (!strcmp(path, "/")) {
		scrape_answer_text(answer, OK, contents);
	} else if (strncmp(path, PPROF, strlen(PPROF)) != 0 ||
	           !answer_pprof(pages, path + strlen(PPROF), request, answer)) {
		scrape_answer_text(answer, NOT_FOUND,
		                   "There is no such page; / lists those that there are.\n");
	}
}
