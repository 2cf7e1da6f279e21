/* Reads the lines of a list of mounts. */

#include "profiler/process/mountinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Undoes "\040", which stands for a space, and the like. */
static void unescape(char *word)
{
	unsigned int octal;
	char *to = word;

	while (*word) {
		if (*word == '\\' && sscanf(word + 1, "%3o", &octal) == 1) {
			*to++ = (char)octal;
			word += 4;
		} else {
			*to++ = *word++;
		}
	}
	*to = '\0';
}

/* Ends the word at *line, and steps over it. NULL: there is none. */
static const char *take_word(char **line)
{
	char *word = *line + strspn(*line, " "), *end = word + strcspn(word, " \n");

	if (end == word)
		return NULL;
	*line = *end ? end + 1 : end;
	*end = '\0';
	unescape(word);
	return word;
}

static bool read_line(char *line, struct mountinfo_entry *mount)
{
	char *rest = strstr(line, " - "); /* then: type, source, options */
	int n = 0;

	if (!rest || sscanf(line, "%*d %*d %u:%u %n", &mount->major, &mount->minor, &n) != 2 || !n)
		return false;
	line += n;
	rest += 3;
	mount->root = take_word(&line);
	mount->point = take_word(&line);
	mount->type = take_word(&rest);
	mount->source = take_word(&rest);
	return mount->root && mount->point && mount->type && mount->source;
}

bool mountinfo_each(const char *proc, const char *who,
                    bool (*each)(void *ctx, const struct mountinfo_entry *mount), void *ctx)
{
	struct mountinfo_entry mount;
	char path[192], *line = NULL;
	bool stopped = false;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/mountinfo", proc, who);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!stopped && getline(&line, &size, file) > 0)
		stopped = read_line(line, &mount) && each(ctx, &mount);
	free(line);
	fclose(file);
	return stopped;
}
