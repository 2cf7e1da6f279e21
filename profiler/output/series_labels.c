/* Makes and copies the labels of a window's series. */

#include "profiler/output/series_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/config/config.h"

_Static_assert(CONFIG_LABELS_MAX + 3 <= PUSH_LABELS_MAX, "with service_name, host and __name__");

static char *put_text(const char **copy, char *at, const char *text)
{
	size_t size = strlen(text) + 1;

	*copy = memcpy(at, text, size);
	return at + size;
}

struct series_labels *series_labels_new(const struct push_label *label, size_t n)
{
	size_t head = sizeof(struct series_labels) + n * sizeof(*label), bytes = head, i;
	struct series_labels *labels;
	char *at;

	if (n >= PUSH_LABELS_MAX)
		return NULL;
	for (i = 0; i < n; i++)
		bytes += strlen(label[i].name) + strlen(label[i].value) + 2;
	labels = malloc(bytes);
	if (!labels)
		return NULL;
	labels->bytes = bytes;
	labels->n = n;
	at = (char *)labels + head;
	for (i = 0; i < n; i++) {
		at = put_text(&labels->label[i].name, at, label[i].name);
		at = put_text(&labels->label[i].value, at, label[i].value);
	}
	return labels;
}

struct series_labels *series_labels_of(const struct config *config)
{
	struct push_label label[CONFIG_LABELS_MAX + 2];
	char host[256] = "";
	size_t n = 0, i;

	if (gethostname(host, sizeof(host) - 1))
		snprintf(host, sizeof(host), "unknown");
	label[n++] = (struct push_label){ "service_name", config->service_name };
	label[n++] = (struct push_label){ "host", host };
	for (i = 0; i < config->label_count && i < CONFIG_LABELS_MAX; i++)
		label[n++] = (struct push_label){ config->labels[i].name, config->labels[i].value };
	return series_labels_new(label, n);
}
