/* Tests of signal_files.h and signal_source.h: a host made of files, whose counters grow; and how rates follow cost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/format/stamp.h"
#include "profiler/format/timeline.h"
#include "profiler/signals/signal_files.h"
#include "tests/unit/profiler/signals/host_files.h"

#define SECOND 1000000000ULL
#define T0     (1700000000 * SECOND)

static char root[] = "/tmp/stallprof-signals-XXXXXX";

static void put(const char *path, const char *text)
{
	put_host_file(root, path, text);
}

static int make_host(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	put("proc/loadavg", "0.5 0.5 0.5 3/100 7\n");
	put("sys/class/net/eth0/statistics/rx_packets", "100\n");
	put("sys/class/net/eth0/device/vendor", "0x1af4\n");
	put("sys/class/net/veth1/statistics/rx_packets", "7\n");
	put("sys/class/net/lo/statistics/rx_packets", "9999\n");
	put("proc/net/snmp", "Tcp: Other\nTcp: 5\n");
	put("sys/block/vda/stat", "1 2 1000 4 5 6 500 8 9 10 70\n");
	put("sys/block/loop0/stat", "1 2 3 4 5 6 7 8 9 10 11\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4000000\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
	put("sys/devices/system/cpu/cpu0/topology/package_cpus_list", "0-1\n");
	put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
	return 0;
}

static int remove_host(void **state)
{
	char command[sizeof(root) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static int64_t sum_of(const struct timeline *timeline, const char *name, const char *device)
{
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		size_t count;
		const struct timeline_point *points = timeline_points(timeline, i, &count);
		int64_t sum = 0;

		if (strcmp(lane->name, name) != 0)
			continue;
		assert_int_equal(lane->kind, TIMELINE_SIGNAL);
		assert_string_equal(lane->device, device);
		for (size_t p = 0; p < count; p++)
			sum += points[p].value;
		return sum;
	}
	return -1;
}

static void read_all(struct signal_files *files, struct timeline *timeline, uint64_t at_ns)
{
	static char text[SIGNAL_TEXT_BYTES];

	for (size_t i = 0; i < files->count; i++)
		signal_source_read(&files->source[i], text, at_ns, timeline);
}

static void test_signal_files__growth(void **state)
{
	struct timeline *timeline = timeline_new(0);
	static struct signal_files files;

	(void)state;
	signal_files_open(&files, root);
	assert_int_equal(files.count, 4);
	read_all(&files, timeline, T0);
	assert_int_equal(timeline_count(timeline), 0); /* nothing is known of the time before */
	put("sys/class/net/eth0/statistics/rx_packets", "350\n");
	put("sys/block/vda/stat", "1 2 1100 4 5 6 540 8 9 10 75\n");
	read_all(&files, timeline, T0 + SECOND);
	assert_int_equal(sum_of(timeline, "run_queue", ""), 2000000); /* 2 besides the reader, for 1 s */
	assert_int_equal(sum_of(timeline, "net_rx", "eth0"), 250);
	assert_int_equal(sum_of(timeline, "disk_queue", "vda"), 5000); /* 5 ms */
	assert_int_equal(sum_of(timeline, "disk_sectors", "vda"), 140);
	assert_int_equal(sum_of(timeline, "cpu_slow", "socket 0"), 250000);
	/* A counter that shrinks counts nothing, and what it grows from then on. */
	put("sys/class/net/eth0/statistics/rx_packets", "50\n");
	read_all(&files, timeline, T0 + 2 * SECOND);
	put("sys/class/net/eth0/statistics/rx_packets", "60\n");
	read_all(&files, timeline, T0 + 3 * SECOND);
	assert_int_equal(sum_of(timeline, "net_rx", "eth0"), 260);
	signal_files_close(&files);
	timeline_free(timeline);
}

static struct stamp_hook hook_of(const struct stamp *stamp, const char *name)
{
	for (size_t i = 0; i < stamp_hook_count(stamp); i++)
		if (!strcmp(stamp_hook_at(stamp, i).hook, name))
			return stamp_hook_at(stamp, i);
	fail_msg("no hook %s", name);
	return (struct stamp_hook){ .hook = NULL };
}

static void test_signal_files__what_cannot_be_read(void **state)
{
	static struct signal_files files;
	struct stamp *stamp = stamp_new();

	(void)state;
	signal_files_open(&files, root);
	assert_int_equal(signal_files_describe(&files, stamp), 0);
	assert_string_equal(hook_of(stamp, "net_rx").cause, HOST_SIGNALS_CAUSE);
	assert_int_equal(hook_of(stamp, "net_rx").state, HOOK_ATTACHED);
	assert_int_equal(hook_of(stamp, "disk_sectors").state, HOOK_ATTACHED);
	assert_int_equal(hook_of(stamp, "steal").state, HOOK_UNUSED);
	assert_string_equal(hook_of(stamp, "steal").reason, "/proc/stat: No such file or directory");
	/* It is there, but has no such field. */
	assert_int_equal(hook_of(stamp, "tcp_retrans").state, HOOK_UNUSED);
	assert_string_equal(hook_of(stamp, "tcp_retrans").reason, "/proc/net/snmp: No data available");
	assert_int_equal(hook_of(stamp, "pcie_errors").state, HOOK_UNUSED);
	assert_int_equal(hook_of(stamp, "thermal_throttle").state, HOOK_UNUSED);
	assert_string_equal(hook_of(stamp, "thermal_throttle").reason,
	                    "/sys/devices/system/cpu/*/thermal_throttle/package_throttle_count: "
	                    "No such file or directory");
	signal_files_close(&files);
	stamp_free(stamp);
}

/* 60 us in all at 100 a second are 0.6 %, and a turn's own 0.1 %. */
static void test_signal_files__rates_follow_cost(void **state)
{
	struct signal_source sources[3] = { { .every = 1, .cost_ns = 40000 },
		                            { .every = 1, .cost_ns = 15000 },
		                            { .every = 25, .cost_ns = 5000 } };
	struct signal_source *const all[] = { &sources[0], &sources[1], &sources[2] };

	(void)state;
	signal_sources_choose_rates(all, 3, 0.01);
	assert_int_equal(sources[0].every, 1);
	signal_sources_choose_rates(all, 3, 0.004);
	assert_int_equal(sources[0].every, 5);
	assert_int_equal(sources[1].every, 1);
	assert_int_equal(signal_sources_every(all, 3), 1);
	signal_sources_choose_rates(all, 3, 0.0016);
	assert_int_equal(sources[0].every, 5);
	assert_int_equal(sources[1].every, 5);
	assert_int_equal(sources[2].every, 25);
	assert_int_equal(signal_sources_every(all, 3), 5);
	signal_sources_choose_rates(all, 3, 0);
	assert_int_equal(sources[0].every, 500);
	assert_false(signal_sources_slow_down(all, 3));
}

/* What was slowed down while the host was busy is not slow for good; neither is the budget overrun for it. */
static void test_signal_files__faster_again(void **state)
{
	static const struct signal_file often = { .every = 1 }, rarely = { .every = 25 };
	struct signal_source sources[3] = { { .file = &often, .every = 25, .cost_ns = 40000 },
		                            { .file = &often, .every = 25, .cost_ns = 15000 },
		                            { .file = &rarely, .every = 100, .cost_ns = 5000 } };
	struct signal_source *const all[] = { &sources[0], &sources[1], &sources[2] };

	(void)state;
	assert_true(signal_sources_speed_up(all, 3, 0.002));
	assert_int_equal(sources[2].every, 25); /* the cheapest; its file wants no more */
	assert_true(signal_sources_speed_up(all, 3, 0.002));
	assert_int_equal(sources[1].every, 5);
	assert_true(signal_sources_speed_up(all, 3, 0.002));
	assert_int_equal(sources[0].every, 5);
	assert_false(signal_sources_speed_up(
	        all, 3, 0.002)); /* 15 us at 100 a second are 0.15 %, and the turns 0.1 % */
	assert_int_equal(sources[0].every, 5);
	assert_int_equal(sources[1].every, 5);
}

static bool is_open(const struct signal_files *files, const char *device)
{
	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->source[i].device, device))
			return true;
	return false;
}

/* A disk that is served by another one, and one without a medium, take no other's place. */
static void test_signal_files__idle_disks(void **state)
{
	static struct signal_files files;
	size_t before;

	(void)state;
	signal_files_open(&files, root);
	before = files.count;
	signal_files_close(&files);
	put("sys/block/nvme0c0n1/stat", "1 2 3 4 5 6 7 8 9 10 11\n");
	put("sys/block/nvme0c0n1/size", "1000\n");
	put("sys/block/nvme0c0n1/hidden", "1\n");
	put("sys/block/sdz/stat", "1 2 3 4 5 6 7 8 9 10 11\n");
	put("sys/block/sdz/size", "0\n");
	signal_files_open(&files, root);
	assert_int_equal(files.count, before);
	signal_files_close(&files);
	put("sys/block/sdz/size", "8\n");
	signal_files_open(&files, root);
	assert_int_equal(files.count, before + 1);
	signal_files_close(&files);
}

static void remove_from_host(const char *path)
{
	char command[sizeof(root) + 128];

	snprintf(command, sizeof(command), "rm -rf %s/%s", root, path);
	assert_int_equal(system(command), 0);
}

/* Where there are more disks than places, those that are made of others are left out, which is said. */
static void test_signal_files__more_than_places(void **state)
{
	static struct signal_files files;
	struct stamp *stamp = stamp_new();
	char path[64];

	(void)state;
	for (int i = 0; i < 70; i++) {
		snprintf(path, sizeof(path), "sys/block/dm-%d/stat", i);
		put(path, "1 2 3 4 5 6 7 8 9 10 11\n");
	}
	signal_files_open(&files, root);
	assert_true(is_open(&files, "vda"));
	assert_false(is_open(&files, "dm-9"));
	assert_int_equal(signal_files_describe(&files, stamp), 0);
	assert_int_equal(hook_of(stamp, "disk_queue").state, HOOK_MISSING);
	assert_string_equal(hook_of(stamp, "disk_queue").reason, "more devices than places");
	signal_files_close(&files);
	stamp_free(stamp);
	remove_from_host("sys/block/dm-*");
}

#define CPU "sys/devices/system/cpu/"

static void put_cpu(unsigned int cpu, const char *of_package, const char *package)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "cpu%u/topology/package_cpus_list", cpu);
	put(path, of_package);
	snprintf(path, sizeof(path), CPU "cpu%u/topology/physical_package_id", cpu);
	put(path, package);
	snprintf(path, sizeof(path), CPU "cpu%u/thermal_throttle/package_throttle_count", cpu);
	put(path, "4\n");
}

/* Heat and clock are told of each socket, by its first CPU: another when that is offline. */
static void test_signal_files__sockets(void **state)
{
	struct timeline *timeline = timeline_new(0);
	static struct signal_files files;
	size_t before;

	(void)state;
	put_cpu(0, "0,2\n", "0\n");
	put_cpu(1, "1,3\n", "1\n");
	put_cpu(2, "0,2\n", "0\n");
	put_cpu(3, "1,3\n", "1\n");
	signal_files_open(&files, root);
	before = files.count;
	assert_true(is_open(&files, "socket 0"));
	assert_true(is_open(&files, "socket 1"));
	read_all(&files, timeline, T0);
	put(CPU "cpu1/thermal_throttle/package_throttle_count", "7\n");
	read_all(&files, timeline, T0 + SECOND);
	assert_int_equal(sum_of(timeline, "thermal_throttle", "socket 1"), 3);
	signal_files_look(&files, root);
	assert_int_equal(files.count, before);
	signal_files_close(&files);
	remove_from_host(CPU "cpu1");
	put_cpu(3, "3\n", "1\n");
	signal_files_open(&files, root);
	assert_int_equal(files.count, before);
	assert_true(is_open(&files, "socket 1"));
	signal_files_close(&files);
	timeline_free(timeline);
	remove_from_host(CPU "cpu[23]");
	remove_from_host(CPU "cpu0/thermal_throttle");
	put(CPU "cpu0/topology/package_cpus_list", "0-1\n");
}

static void put_pci(unsigned int device, const char *class, bool has_errors)
{
	char path[96];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:00:%02x.0/class", device);
	put(path, class);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:00:%02x.0/aer_dev_correctable", device);
	if (has_errors)
		put(path, "RxErr 0\nTOTAL_ERR_COR 0\n");
}

static enum hook_state pcie_errors_told(const struct signal_files *files)
{
	struct stamp *stamp = stamp_new();
	enum hook_state told;

	assert_int_equal(signal_files_describe(files, stamp), 0);
	told = hook_of(stamp, "pcie_errors").state;
	stamp_free(stamp);
	return told;
}

/* Of more devices than places a GPU, an NVMe disk and an adapter are watched, wherever they are; too many are those alone that have the file. */
static void test_signal_files__more_pci_devices_than_places(void **state)
{
	static struct signal_files files;
	unsigned int i;

	(void)state;
	for (i = 0; i < 126; i++)
		put_pci(i, "0x060400\n", true); /* bridges */
	for (; i < 140; i++)
		put_pci(i, "0x088000\n", false);
	put_pci(200, "0x030200\n", true);
	put_pci(201, "0x010802\n", true);
	signal_files_open(&files, root);
	assert_int_equal(pcie_errors_told(&files), HOOK_ATTACHED);
	signal_files_close(&files);
	put_pci(202, "0x020700\n", true);
	signal_files_open(&files, root);
	assert_int_equal(pcie_errors_told(&files), HOOK_MISSING);
	assert_true(is_open(&files, "0000:00:c8.0"));
	assert_true(is_open(&files, "0000:00:c9.0"));
	assert_true(is_open(&files, "0000:00:ca.0"));
	assert_true(is_open(&files, "0000:00:7c.0"));
	assert_false(is_open(&files, "0000:00:7d.0")); /* the last bridge */
	signal_files_close(&files);
	remove_from_host("sys/bus");
}

/* A disk that is connected while recording is read from then on; one that is gone leaves its place, also to one of its name. */
static void test_signal_files__disks_come_and_go(void **state)
{
	static struct signal_files files;
	size_t before;
	int fd;

	(void)state;
	signal_files_open(&files, root);
	before = files.count;
	put("sys/block/nvme7n1/stat", "1 2 1000 4 5 6 500 8 9 10 70\n");
	signal_files_look(&files, root);
	assert_int_equal(files.count, before + 1);
	signal_files_look(&files, root);
	assert_int_equal(files.count, before + 1);
	for (size_t i = 0; i < files.count; i++) {
		/* As the kernel does it: what is open says ENODEV for ever. Here: EISDIR. */
		if (strcmp(files.source[i].device, "nvme7n1") != 0)
			continue;
		fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(dup2(fd, files.source[i].fd), files.source[i].fd);
		close(fd);
	}
	read_all(&files, NULL, T0);
	signal_files_look(&files, root); /* it is there again, under its name */
	assert_int_equal(files.count, before + 1);
	read_all(&files, NULL, T0 + SECOND);
	for (size_t i = 0; i < files.count; i++)
		assert_true(!*files.source[i].device || files.source[i].has_last);
	signal_files_close(&files);
}

/* The adapters count, once; in a container, which has none, what comes in by its own interface. */
static void test_signal_files__interfaces(void **state)
{
	static struct signal_files files;
	char command[2 * sizeof(root) + 64];

	(void)state;
	signal_files_open(&files, root);
	assert_true(is_open(&files, "eth0"));
	assert_false(is_open(&files, "veth1"));
	assert_false(is_open(&files, "lo"));
	signal_files_close(&files);
	snprintf(command, sizeof(command), "mv %s/sys/class/net/eth0/device %s/device", root, root);
	assert_int_equal(system(command), 0);
	signal_files_open(&files, root);
	assert_true(is_open(&files, "eth0"));
	assert_true(is_open(&files, "veth1"));
	assert_false(is_open(&files, "lo"));
	signal_files_close(&files);
	snprintf(command, sizeof(command), "mv %s/device %s/sys/class/net/eth0/device", root, root);
	assert_int_equal(system(command), 0);
}

/* One that is opened later, such as a cgroup's, comes under the same budget as soon as its cost is known. */
static void test_signal_files__one_that_comes_later(void **state)
{
	struct signal_source sources[2] = {
		{ .every = 5, .cost_ns = 2000, .reads = SIGNAL_TIMED_READS },
		{ .every = 5, .cost_ns = 900000, .reads = SIGNAL_TIMED_READS - 1 }
	};
	struct signal_source *const all[] = { &sources[0], &sources[1] };

	(void)state;
	assert_true(signal_sources_are_new(all, 1));
	signal_sources_choose_rates(all, 1, 0.001);
	assert_false(signal_sources_are_new(all, 2));
	sources[1].reads++;
	assert_true(signal_sources_are_new(all, 2));
	signal_sources_choose_rates(all, 2, 0.001);
	assert_false(signal_sources_are_new(all, 2));
	assert_int_equal(sources[0].every, 5);
	assert_int_equal(sources[1].every, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_files__growth),
		cmocka_unit_test(test_signal_files__what_cannot_be_read),
		cmocka_unit_test(test_signal_files__faster_again),
		cmocka_unit_test(test_signal_files__idle_disks),
		cmocka_unit_test(test_signal_files__more_than_places),
		cmocka_unit_test(test_signal_files__sockets),
		cmocka_unit_test(test_signal_files__more_pci_devices_than_places),
		cmocka_unit_test(test_signal_files__disks_come_and_go),
		cmocka_unit_test(test_signal_files__interfaces),
		cmocka_unit_test(test_signal_files__rates_follow_cost),
		cmocka_unit_test(test_signal_files__one_that_comes_later),
	};

	return cmocka_run_group_tests(tests, make_host, remove_host);
}
