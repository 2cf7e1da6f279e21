/*
 * Which samples belong to a side of a comparison: conditions on labels, all of which must hold.
 *
 *     ai_tag=train_step,stall!=throttle
 *
 * A condition is LABEL=VALUE or LABEL!=VALUE. ai_tag (or tag, class) is a class of tags, a full name, a path that names
 * begin with, or id=N; stall a cause, a kind of wait, or "blocked"; process a pid or the program's name; any other label, as pid,
 * has just that value, a number in decimal. A comma within a value is written as \,.
 */
#ifndef STALLPROF_PROFILER_DIFF_FILTER_H
#define STALLPROF_PROFILER_DIFF_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#define DIFF_CONDITIONS_MAX 16

struct diff_classes;
struct ledger_row;
struct loaded_profiles;
struct loaded_sample;
struct request_row;

struct diff_condition {
	char *label, *value;
	bool not ;
};

/* Zeroed: everything. */
struct diff_filter {
	struct diff_condition condition[DIFF_CONDITIONS_MAX];
	size_t count;
	bool waits;         /* also waits that are no stalls, where no condition asks for a stall */
	bool idle_left_out; /* of these waits not those of processes' own tags, unless a condition names a tag */
};

/* Adds the conditions of a text. -EINVAL with one line, without newline, in err; -ENOMEM. Also after a failure the filter is
 * to be released. */
int diff_filter_add(struct diff_filter *filter, const char *text, char *err, size_t err_size);
void diff_filter_release(struct diff_filter *filter);

bool diff_filter_sample(const struct diff_filter *filter, const struct loaded_profiles *input,
                        const struct loaded_sample *sample);

/* Whether waits that are no stalls are asked for. */
bool diff_filter_has_waits(const struct diff_filter *filter);

/* By tags and processes alone: whose wall time it is. */
bool diff_filter_row(const struct diff_filter *filter, const struct ledger_row *row);

/* By class and device alone: requests have no other label. */
bool diff_filter_request(const struct diff_filter *filter, const struct request_row *row);

/* Whether tags are among what it asks for, without a "not". */
bool diff_filter_has_tag(const struct diff_filter *filter);

/* Whether it is of tags or processes: what rows of the ledger have. */
bool diff_filter_is_of_tags(const struct diff_condition *condition);

/* A label by which samples alone are chosen, as the ledger's rows have no other than tags and processes, and requests (`requests`) classes
 * and devices; stalls and devices are parts of what rows have. NULL: there is none. */
const char *diff_filter_other_label(const struct diff_filter *filter, bool requests);

/* " ai_tag=train_step,stall!=throttle", "" where it has no conditions. Returns text. */
const char *diff_filter_text(char *text, size_t size, const struct diff_filter *filter);

/* Whether all that it asks for, but for stalls and devices, are whole classes of tags. */
bool diff_filter_is_of_classes(const struct diff_filter *filter, const struct diff_classes *classes);

/* Whether tags of this class pass, where it is of classes. */
bool diff_filter_class(const struct diff_filter *filter, const char *class);

#endif
