/* The status line that `record` rewrites on a terminal. */

#include "profiler/cli/live_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/text_cells.h"
#include "profiler/session/session.h"
#include "profiler/session/window.h"

static bool shown;

void live_line_show(double seconds, const struct session_progress *progress)
{
	size_t columns = text_terminal_columns(stderr);
	unsigned int cause;
	char line[256];
	int n = 0;

	if (!isatty(STDERR_FILENO) || tcgetpgrp(STDERR_FILENO) != getpgrp())
		return; /* in the background the line is the shell's */
	n = snprintf(line, sizeof(line), "%6.1f s", seconds);
	for (cause = 1; cause < ABI_CAUSE_MAX && n < (int)sizeof(line); cause++) {
		if (progress->stalled_ns[cause] > 0)
			n += snprintf(line + n, sizeof(line) - n, "  %s %.3f s", window_cause_name(cause),
			              progress->stalled_ns[cause] / 1e9);
	}
	if (n < (int)sizeof(line))
		snprintf(line + n, sizeof(line) - n, "  %lld tagged  %llu samples  %llu lost",
		         (long long)progress->tagged, (unsigned long long)progress->samples,
		         (unsigned long long)progress->losses);
	/* Of one that is wrapped "\r" would leave the first rows. */
	if (columns && columns <= strlen(line))
		line[columns - 1] = '\0';
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	shown = true;
}

void live_line_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
