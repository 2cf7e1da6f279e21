/* Finds the kernel's copy of the environment, and adds what `environ` lacks of it. */

#include "profiler/process/given_environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* NULL: `environ` lacks nothing. */
static const char *copy, *copy_end;
static char **merged;

void given_environment_set(const char *at, const char *end)
{
	copy = at;
	copy_end = end;
}

/* The kernel puts the arguments' strings, those of the environment and the path of the program one after the other. */
void given_environment_begin(int argc, char **argv)
{
	bool is_capable = getauxval(AT_SECURE) && getuid() == geteuid() && getgid() == getegid();
	const char *end = is_capable ? (const char *)getauxval(AT_EXECFN) : NULL;
	const char *last = argc > 0 ? argv[argc - 1] : NULL;

	if (end && last && last < end)
		given_environment_set(last + strlen(last) + 1, end);
}

static size_t name_bytes(const char *entry)
{
	return strcspn(entry, "=");
}

static bool is_named(const char *entry, const char *name, size_t n)
{
	return name_bytes(entry) == n && !strncmp(entry, name, n);
}

static bool is_in_environ(const char *name, size_t n)
{
	for (char **at = environ; at && *at; at++)
		if (is_named(*at, name, n))
			return true;
	return false;
}

/* The next entry of the copy, from *at on, that has a name, and that `environ` has not. NULL: there is none. */
static const char *next_taken(const char **at)
{
	while (*at && *at < copy_end) {
		const char *entry = *at;

		*at += strlen(entry) + 1;
		if (strchr(entry, '=') && !is_in_environ(entry, name_bytes(entry)))
			return entry;
	}
	return NULL;
}

char **given_environment(void)
{
	const char *at = copy;
	size_t n = 0, taken = 0;

	while (next_taken(&at))
		taken++;
	if (!taken)
		return environ;
	while (environ && environ[n])
		n++;
	free(merged);
	merged = calloc(n + taken + 1, sizeof(*merged));
	if (!merged)
		return environ;
	if (n)
		memcpy(merged, environ, n * sizeof(*merged));
	at = copy;
	while (taken--)
		merged[n++] = (char *)next_taken(&at);
	return merged;
}

const char *given_environment_value(const char *name)
{
	size_t n = strlen(name);
	const char *entry, *at = copy;

	if (getenv(name))
		return getenv(name);
	while ((entry = next_taken(&at)))
		if (is_named(entry, name, n))
			return entry + n + 1;
	return NULL;
}
