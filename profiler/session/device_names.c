/* Reads names of block devices from sysfs, of file systems without one from lists of mounts, and caches them. */

#include "profiler/session/device_names.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/process/mountinfo.h"

/* The number of a file system without a device is given to another once it is unmounted, that of an NVMe disk once it is
 * pulled out. */
#define KNOWN_S 10
/* A list of mounts may be long, and each event of a mount that is in none (umount -l) asks: of so many processes, besides
 * our own, it is read within that time. */
#define MISSES_MAX 16

struct device_name {
	uint32_t dev;
	time_t looked_s; /* when it was looked for, and a mount found */
	time_t missed_s; /* when it was first looked for in vain, in our own list; 0: it was not */
	uint32_t missed[MISSES_MAX]; /* the processes whose lists do not have it, either */
	unsigned int n_missed;
	char name[256];
	UT_hash_handle hh;
};

struct device_names {
	struct device_name *by_dev;
	char sysfs[128], proc[128];
};

struct device_names *device_names_new(const char *sysfs, const char *proc)
{
	struct device_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	snprintf(names->sysfs, sizeof(names->sysfs), "%s", sysfs ? sysfs : "/sys");
	snprintf(names->proc, sizeof(names->proc), "%s", proc ? proc : "/proc");
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

	if (!entry->name[0])
		snprintf(entry->name, sizeof(entry->name), "%u:%u", major, minor);
	snprintf(link, sizeof(link), "%s/dev/block/%u:%u", names->sysfs, major, minor);
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(entry->name, sizeof(entry->name), "%.63s", base ? base + 1 : target);
}

/* Of its device: then the name is what was mounted. */
static bool take_mount(void *ctx, const struct mountinfo_entry *mount)
{
	struct device_name *entry = ctx;

	if (mount->major || mount->minor != (entry->dev & 0xfffff))
		return false;
	snprintf(entry->name, sizeof(entry->name), "%s", mount->source);
	return true;
}

/* Looks through our own list, and in that of the process, unless each was looked through in vain just now. */
static bool look_in_mounts(const struct device_names *names, struct device_name *entry, uint32_t pid,
                           time_t now_s)
{
	char who[16];

	if (!entry->missed_s || now_s - entry->missed_s >= KNOWN_S) {
		entry->missed_s = 0;
		entry->n_missed = 0;
		if (mountinfo_each(names->proc, "self", take_mount, entry))
			return true;
		entry->missed_s = now_s + 1;
	}
	for (unsigned int i = 0; i < entry->n_missed; i++)
		if (entry->missed[i] == pid)
			return false;
	if (entry->n_missed == MISSES_MAX)
		return false;
	snprintf(who, sizeof(who), "%u", pid);
	if (mountinfo_each(names->proc, who, take_mount, entry))
		return true;
	entry->missed[entry->n_missed++] = pid;
	return false;
}

/* A name that is not found again stays: processes end, file systems are unmounted and disks are gone before their window ends. */
static void look(const struct device_names *names, struct device_name *entry, uint32_t pid)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (entry->looked_s && now.tv_sec - entry->looked_s < KNOWN_S)
		return;
	if (entry->dev >> 20) {
		read_name(names, entry);
		entry->looked_s = now.tv_sec + 1;
		return;
	}
	if (look_in_mounts(names, entry, pid, now.tv_sec))
		entry->looked_s = now.tv_sec + 1;
}

static struct device_name *entry_of(struct device_names *names, uint32_t dev)
{
	struct device_name *entry;

	HASH_FIND(hh, names->by_dev, &dev, sizeof(dev), entry);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->dev = dev;
	read_name(names, entry);
	HASH_ADD(hh, names->by_dev, dev, sizeof(entry->dev), entry);
	if (entry->hh.tbl)
		return entry;
	free(entry);
	return NULL;
}

const char *device_names_of(struct device_names *names, uint32_t dev, uint32_t pid)
{
	struct device_name *entry = dev ? entry_of(names, dev) : NULL;

	if (!entry)
		return "";
	look(names, entry, pid);
	return entry->name;
}
