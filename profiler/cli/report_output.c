/* Reads the ending of a report's name, and explains what is wrong with its folder. */

#include "profiler/cli/report_output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *ending;
	enum report_format format;
} endings[] = {
	{ ".txt", REPORT_TEXT },          { ".text", REPORT_TEXT }, { ".md", REPORT_MARKDOWN },
	{ ".markdown", REPORT_MARKDOWN }, { ".json", REPORT_JSON }, { ".html", REPORT_HTML },
	{ ".htm", REPORT_HTML },
};

const char *report_output_ending(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	/* A name that begins with its only dot is a hidden file's. */
	return dot && dot > name ? dot : "";
}

bool report_output_format(const char *path, enum report_format *format)
{
	const char *ending = report_output_ending(path);

	for (size_t i = 0; *ending && i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (!strcmp(ending, endings[i].ending)) {
			*format = endings[i].format;
			return true;
		}
	}
	return !*ending;
}

void report_output_error(char *message, size_t size, const char *path, int err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = "";
	struct stat seen;

	if (slash && (size_t)(slash - path) < sizeof(folder))
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	if (err == ENOENT && *folder && stat(folder, &seen) && errno == ENOENT)
		snprintf(message, size,
		         "%s: there is no folder %s: make it (mkdir -p), or name another with -o", path,
		         folder);
	else if (err == EISDIR)
		snprintf(message, size, "%s: that is a folder: name a file in it with -o", path);
	else if (err == EACCES && *folder)
		snprintf(message, size, "%s: %s: name a file in a folder of yours with -o", path,
		         strerror(err));
	else
		snprintf(message, size, "%s: the output could not be written%s%s; name another place with -o",
		         path, err == EIO ? "" : ": ", err == EIO ? "" : strerror(err));
}
