/* Reads and parses /proc/PID/maps. */

#include "symbolizer/base/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_number(const char **pos, unsigned int base, uint64_t *out)
{
	const char *p = *pos;
	uint64_t value = 0;
	unsigned int digit;

	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			digit = (unsigned int)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned int)(*p - 'a' + 10);
		else
			break;
		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	if (p == *pos)
		return false;
	*out = value;
	*pos = p;
	return true;
}

static bool skip_char(const char **pos, char c)
{
	if (**pos != c)
		return false;
	(*pos)++;
	return true;
}

/* "r-xp " */
static bool parse_permissions(const char **pos, struct maps_entry *out)
{
	const char *p = *pos;

	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	out->readable = p[0] == 'r';
	out->writable = p[1] == 'w';
	out->executable = p[2] == 'x';
	out->shared = p[3] == 's';
	*pos = p + 5;
	return true;
}

/* The kernel writes a newline in a path as \012, and nothing else that way. */
static void restore_newlines(char *path)
{
	char *from, *to;

	for (from = to = path; *from; from++, to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 3;
		} else {
			*to = *from;
		}
	}
	*to = 0;
}

static bool cut_suffix(char *path, const char *suffix)
{
	size_t len = strlen(path), suffix_len = strlen(suffix);

	if (len <= suffix_len || strcmp(path + len - suffix_len, suffix) != 0)
		return false;
	path[len - suffix_len] = 0;
	return true;
}

int maps_parse_line(char *line, struct maps_entry *out)
{
	const char *p = line;
	uint64_t dev_major, dev_minor;
	char *path;

	*out = (struct maps_entry){ 0 };
	if (!parse_number(&p, 16, &out->start) || !skip_char(&p, '-') || !parse_number(&p, 16, &out->end) ||
	    !skip_char(&p, ' ') || !parse_permissions(&p, out) || !parse_number(&p, 16, &out->offset) ||
	    !skip_char(&p, ' ') || !parse_number(&p, 16, &dev_major) || !skip_char(&p, ':') ||
	    !parse_number(&p, 16, &dev_minor) || !skip_char(&p, ' ') || !parse_number(&p, 10, &out->inode))
		return -EINVAL;
	if ((*p && *p != ' ') || out->start >= out->end || dev_major > UINT32_MAX || dev_minor > UINT32_MAX)
		return -EINVAL;
	out->dev_major = (uint32_t)dev_major;
	out->dev_minor = (uint32_t)dev_minor;
	path = line + (p - line);
	path += strspn(path, " ");
	restore_newlines(path);
	out->deleted = cut_suffix(path, " (deleted)");
	out->path = path;
	return 0;
}

int maps_read(int fd, int (*each)(const struct maps_entry *entry, void *context), void *context,
              size_t *n_bad)
{
	int copy = dup(fd), err = 0;
	FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
	struct maps_entry entry;
	size_t size = 0, bad = 0;
	char *line = NULL;
	ssize_t len;

	if (!file) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	errno = 0;
	while (!err && (len = getline(&line, &size, file)) > 0) {
		if (line[len - 1] == '\n')
			line[--len] = 0;
		if (strlen(line) != (size_t)len || maps_parse_line(line, &entry))
			bad++;
		else
			err = each(&entry, context);
	}
	if (!err && ferror(file))
		err = errno ? -errno : -EIO;
	free(line);
	fclose(file);
	if (n_bad)
		*n_bad = bad;
	return err;
}
