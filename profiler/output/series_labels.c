/* Makes and copies the labels of a window's series. */

#include "profiler/output/series_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "pprof/utf8.h"
#include "profiler/output/series.h"

#define HOST      "host"
#define HOST_SIZE 256

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
	labels->own_host = false;
	labels->n = n;
	at = (char *)labels + head;
	for (i = 0; i < n; i++) {
		at = put_text(&labels->label[i].name, at, label[i].name);
		at = put_text(&labels->label[i].value, at, label[i].value);
	}
	return labels;
}

static void find_host(char host[HOST_SIZE])
{
	char name[HOST_SIZE] = "";

	if (gethostname(name, sizeof(name) - 1))
		snprintf(name, sizeof(name), "unknown");
	utf8_clean(host, HOST_SIZE, name, strlen(name));
}

struct series_labels *series_labels_of(const struct config *config)
{
	struct push_label label[CONFIG_LABELS_MAX + 2];
	/* In a container the kernel's name for the host is the container's: who knows better says so. */
	bool own_host = !config_has_label(config, HOST);
	struct series_labels *labels;
	char host[HOST_SIZE];
	size_t n = 0, i;

	find_host(host);
	label[n++] = (struct push_label){ "service_name", config->service_name };
	if (own_host)
		label[n++] = (struct push_label){ HOST, host };
	for (i = 0; i < config->label_count && i < CONFIG_LABELS_MAX; i++)
		label[n++] = (struct push_label){ config->labels[i].name, config->labels[i].value };
	labels = series_labels_new(label, n);
	if (labels)
		labels->own_host = own_host;
	return labels;
}

struct series_labels *series_labels_now(const struct series_labels *labels)
{
	struct push_label label[PUSH_LABELS_MAX];
	char host[HOST_SIZE];

	memcpy(label, labels->label, labels->n * sizeof(*label));
	if (labels->own_host)
		find_host(host);
	for (size_t i = 0; i < labels->n; i++)
		if (labels->own_host && !strcmp(label[i].name, HOST))
			label[i].value = host;
	return series_labels_new(label, labels->n);
}

int series_labels_check(const struct series_labels *labels, char *err, size_t err_len)
{
	struct push_label label[PUSH_LABELS_MAX] = { { "__name__", series_table[0].name } };

	memcpy(label + 1, labels->label, labels->n * sizeof(*label));
	return push_labels_check(label, labels->n + 1, err, err_len);
}
