/* /proc/PID/maps, one line at a time. */
#ifndef SYMBOLIZER_MAPS_H
#define SYMBOLIZER_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_entry {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	bool readable, writable, executable, shared;
	bool deleted;     /* the path ended in " (deleted)", which is cut off */
	const char *path; /* in the caller's line, NUL-terminated; "" for anonymous memory */
};

/*
 * Parses one line, without its newline; `line` is changed (the kernel's \012 in a path becomes a newline).
 * -EINVAL: not a line of maps, or an empty range.
 */
int maps_parse_line(char *line, struct maps_entry *out);

/*
 * Calls `each` for every well-formed line of `file` (open for reading); stops early when that returns anything but 0,
 * and returns the same. Else returns 0 or -errno of reading; *n_bad (may be NULL) becomes the number of malformed
 * lines.
 */
int maps_read(int fd, int (*each)(const struct maps_entry *entry, void *context), void *context,
              size_t *n_bad);

#endif
