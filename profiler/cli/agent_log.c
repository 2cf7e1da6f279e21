/* Log lines of the agent, with the <N> prefix of sd-daemon(3) when stderr goes to journald. */

#include "profiler/cli/agent_log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/format/text_cells.h"

static bool to_journal;

void agent_log_open(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, inode;
	struct stat st;

	to_journal = stream && sscanf(stream, "%llu:%llu", &dev, &inode) == 2 &&
	             fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == inode;
}

static const char *word_of(enum agent_level level)
{
	return level == AGENT_ERROR ? "error: " : level == AGENT_WARNING ? "warning: " : "";
}

/* Without control characters: names of other processes are in it, too. The caller frees it; NULL without memory. */
static char *clean(const char *line)
{
	char *made = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&made, &size);

	if (!stream)
		return NULL;
	text_print_clean_lines(stream, line);
	if (!fclose(stream))
		return made;
	free(made);
	return NULL;
}

void agent_log(enum agent_level level, const char *format, ...)
{
	char *line = NULL, *text;
	va_list args;
	int n;

	if (level == AGENT_DEBUG && !to_journal)
		return;
	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n < 0)
		return;
	text = clean(line);
	free(line);
	if (!text)
		return;
	/* In one write, so that lines of several writers don't mix. */
	if (to_journal)
		dprintf(STDERR_FILENO, "<%d>%s\n", level, text);
	else
		dprintf(STDERR_FILENO, "stallprof agent: %s%s\n", word_of(level), text);
	free(text);
}
