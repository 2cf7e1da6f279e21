/* Conditions on labels: parsed from text, applied to samples, rows of the ledger and requests. */

#include "profiler/diff/diff_filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/diff/diff_classes.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/request_rows.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"

/* --- parsing ---------------------------------------------------------------------------------------------- */

static bool is_tag(const char *label)
{
	return !strcmp(label, "ai_tag") || !strcmp(label, "tag") || !strcmp(label, "class");
}

static bool is_of_process(const char *label)
{
	return !strcmp(label, "process") || !strcmp(label, "pid");
}

/* Copies up to the next comma that no backslash precedes. NULL: no memory. *at is then behind it. */
static char *copy_part(const char **at)
{
	char *copy = malloc(strlen(*at) + 1), *to = copy;
	const char *from = *at;

	if (!copy)
		return NULL;
	while (*from && *from != ',') {
		from += from[0] == '\\' && from[1] == ',';
		*to++ = *from++;
	}
	*to = '\0';
	*at = from + (*from == ',');
	return copy;
}

static int fault(char *err, size_t err_size, const char *part, const char *what)
{
	snprintf(err, err_size, "'%s': %s; an example: ai_tag=train_step,stall!=throttle", part, what);
	return -EINVAL;
}

static int add_condition(struct diff_filter *filter, const char *part, char *err, size_t err_size)
{
	const char *equals = strchr(part, '=');
	struct diff_condition *condition = &filter->condition[filter->count];
	size_t length;

	if (!equals)
		return fault(err, err_size, part, "a condition is LABEL=VALUE or LABEL!=VALUE");
	if (filter->count == DIFF_CONDITIONS_MAX)
		return fault(err, err_size, part, "there are more than 16 conditions");
	condition->not = equals > part && equals[-1] == '!';
	length = (size_t)(equals - part) - condition->not ;
	if (!length)
		return fault(err, err_size, part, "there is no label before the =");
	if (!equals[1])
		return fault(err, err_size, part, "there is no value behind the =");
	condition->label = strndup(part, length);
	condition->value = strdup(equals + 1);
	filter->count++;
	return condition->label && condition->value ? 0 : -ENOMEM;
}

int diff_filter_add(struct diff_filter *filter, const char *text, char *err, size_t err_size)
{
	int result = *text ? 0 : fault(err, err_size, text, "a filter has at least one condition");

	while (*text && !result) {
		char *part = copy_part(&text);

		result = part ? add_condition(filter, part, err, err_size) : -ENOMEM;
		free(part);
	}
	if (result == -ENOMEM)
		snprintf(err, err_size, "no memory left");
	return result;
}

void diff_filter_release(struct diff_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		free(filter->condition[i].label);
		free(filter->condition[i].value);
	}
	*filter = (struct diff_filter){ .count = 0 };
}

/* --- applying --------------------------------------------------------------------------------------------- */

static bool is_process(const char *value, uint32_t pid, const char *comm)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%" PRIu32, pid);
	return !strcmp(value, digits) || (*comm && !strcmp(value, comm));
}

/* The program's name of a sample's process, as the ledger has it; "" where it does not. */
static const char *comm_of(const struct loaded_profiles *input, const struct loaded_sample *sample)
{
	if (sample->row && sample->row->pid == sample->pid)
		return sample->row->comm;
	for (size_t i = 0; sample->pid && i < ledger_count(input->ledger); i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);

		if (row && row->pid == sample->pid)
			return row->comm;
	}
	return "";
}

static bool has_label(const struct profile_sample_view *view, const struct diff_condition *condition)
{
	char digits[24];

	for (size_t i = 0; i < view->n_labels; i++) {
		const struct profile_label *label = &view->labels[i];

		if (strcmp(label->key, condition->label) != 0)
			continue;
		snprintf(digits, sizeof(digits), "%" PRId64, label->num);
		if (!strcmp(label->str ? label->str : digits, condition->value))
			return true;
	}
	return false;
}

static bool sample_has(const struct loaded_profiles *input, const struct loaded_sample *sample,
                       const struct diff_condition *condition)
{
	struct loaded_filter tag = { .tag = condition->value, .waits = true };

	if (is_tag(condition->label))
		return loaded_filter_sample(&tag, input, sample);
	if (!strcmp(condition->label, "stall"))
		return !strcmp(sample->stall, condition->value) ||
		       (sample->is_wait && !strcmp(condition->value, LOADED_BLOCKED));
	if (!strcmp(condition->label, "device"))
		return !strcmp(sample->device, condition->value);
	if (!strcmp(condition->label, "process"))
		return is_process(condition->value, (uint32_t)sample->pid, comm_of(input, sample));
	return has_label(&sample->view, condition);
}

/* Threads that have their process's own tag alone mostly idle. */
static bool is_idle(const struct diff_filter *filter, const struct loaded_sample *sample)
{
	return filter->idle_left_out && sample->row && sample->row->base && !diff_filter_has_tag(filter);
}

bool diff_filter_has_waits(const struct diff_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct diff_condition *condition = &filter->condition[i];

		if (!strcmp(condition->label, "stall") && !condition->not )
			return !strcmp(condition->value, LOADED_BLOCKED) ||
			       loaded_wait_kind(condition->value) >= 0;
	}
	return filter->waits;
}

bool diff_filter_sample(const struct diff_filter *filter, const struct loaded_profiles *input,
                        const struct loaded_sample *sample)
{
	bool asked = filter->waits;

	for (size_t i = 0; i < filter->count; i++) {
		const struct diff_condition *condition = &filter->condition[i];

		if (sample_has(input, sample, condition) == condition->not )
			return false;
		asked |= !condition->not &&!strcmp(condition->label, "stall");
	}
	return !sample->is_wait || (asked && !is_idle(filter, sample));
}

bool diff_filter_row(const struct diff_filter *filter, const struct ledger_row *row)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct diff_condition *condition = &filter->condition[i];
		struct loaded_filter tag = { .tag = condition->value };
		bool has = !condition->not ;

		if (is_tag(condition->label))
			has = loaded_filter_row(&tag, row);
		else if (!strcmp(condition->label, "process"))
			has = is_process(condition->value, row->pid, row->comm);
		else if (!strcmp(condition->label, "pid"))
			has = is_process(condition->value, row->pid, "");
		if (has == condition->not )
			return false;
	}
	return true;
}

/* The class of a condition's tag: the first part of its name, unless the configuration has other rules. */
static bool is_class(const char *class, const char *tag)
{
	size_t length = strcspn(tag, "/");

	return !strcmp(class, tag) || (strlen(class) == length && !strncmp(class, tag, length));
}

bool diff_filter_request(const struct diff_filter *filter, const struct request_row *row)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct diff_condition *condition = &filter->condition[i];
		bool has = !condition->not ;

		if (is_tag(condition->label))
			has = is_class(row->class, condition->value);
		else if (!strcmp(condition->label, "device"))
			has = !strcmp(row->device, condition->value);
		if (has == condition->not )
			return false;
	}
	return true;
}

bool diff_filter_has_tag(const struct diff_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++)
		if (is_tag(filter->condition[i].label) && !filter->condition[i].not )
			return true;
	return false;
}

bool diff_filter_is_of_tags(const struct diff_condition *condition)
{
	return is_tag(condition->label) || is_of_process(condition->label);
}

const char *diff_filter_other_label(const struct diff_filter *filter, bool requests)
{
	for (size_t i = 0; i < filter->count; i++) {
		const char *label = filter->condition[i].label;

		if (!is_tag(label) && strcmp(label, "stall") != 0 && strcmp(label, "device") != 0 &&
		    (requests || !is_of_process(label)))
			return label;
	}
	return NULL;
}

const char *diff_filter_text(char *text, size_t size, const struct diff_filter *filter)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < filter->count && used < size; i++) {
		const struct diff_condition *condition = &filter->condition[i];

		used += (size_t)snprintf(text + used, size - used, "%s%.80s%s%.80s", i ? "," : " ",
		                         condition->label, condition->not ? "!=" : "=", condition->value);
	}
	return text;
}

static bool is_of_class(const struct diff_condition *condition, const struct diff_classes *classes)
{
	for (size_t i = 0; i < classes->count && is_tag(condition->label); i++)
		if (!strcmp(classes->name[i], condition->value))
			return true;
	return !strcmp(condition->label, "stall") || !strcmp(condition->label, "device");
}

bool diff_filter_is_of_classes(const struct diff_filter *filter, const struct diff_classes *classes)
{
	for (size_t i = 0; i < filter->count; i++)
		if (!is_of_class(&filter->condition[i], classes))
			return false;
	return true;
}

bool diff_filter_class(const struct diff_filter *filter, const char *class)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct diff_condition *condition = &filter->condition[i];

		if (is_tag(condition->label) && !strcmp(class, condition->value) == condition->not )
			return false;
	}
	return true;
}
