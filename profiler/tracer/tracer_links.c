/* Attaches and detaches the programs of the probe table, and remembers what failed. */

#include "profiler/tracer/tracer_links.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/tracer/probe_table.h"
#include "profiler/format/stamp.h"
#include "profiler/tracer/library_links.h"
#include "profiler/tracer/uprobe_links.h"
#include "profiler/tracer/usdt_links.h"

struct tracer_links {
	struct bpf_object *object;
	const struct probe_host *host;
	const struct tracer_linker *linker;
	unsigned int cpu_hz;
	struct bpf_link *row[PROBE_ROWS_MAX]; /* by row of the probe table */
	int row_error[PROBE_ROWS_MAX];
	bool row_was_attached[PROBE_ROWS_MAX];
	struct bpf_link **clock; /* one a CPU */
	int n_clocks;
	const struct bpf_program *clock_program; /* NULL: no clocks are attached */
	size_t clock_row;
	struct usdt_links *usdt;
	struct library_links *libraries;
	bool usdt_seen;
	int usdt_error; /* of the last file whose probes could not be attached */
};

void tracer_links_prepare_multi(struct bpf_object *object)
{
	for (size_t i = 0; i < probe_table_len; i++)
		if (probe_table[i].kind == PROBE_USDT || probe_table[i].kind == PROBE_LIBRARY)
			uprobe_links_prepare(
			        bpf_object__find_program_by_name(object, probe_table[i].program));
}

static struct bpf_link *attach_clock(const struct bpf_program *program, int cpu, unsigned int hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link = fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
	int saved = errno;

	if (!link && fd >= 0)
		close(fd);
	errno = saved;
	return link;
}

static const struct tracer_linker kernel_linker = {
	.attach = bpf_program__attach,
	.attach_clock = attach_clock,
	.detach = bpf_link__destroy,
};

struct tracer_links *tracer_links_new(struct bpf_object *object, const struct probe_host *host,
                                      unsigned int cpu_hz, bool uprobe_multi,
                                      const struct tracer_linker *linker)
{
	struct tracer_links *links = calloc(1, sizeof(*links));

	if (!links)
		return NULL;
	links->object = object;
	links->host = host;
	links->linker = linker ? linker : &kernel_linker;
	links->cpu_hz = cpu_hz;
	links->n_clocks = libbpf_num_possible_cpus();
	links->clock = calloc(links->n_clocks, sizeof(*links->clock));
	links->usdt = usdt_links_new(uprobe_multi);
	links->libraries = library_links_new(object, uprobe_multi);
	if (links->clock && links->usdt && links->libraries)
		return links;
	free(links->clock);
	usdt_links_free(links->usdt);
	library_links_free(links->libraries);
	free(links);
	return NULL;
}

static void destroy(const struct tracer_links *links, struct bpf_link **link)
{
	links->linker->detach(*link);
	*link = NULL;
}

void tracer_links_detach(struct tracer_links *links)
{
	size_t i;
	int cpu;

	for (i = 0; i < probe_table_len; i++) {
		if (probe_table[i].hot)
			destroy(links, &links->row[i]);
	}
	for (cpu = 0; cpu < links->n_clocks; cpu++)
		destroy(links, &links->clock[cpu]);
	links->clock_program = NULL;
	library_links_set_hot(links->libraries, false);
}

void tracer_links_free(struct tracer_links *links)
{
	size_t i;

	if (!links)
		return;
	tracer_links_detach(links);
	for (i = 0; i < probe_table_len; i++)
		destroy(links, &links->row[i]);
	usdt_links_free(links->usdt);
	library_links_free(links->libraries);
	free(links->clock);
	free(links);
}

/* A CPU that is offline has none. */
static int attach_clock_of(struct tracer_links *links, int cpu)
{
	links->clock[cpu] = links->linker->attach_clock(links->clock_program, cpu, links->cpu_hz);
	return links->clock[cpu] || errno == ENODEV ? 0 : -errno;
}

static int attach_clocks(struct tracer_links *links, const struct bpf_program *program, size_t row)
{
	int result = 0;

	if (!links->cpu_hz)
		return -ECANCELED;
	links->clock_program = program;
	links->clock_row = row;
	for (int cpu = 0; cpu < links->n_clocks && !result; cpu++)
		result = attach_clock_of(links, cpu);
	return result;
}

void tracer_links_cpu(struct tracer_links *links, unsigned int cpu, bool online)
{
	int result;

	if (cpu >= (unsigned int)links->n_clocks)
		return;
	destroy(links, &links->clock[cpu]);
	if (!online || !links->clock_program)
		return;
	result = attach_clock_of(links, (int)cpu);
	if (result)
		links->row_error[links->clock_row] = result;
}

static int attach_row(struct tracer_links *links, size_t i)
{
	const struct probe *probe = &probe_table[i];
	struct bpf_program *program = bpf_object__find_program_by_name(links->object, probe->program);

	if (!program)
		return -ENOENT;
	if (probe->kind == PROBE_PERF_EVENT)
		return attach_clocks(links, program, i);
	if (!probe_is_hook(probe->kind))
		return 0; /* file by file, or on demand */
	links->row[i] = links->linker->attach(program);
	return links->row[i] ? 0 : -errno;
}

int tracer_links_attach(struct tracer_links *links, bool hot, char *err, size_t err_len)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		const struct probe *probe = &probe_table[i];

		if (probe->hot != hot || links->row[i] || probe_missing(links->host, probe))
			continue;
		links->row_error[i] = attach_row(links, i);
		links->row_was_attached[i] |= links->row_error[i] == 0;
		if (links->row_error[i] && !strcmp(probe->cause, "core")) {
			snprintf(err, err_len, "cannot attach to %s%s: %s", probe_kind_prefix(probe->kind),
			         probe->hook, strerror(-links->row_error[i]));
			tracer_links_detach(links);
			return links->row_error[i];
		}
	}
	if (hot)
		library_links_set_hot(links->libraries, true);
	return 0;
}

int tracer_links_usdt(struct tracer_links *links, const char *path, const struct usdt_listener *listeners,
                      size_t n)
{
	int result = usdt_links_attach(links->usdt, path, listeners, n);

	if (result == -ENOSPC)
		return result;
	if (result < 0)
		links->usdt_error = result;
	else
		links->usdt_seen = true;
	return result;
}

void tracer_links_file_detach(struct tracer_links *links, int file)
{
	if (file < USDT_LINKS_FILES_MAX)
		usdt_links_detach(links->usdt, file);
	else
		library_links_remove(links->libraries, file - USDT_LINKS_FILES_MAX);
}

/* Numbers of libraries come behind those of files with the tag library's probes. */
int tracer_links_library(struct tracer_links *links, const char *path, uint32_t libraries)
{
	int result = library_links_add(links->libraries, path, libraries);

	return result < 0 ? result : USDT_LINKS_FILES_MAX + result;
}

void tracer_links_no_uprobes(struct tracer_links *links)
{
	links->usdt_error = -EPERM;
}

static const char *usdt_missing(const struct tracer_links *links)
{
	if (links->usdt_seen)
		return NULL;
	if (links->usdt_error == -EPERM)
		return "not allowed: uprobes need CAP_SYS_ADMIN";
	return links->usdt_error ? strerror(-links->usdt_error) : "no program with the tag library was seen";
}

static const char *library_missing(const struct tracer_links *links, const struct probe *probe)
{
	int error = library_links_error(links->libraries, probe->cause, probe->hook);

	if (!error)
		return NULL;
	if (links->usdt_error == -EPERM)
		return "not allowed: uprobes need CAP_SYS_ADMIN";
	if (error == -ENOENT)
		return PROBE_UNSEEN;
	return error == -EAGAIN ? "nothing was tagged" : strerror(-error);
}

const char *tracer_links_missing(const struct tracer_links *links, size_t row)
{
	const struct probe *probe = &probe_table[row];
	const char *missing = probe_missing(links->host, probe);

	if (missing)
		return probe->kind == PROBE_UNTOLD ? probe->advice : missing;
	if (links->row_error[row] == -ECANCELED)
		return "switched off";
	if (links->row_error[row] == -EACCES && probe->kind == PROBE_PERF_EVENT)
		return "not allowed: CAP_SYS_ADMIN, or sysctl kernel.perf_event_paranoid of 2 at most";
	if (links->row_error[row])
		return strerror(-links->row_error[row]);
	if (probe->kind == PROBE_USDT)
		return usdt_missing(links);
	if (probe->kind == PROBE_LIBRARY)
		return library_missing(links, probe);
	if (probe->hot && !links->row_was_attached[row])
		return "nothing was tagged";
	return NULL;
}

static bool library_is_unused(const struct tracer_links *links, const struct probe *probe)
{
	int error = library_links_error(links->libraries, probe->cause, probe->hook);

	return links->usdt_error != -EPERM && (error == -ENOENT || error == -EAGAIN);
}

/* Switched off, or there was nothing to attach it to: nothing is lost without it. */
static bool is_unused(const struct tracer_links *links, size_t row)
{
	const struct probe *probe = &probe_table[row];

	if (probe_is_off(links->host, probe))
		return true;
	if (probe_missing(links->host, probe))
		return false;
	if (links->row_error[row])
		return links->row_error[row] == -ECANCELED;
	if (probe->kind == PROBE_LIBRARY)
		return library_is_unused(links, probe);
	return probe->kind == PROBE_USDT ? !links->usdt_error : probe->hot;
}

int tracer_links_describe(const struct tracer_links *links, struct stamp *stamp)
{
	char hook[160];
	int result = 0;
	size_t i;

	for (i = 0; i < probe_table_len && !result; i++) {
		const struct probe *probe = &probe_table[i];
		const char *reason = tracer_links_missing(links, i);

		if (probe_replaced(links->host, probe))
			continue;
		snprintf(hook, sizeof(hook), "%s%s", probe_kind_prefix(probe->kind), probe->hook);
		result = stamp_add_hook(stamp, probe->cause, hook,
		                        !reason               ? HOOK_ATTACHED
		                        : is_unused(links, i) ? HOOK_UNUSED
		                                              : HOOK_MISSING,
		                        reason);
	}
	return result;
}
