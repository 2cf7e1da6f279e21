/* Writes times and causes. */

#include "profiler/report/report_words.h"

#include <stdio.h>
#include <time.h>

const char *report_duration_text(char text[TEXT_DURATION_BYTES], double ns)
{
	return text_computed_duration(text, ns);
}

/* In UTC, with tenths of a second. */
const char *report_moment_text(char text[48], uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	struct tm parts;
	char date[32] = "";

	if (gmtime_r(&seconds, &parts))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &parts);
	snprintf(text, 48, "%s.%u UTC", date, (unsigned)(unix_ns / 100000000 % 10));
	return text;
}

const char *report_rate_text(char text[REPORT_RATE_BYTES], double rate)
{
	snprintf(text, REPORT_RATE_BYTES, rate > 0 && rate < 1 ? "%.2g" : "%.1f", rate);
	return text;
}

/* "block_io on vda" */
const char *report_cause_text(char *text, size_t size, const struct report_cause *cause)
{
	snprintf(text, size, "%s%s%s", cause->name, *cause->device ? " on " : "", cause->device);
	return text;
}
