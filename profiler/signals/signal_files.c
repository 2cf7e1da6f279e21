/* Finds disks, sockets and PCI devices, and opens the files of their signals. */

#include "profiler/signals/signal_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/stamp.h"
#include "profiler/signals/signal_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define PER_MILLE 1000

/* --- what a file says --------------------------------------------------------------------------------------- */

/* Of CPU 0, as the kernel said when the files were opened: the sockets of a host are alike. */
static uint64_t highest_khz;

static bool parse_retransmits(const char *text, uint64_t *value)
{
	return signal_snmp(text, "Tcp:", "RetransSegs", value);
}

static bool parse_pressure(const char *text, uint64_t *value)
{
	return signal_pressure(text, "some", value);
}

static bool parse_steal(const char *text, uint64_t *value)
{
	return signal_cpu_ticks(text, 8, value);
}

static bool parse_disk_queue(const char *text, uint64_t *value)
{
	return signal_field(text, 11, value);
}

static bool parse_disk_sectors(const char *text, uint64_t *value)
{
	uint64_t written;

	if (!signal_field(text, 3, value) || !signal_field(text, 7, &written))
		return false;
	*value += written;
	return true;
}

static bool parse_number(const char *text, uint64_t *value)
{
	return signal_field(text, 1, value);
}

static bool parse_slowness(const char *text, uint64_t *value)
{
	uint64_t khz;

	if (!highest_khz || !signal_field(text, 1, &khz))
		return false;
	*value = khz < highest_khz ? (highest_khz - khz) * PER_MILLE / highest_khz : 0;
	return true;
}

static bool parse_pcie_errors(const char *text, uint64_t *value)
{
	return signal_key(text, "TOTAL_ERR_COR", value);
}

/* --- the table ---------------------------------------------------------------------------------------------- */

/* A clock tick of /proc/stat is 10 ms, whatever the kernel's own is. */
static const struct signal_file table[] = {
	{ "/proc/loadavg", { { "run_queue", signal_running, true, 1, 0, 1 } }, 1 },
	{ "/proc/net/snmp", { { "tcp_retrans", parse_retransmits, false, 1, 0, 0 } }, 1 },
	{ "/proc/pressure/io", { { "io_pressure", parse_pressure, false, 1, 0, 0 } }, 1 },
	{ "/proc/pressure/cpu", { { "cpu_pressure", parse_pressure, false, 1, 0, 0 } }, 1 },
	{ "/proc/pressure/memory", { { "memory_pressure", parse_pressure, false, 1, 0, 0 } }, 5 },
	{ "/proc/stat", { { "steal", parse_steal, false, 10000, 0, 0 } }, 25 },
};

/* Of the first CPU of each socket. */
static const struct signal_file of_sockets[] = {
	{ "/sys/devices/system/cpu/%s/thermal_throttle/package_throttle_count",
	  { { "thermal_throttle", parse_number, false, 1, 0, 0 } },
	  100 },
	{ "/sys/devices/system/cpu/%s/cpufreq/scaling_cur_freq",
	  { { "cpu_slow", parse_slowness, true, 1, PER_MILLE, 0 } },
	  100 },
};

static const struct signal_file disk = {
	"/sys/block/%s/stat",
	{ { "disk_queue", parse_disk_queue, false, 1000, 0, 0 },
	  { "disk_sectors", parse_disk_sectors, false, 1, 0, 0 } },
	1,
};

static const struct signal_file pci = {
	"/sys/bus/pci/devices/%s/aer_dev_correctable",
	{ { "pcie_errors", parse_pcie_errors, false, 1, 0, 0 } },
	100,
};

/* Each has a file of its own: /proc/net/dev is read in parts, and has a sum that jumps when an interface comes. */
static const struct signal_file net = {
	"/sys/class/net/%s/statistics/rx_packets",
	{ { "net_rx", parse_number, false, 1, 0, 0 } },
	1,
};

static const struct of_device {
	const struct signal_file *file;
	const char *folder; /* of the devices */
	int places;
} of_devices[] = { { &disk, "/sys/block", 64 },
	           { &net, "/sys/class/net", 64 },
	           { &pci, "/sys/bus/pci/devices", 128 } };

/* Where `why_not` has what became of each. */
#define FIRST_SOCKET COUNT(table)
#define FIRST_DEVICE (FIRST_SOCKET + COUNT(of_sockets))

_Static_assert(FIRST_DEVICE + COUNT(of_devices) <= COUNT(((struct signal_files *)0)->why_not), "why_not");

/* --- opening ------------------------------------------------------------------------------------------------ */

static int count_of(const struct signal_files *files, const struct signal_file *file)
{
	int n = 0;

	for (size_t i = 0; i < files->count; i++)
		n += files->source[i].file == file;
	return n;
}

/* `entry`: of the devices' folder; `name`: of the lane's device. -ENOSPC: it has the file, but there is no place; another -errno. */
static int open_one(struct signal_files *files, const char *root, const struct signal_file *file,
                    const char *entry, const char *name, int places)
{
	struct signal_source opened;
	int err = signal_source_open(&opened, root, file, entry);

	if (err)
		return err;
	if (files->count == SIGNAL_SOURCES_MAX || count_of(files, file) >= places) {
		signal_source_close(&opened);
		return -ENOSPC;
	}
	snprintf(opened.device, sizeof(opened.device), "%s", name);
	files->source[files->count++] = opened;
	return 0;
}

/* What a file begins with; `otherwise`: there is none, or it is no number. */
__attribute__((format(printf, 2, 3))) static long number_in(long otherwise, const char *path_format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	long number;
	FILE *file;

	va_start(arguments, path_format);
	vsnprintf(path, sizeof(path), path_format, arguments);
	va_end(arguments);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%li", &number) != 1)
		number = otherwise;
	if (file)
		fclose(file);
	return number;
}

/* Memory and files that look like disks: what they wait for is elsewhere. */
static int is_wanted(const struct dirent *entry)
{
	static const char *const others[] = { ".", "loop", "zram", "ram" };

	for (size_t i = 0; i < COUNT(others); i++)
		if (!strncmp(entry->d_name, others[i], strlen(others[i])))
			return 0;
	return 1;
}

static bool is_made_of_others(const char *disk_name)
{
	return !strncmp(disk_name, "dm-", 3) || !strncmp(disk_name, "md", 2);
}

/* A disk of no size, as a card reader's without a card, or one that only a multipath disk is served by. */
static bool is_idle_disk(const char *root, const char *disk_name)
{
	return !number_in(1, "%s/sys/block/%s/size", root, disk_name) ||
	       number_in(0, "%s/sys/block/%s/hidden", root, disk_name);
}

static bool is_adapter(const char *root, const char *interface)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", root, interface);
	return !access(path, F_OK);
}

static bool has_adapter(const char *root, struct dirent *const *interfaces, int n)
{
	for (int i = 0; i < n; i++)
		if (is_adapter(root, interfaces[i]->d_name))
			return true;
	return false;
}

/* Of interfaces what comes in from elsewhere, once: the adapters, and in a container, which has none, all but the loopback. */
static bool is_wanted_interface(const char *root, const char *interface, bool adapters)
{
	return adapters ? is_adapter(root, interface) : strcmp(interface, "lo") != 0;
}

static bool is_open(const struct signal_files *files, const struct signal_file *file, const char *device)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->source[i].file == file && !strcmp(files->source[i].device, device))
			return true;
	return false;
}

/* Disks that are made of others come last, should there be too many. */
static int hardware_first(const struct dirent **left, const struct dirent **right)
{
	const char *a = (*left)->d_name, *b = (*right)->d_name;
	int order = is_made_of_others(a) - is_made_of_others(b);

	return order ? order : strcmp(a, b);
}

/* Displays and what computes like them, NVMe disks, network and InfiniBand adapters: what a job waits for. */
static bool is_endpoint(const char *root, const char *pci_device)
{
	unsigned long class =
	        (unsigned long)number_in(0, "%s/sys/bus/pci/devices/%s/class", root, pci_device);

	return class >> 16 == 0x02 || class >> 16 == 0x03 || class >> 16 == 0x12 || class >> 8 == 0x0108;
}

/* Bridges come last, and the rest, should there be too many; else in their order. */
static void put_endpoints_first(const char *root, struct dirent **found, int n)
{
	int first = 0;

	for (int i = 0; i < n; i++) {
		struct dirent *entry = found[i];

		if (!is_endpoint(root, entry->d_name))
			continue;
		memmove(found + first + 1, found + first, (size_t)(i - first) * sizeof(*found));
		found[first++] = entry;
	}
}

/* 0: all are open, or those that can be; -ENOSPC: there are more than places. */
static int open_devices(struct signal_files *files, const char *root, const struct of_device *kind)
{
	const struct signal_file *file = kind->file;
	struct dirent **found = NULL;
	char path[PATH_MAX];
	bool full = false, adapters;
	int n, err = -ENODEV;

	snprintf(path, sizeof(path), "%s%s", root, kind->folder);
	n = scandir(path, &found, is_wanted, hardware_first);
	if (n < 0)
		return -errno;
	if (file == &pci && n > kind->places)
		put_endpoints_first(root, found, n);
	adapters = file == &net && has_adapter(root, found, n);
	for (int i = 0; i < n; i++) {
		const char *name = found[i]->d_name;
		bool wanted = !is_open(files, file, name) && (file != &disk || !is_idle_disk(root, name)) &&
		              (file != &net || is_wanted_interface(root, name, adapters));
		int failed = wanted ? open_one(files, root, file, name, name, kind->places) : 0;

		full |= failed == -ENOSPC;
		err = failed ? failed : err;
	}
	for (int i = 0; i < n; i++)
		free(found[i]);
	free(found);
	return full ? -ENOSPC : count_of(files, file) ? 0 : err;
}

/* --- opening: sockets --------------------------------------------------------------------------------------- */

static int is_cpu(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "cpu", 3) && isdigit((unsigned char)entry->d_name[3]);
}

/* The number of the socket whose first CPU it is, of those that are online; -1: of none. */
static long socket_of(const char *root, const char *cpu)
{
	char first[32];

	snprintf(first, sizeof(first), "cpu%ld",
	         number_in(-1, "%s/sys/devices/system/cpu/%s/topology/package_cpus_list", root, cpu));
	if (strcmp(cpu, first) != 0)
		return -1;
	return number_in(-1, "%s/sys/devices/system/cpu/%s/topology/physical_package_id", root, cpu);
}

static void open_socket(struct signal_files *files, const char *root, const char *cpu, long socket)
{
	char name[SIGNAL_DEVICE_MAX];

	snprintf(name, sizeof(name), "socket %ld", socket);
	for (size_t i = 0; i < COUNT(of_sockets); i++) {
		const struct signal_file *file = &of_sockets[i];
		int *why_not = &files->why_not[FIRST_SOCKET + i];
		int err = is_open(files, file, name)
		                  ? 0
		                  : open_one(files, root, file, cpu, name, SIGNAL_SOURCES_MAX);

		if (*why_not != -ENOSPC)
			*why_not = err != -ENOSPC && count_of(files, file) ? 0 : err;
	}
}

static void open_sockets(struct signal_files *files, const char *root)
{
	struct dirent **found = NULL;
	char path[PATH_MAX];
	int n, err;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu", root);
	n = scandir(path, &found, is_cpu, alphasort);
	err = n < 0 ? -errno : -ENODEV;
	for (size_t i = 0; i < COUNT(of_sockets); i++)
		files->why_not[FIRST_SOCKET + i] = err;
	for (int i = 0; i < n; i++) {
		long socket = socket_of(root, found[i]->d_name);

		if (socket >= 0)
			open_socket(files, root, found[i]->d_name, socket);
		free(found[i]);
	}
	free(found);
}

/* --- opening: all ------------------------------------------------------------------------------------------- */

static void open_all_devices(struct signal_files *files, const char *root)
{
	open_sockets(files, root);
	for (size_t i = 0; i < COUNT(of_devices); i++)
		files->why_not[FIRST_DEVICE + i] = open_devices(files, root, &of_devices[i]);
}

void signal_files_open(struct signal_files *files, const char *root)
{
	memset(files, 0, sizeof(*files));
	highest_khz = (uint64_t)number_in(0, "%s/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", root);
	for (size_t i = 0; i < COUNT(table); i++)
		files->why_not[i] = open_one(files, root, &table[i], "", "", 1);
	open_all_devices(files, root);
}

/* What is open of a device that was removed fails for ever, though another one may have its name by now. */
static void close_gone(struct signal_files *files)
{
	size_t n = 0;

	for (size_t i = 0; i < files->count; i++) {
		struct signal_source *source = &files->source[i];

		if (*source->device && source->reads && !source->has_last)
			signal_source_close(source);
		else
			files->source[n++] = *source;
	}
	files->count = n;
}

void signal_files_look(struct signal_files *files, const char *root)
{
	close_gone(files);
	open_all_devices(files, root);
}

void signal_files_close(struct signal_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		signal_source_close(&files->source[i]);
	files->count = 0;
}

static int describe_file(struct stamp *stamp, const struct signal_file *file, int why_not)
{
	const char *place = strstr(file->path, "%s");
	char reason[256] = "";
	int err = 0;

	if (why_not == -ENOSPC)
		snprintf(reason, sizeof(reason), "more devices than places");
	else if (why_not)
		snprintf(reason, sizeof(reason), "%.*s%s%s: %s",
		         (int)(place ? place - file->path : (long)sizeof(reason)), file->path,
		         place ? "*" : "", place ? place + 2 : "", strerror(-why_not));
	for (size_t i = 0; i < SIGNAL_VALUES && file->value[i].parse && !err; i++)
		err = stamp_add_hook(stamp, HOST_SIGNALS_CAUSE, file->value[i].name,
		                     why_not == -ENOSPC ? HOOK_MISSING
		                     : why_not          ? HOOK_UNUSED
		                                        : HOOK_ATTACHED,
		                     reason);
	return err;
}

int signal_files_describe(const struct signal_files *files, struct stamp *stamp)
{
	int err = 0;

	for (size_t i = 0; i < COUNT(table) && !err; i++)
		err = describe_file(stamp, &table[i], files->why_not[i]);
	for (size_t i = 0; i < COUNT(of_sockets) && !err; i++)
		err = describe_file(stamp, &of_sockets[i], files->why_not[FIRST_SOCKET + i]);
	for (size_t i = 0; i < COUNT(of_devices) && !err; i++)
		err = describe_file(stamp, of_devices[i].file, files->why_not[FIRST_DEVICE + i]);
	return err;
}
