/* The labels of a series as Pyroscope takes them: checked here, so that nothing is sent that it would refuse.
 */
#ifndef STALLPROF_PROFILER_PUSH_LABELS_H
#define STALLPROF_PROFILER_PUSH_LABELS_H

#include <stddef.h>

struct push_label;

/*
 * 0, or -EINVAL with one line in `err` that names the label: no `__name__`, a name that is not
 * [a-zA-Z_][a-zA-Z0-9_]* or stands twice, a name or value too long, more than PUSH_LABELS_MAX labels, a value
 * that is not UTF-8.
 */
int push_labels_check(const struct push_label *labels, size_t n, char *err, size_t err_len);

#endif
