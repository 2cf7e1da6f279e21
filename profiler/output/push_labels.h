/* The labels of a series as Pyroscope takes them: checked here, so that nothing is sent that it would refuse.
 */
#ifndef STALLPROF_PROFILER_PUSH_LABELS_H
#define STALLPROF_PROFILER_PUSH_LABELS_H

#include <stddef.h>

/* The server's defaults: a series has at most 30 names, a name 1024 bytes, a value 2048. */
#define PUSH_LABELS_MAX      30
#define PUSH_LABEL_NAME_MAX  1024
#define PUSH_LABEL_VALUE_MAX 2048

struct push_label {
	const char *name, *value;
};

/*
 * 0, or -EINVAL with one line in `err` that names the label: no `__name__`, a name that is not
 * [a-zA-Z_][a-zA-Z0-9_]* or occurs twice, a name or value too long, more than PUSH_LABELS_MAX labels, a value that
 * is not UTF-8.
 */
int push_labels_check(const struct push_label *labels, size_t n, char *err, size_t err_len);

#endif
