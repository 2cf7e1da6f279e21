/* Finds what a process is tagged with where nobody says it. */

#include "profiler/cli/process_tag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/process/program_name.h"
#include "profiler/tags/tag_scan.h"

#define COMMAND_LINE_BYTES 4096
#define WORDS_MAX          64

/* Cuts a command line as /proc/PID/cmdline has it. */
static void cut_words(char *line, size_t n, char *words[WORDS_MAX + 1])
{
	size_t count = 0;

	for (size_t at = 0; at < n && count < WORDS_MAX; at += strlen(line + at) + 1)
		words[count++] = line + at;
	words[count] = NULL;
}

static size_t read_proc(uint32_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	in = fopen(path, "re");
	if (in) {
		n = fread(text, 1, size - 1, in);
		fclose(in);
	}
	text[n] = '\0';
	return n;
}

int process_name_of(uint32_t pid, char name[PROCESS_TAG_BYTES])
{
	char line[COMMAND_LINE_BYTES], *words[WORDS_MAX + 1];

	if (!read_proc(pid, "comm", name, PROCESS_TAG_BYTES))
		return -ESRCH;
	name[strcspn(name, "\n")] = '\0';
	cut_words(line, read_proc(pid, "cmdline", line, sizeof(line)), words);
	if (words[0] && program_is_interpreter(program_base_name(words[0])))
		snprintf(name, PROCESS_TAG_BYTES, "%s", program_name(words));
	return 0;
}

int process_tag_of(uint32_t pid, char name[PROCESS_TAG_BYTES], uint64_t *id)
{
	if (tag_scan_environment((pid_t)pid, id, name, PROCESS_TAG_BYTES) == 1)
		return 0;
	*id = 0;
	return process_name_of(pid, name);
}
