/* Reads names of block devices from sysfs, and caches them. */

#include "profiler/session/device_names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct device_name {
	uint32_t dev;
	char name[64];
	UT_hash_handle hh;
};

struct device_names {
	struct device_name *by_dev;
	char sysfs[128];
};

struct device_names *device_names_new(const char *sysfs)
{
	struct device_names *names = calloc(1, sizeof(*names));

	if (names)
		snprintf(names->sysfs, sizeof(names->sysfs), "%s", sysfs ? sysfs : "/sys");
	return names;
}

void device_names_free(struct device_names *names)
{
	struct device_name *entry, *next;

	if (!names)
		return;
	HASH_ITER (hh, names->by_dev, entry, next) {
		HASH_DEL(names->by_dev, entry);
		free(entry);
	}
	free(names);
}

static void read_name(const struct device_names *names, struct device_name *entry)
{
	unsigned int major = entry->dev >> 20, minor = entry->dev & 0xfffff;
	char link[256], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(entry->name, sizeof(entry->name), "%u:%u", major, minor);
	snprintf(link, sizeof(link), "%s/dev/block/%u:%u", names->sysfs, major, minor);
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(entry->name, sizeof(entry->name), "%.63s", base ? base + 1 : target);
}

const char *device_names_of(struct device_names *names, uint32_t dev)
{
	struct device_name *entry;

	if (!dev)
		return "";
	HASH_FIND(hh, names->by_dev, &dev, sizeof(dev), entry);
	if (entry)
		return entry->name;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return "";
	entry->dev = dev;
	read_name(names, entry);
	HASH_ADD(hh, names->by_dev, dev, sizeof(entry->dev), entry);
	if (entry->hh.tbl)
		return entry->name;
	free(entry);
	return "";
}
