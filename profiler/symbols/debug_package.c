/* Finds the name of the package with the kernel's debug information, by distribution. */

#include "profiler/symbols/debug_package.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* By the ID of os-release; the kernel's release stands between the two parts, where there is a second. */
static const struct {
	const char *id, *before, *after;
} packages[] = {
	{ "debian", "linux-image-", "-dbg" },         { "ubuntu", "linux-image-", "-dbgsym" },
	{ "fedora", "kernel-debuginfo-", "" },        { "rhel", "kernel-debuginfo-", "" },
	{ "centos", "kernel-debuginfo-", "" },        { "amzn", "kernel-debuginfo-", "" },
	{ "suse", "kernel-default-debuginfo", NULL }, { "opensuse", "kernel-default-debuginfo", NULL },
};

#define PACKAGES (sizeof(packages) / sizeof(packages[0]))

struct os_release {
	char id[64], like[256];
};

/* VALUE of a line KEY=VALUE, without quotes. */
static void take_value(const char *line, const char *key, char *value, size_t size)
{
	size_t key_len = strlen(key), len;

	if (strncmp(line, key, key_len) != 0 || line[key_len] != '=')
		return;
	line += key_len + 1;
	line += *line == '"' || *line == '\'';
	len = strcspn(line, "\"'\n");
	if (len < size) {
		memcpy(value, line, len);
		value[len] = 0;
	}
}

static bool read_os_release(const char *root, struct os_release *out)
{
	static const char *const files[] = { "etc/os-release", "usr/lib/os-release" };
	char path[PATH_MAX], line[1024];
	FILE *file = NULL;
	size_t i;

	*out = (struct os_release){ 0 };
	for (i = 0; i < 2 && !file; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, files[i]);
		file = fopen(path, "re");
	}
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		take_value(line, "ID", out->id, sizeof(out->id));
		take_value(line, "ID_LIKE", out->like, sizeof(out->like));
	}
	fclose(file);
	return true;
}

/* The row of a word of `len` bytes; PACKAGES: none. */
static size_t row_of(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < PACKAGES; i++)
		if (strlen(packages[i].id) == len && strncmp(packages[i].id, word, len) == 0)
			break;
	return i;
}

/* ID itself, then the words of ID_LIKE, of which the closest relative comes first. */
static size_t find_row(const struct os_release *os)
{
	size_t row = row_of(os->id, strlen(os->id)), len;
	const char *word;

	for (word = os->like; row == PACKAGES && *word; word += len) {
		word += strspn(word, " ");
		len = strcspn(word, " ");
		row = row_of(word, len);
	}
	return row;
}

void debug_package_of_kernel(const char *root, const char *release, char *package, size_t size)
{
	struct os_release os;
	size_t row = read_os_release(root, &os) ? find_row(&os) : PACKAGES;

	package[0] = 0;
	if (row < PACKAGES)
		snprintf(package, size, "%s%s%s", packages[row].before, packages[row].after ? release : "",
		         packages[row].after ? packages[row].after : "");
}

/* Whether apt has the package in its lists: 1 or 0, or -errno where it cannot be asked. `program`: apt-cache. */
static int apt_offers(const char *program, const char *package)
{
	char *const argv[] = { "apt-cache", "show", (char *)package, NULL };
	posix_spawn_file_actions_t actions;
	int result, status;
	pid_t child;

	if (posix_spawn_file_actions_init(&actions))
		return -ENOMEM;
	result = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!result)
		result = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!result)
		result = posix_spawn(&child, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (result)
		return -result;
	if (waitpid(child, &status, 0) != child)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void debug_package_advice(const char *root, const char *release, char *advice, size_t size)
{
	char package[256], program[PATH_MAX];
	int offered;

	debug_package_of_kernel(root, release, package, sizeof(package));
	snprintf(program, sizeof(program), "%s/usr/bin/apt-cache", root);
	offered = *package ? apt_offers(program, package) : 0;
	if (offered > 0)
		snprintf(advice, size, "install %s", package);
	else if (offered < 0)
		snprintf(advice, size,
		         "install %s, if this kernel is the distribution's; else put its vmlinux with debug "
		         "information at /usr/lib/debug/boot/vmlinux-%s",
		         package, release);
	else
		snprintf(advice, size,
		         "%sput this kernel's vmlinux with debug information at "
		         "/usr/lib/debug/boot/vmlinux-%s",
		         *package ? "apt offers no package with it: " : "", release);
}
