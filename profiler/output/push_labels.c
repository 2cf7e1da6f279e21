/* Checks the labels of a series against Pyroscope's limits. */

#include "profiler/output/push_labels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pprof/utf8.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool name_is_valid(const char *name)
{
	const char *p = name;

	if (!is_letter(*p))
		return false;
	while (is_letter(*p) || (*p >= '0' && *p <= '9'))
		p++;
	return !*p;
}

static bool stands_before(const struct push_label *labels, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (!strcmp(labels[j].name, labels[i].name))
			return true;
	return false;
}

static const char *label_fault(const struct push_label *labels, size_t i)
{
	const char *name = labels[i].name, *value = labels[i].value ? labels[i].value : "";

	if (!name || !name_is_valid(name))
		return "its name must be of letters, digits and _, and not begin with a digit";
	if (strlen(name) > PUSH_LABEL_NAME_MAX)
		return "its name is longer than 1024 bytes";
	if (strlen(value) > PUSH_LABEL_VALUE_MAX)
		return "its value is longer than 2048 bytes";
	if (!utf8_is_text(value, strlen(value)))
		return "its value is not UTF-8";
	if (stands_before(labels, i))
		return "it is given twice";
	return NULL;
}

int push_labels_check(const struct push_label *labels, size_t n, char *err, size_t err_len)
{
	bool named = false;
	const char *fault;
	size_t i;

	if (n > PUSH_LABELS_MAX) {
		snprintf(err, err_len, "a series can have %d labels, not %zu", PUSH_LABELS_MAX, n);
		return -EINVAL;
	}
	for (i = 0; i < n; i++) {
		fault = label_fault(labels, i);
		if (fault) {
			snprintf(err, err_len, "series label '%.64s': %s",
			         labels[i].name ? labels[i].name : "", fault);
			return -EINVAL;
		}
		named |= !strcmp(labels[i].name, "__name__") && labels[i].value && *labels[i].value;
	}
	if (!named) {
		snprintf(err, err_len, "a series needs the label __name__");
		return -EINVAL;
	}
	return 0;
}
