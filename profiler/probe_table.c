#include "profiler/probe_table.h"

#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 512

#define NEWER   "a newer kernel"
#define BUILTIN "load the file system that has a journal (modprobe jbd2)"
#define TAGLIB  "a program that is linked to libstalltag, or imports stalltag"

const struct probe probe_table[] = {
	{ "core", "on_sched_switch", PROBE_TP_BTF, "sched_switch", true, NULL, NEWER },
	{ "core", "on_sched_waking", PROBE_TP_BTF, "sched_waking", true, NULL, NEWER },
	{ "core", "on_fork", PROBE_TP_BTF, "sched_process_fork", false, NULL, NEWER },
	{ "core", "on_exec", PROBE_TP_BTF, "sched_process_exec", false, NULL, NEWER },
	{ "core", "on_iter_task", PROBE_ITERATOR, "task", false, NULL, NEWER },
	{ "tags", "on_iter_context", PROBE_ITERATOR, "task (sleepable)", false, NULL, NEWER },
	{ "tags", "on_tag_change", PROBE_USDT, "stalltag:change", false, NULL, TAGLIB },
	{ "tags", "on_tag_process", PROBE_USDT, "stalltag:process", false, NULL, TAGLIB },
	{ "block_io", "on_rq_complete", PROBE_TP_BTF, "block_rq_complete", true, NULL, NEWER },
	{ "block_io", "on_io_done", PROBE_TP_BTF, "block_io_done", true, NULL, NEWER },
	{ "block_io", "on_queue_work", PROBE_TP_BTF, "workqueue_queue_work", true, NULL, NEWER },
	{ "block_io", "on_work_start", PROBE_TP_BTF, "workqueue_execute_start", true, NULL, NEWER },
	{ "block_io", "on_work_end", PROBE_TP_BTF, "workqueue_execute_end", true, NULL, NEWER },
	{ "throttle", "on_io_start", PROBE_TP_BTF, "block_io_start", true, "on_rq_issue", NEWER },
	{ "throttle", "on_rq_issue", PROBE_TP_BTF, "block_rq_issue", true, NULL, NEWER },
	{ "writeback", "on_folio_wait_writeback", PROBE_TP_BTF, "folio_wait_writeback", true, NULL, NEWER },
	{ "writeback", "on_balance_dirty_pages", PROBE_TP_BTF, "balance_dirty_pages", true, NULL, NEWER },
	{ "journal", "on_commit_start", PROBE_TP_BTF, "jbd2_start_commit", true, NULL, BUILTIN },
	{ "journal", "on_commit_end", PROBE_TP_BTF, "jbd2_end_commit", true, NULL, BUILTIN },
	{ "cpu", "on_cpu_sample", PROBE_PERF_EVENT, "cpu-clock", true, NULL, NEWER },
};

const size_t probe_table_len = sizeof(probe_table) / sizeof(probe_table[0]);

struct probe_host {
	bool has[sizeof(probe_table) / sizeof(probe_table[0])]; /* by row: the hook exists */
};

/* Type information of the kernel and its modules: some 10 MB, needed only while hooks are looked up. */
struct kernel_types {
	struct btf *kernel;
	struct btf *modules[MODULES_MAX];
	size_t n_modules;
};

const char *probe_kind_prefix(enum probe_kind kind)
{
	static const char *const prefix[] = { "tp_btf/", "usdt/", "perf_event/", "iter/" };

	return prefix[kind];
}

/* Modules whose BTF cannot be read have no hooks for us: libbpf could not attach to them either. */
static void load_modules(struct kernel_types *types)
{
	DIR *dir = opendir("/sys/kernel/btf");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) && types->n_modules < MODULES_MAX) {
		struct btf *btf;

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "vmlinux"))
			continue;
		btf = btf__load_module_btf(entry->d_name, types->kernel);
		if (btf)
			types->modules[types->n_modules++] = btf;
	}
	closedir(dir);
}

static void free_types(struct kernel_types *types)
{
	while (types->n_modules)
		btf__free(types->modules[--types->n_modules]);
	btf__free(types->kernel);
}

static bool has_tracepoint(const struct kernel_types *types, const char *name)
{
	char type[128];
	size_t i;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	if (btf__find_by_name_kind(types->kernel, type, BTF_KIND_TYPEDEF) > 0)
		return true;
	for (i = 0; i < types->n_modules; i++) {
		if (btf__find_by_name_kind(types->modules[i], type, BTF_KIND_TYPEDEF) > 0)
			return true;
	}
	return false;
}

struct probe_host *probe_host_new(void)
{
	struct kernel_types types = { .kernel = btf__load_vmlinux_btf() };
	struct probe_host *host = NULL;
	size_t i;

	if (!types.kernel) {
		errno = ENOENT;
		return NULL;
	}
	load_modules(&types);
	host = calloc(1, sizeof(*host));
	for (i = 0; host && i < probe_table_len; i++)
		host->has[i] =
		        probe_table[i].kind != PROBE_TP_BTF || has_tracepoint(&types, probe_table[i].hook);
	free_types(&types);
	return host;
}

void probe_host_free(struct probe_host *host)
{
	free(host);
}

static bool hook_exists(const struct probe_host *host, const struct probe *probe)
{
	return host->has[probe - probe_table];
}

bool probe_replaced(const struct probe_host *host, const struct probe *probe)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		const struct probe *other = &probe_table[i];

		if (other->instead && !strcmp(other->instead, probe->program) && hook_exists(host, other))
			return true;
	}
	return false;
}

static const struct probe *find_program(const char *program)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		if (!strcmp(probe_table[i].program, program))
			return &probe_table[i];
	}
	return NULL;
}

/* A row that is missing does no harm when the row it would replace is there. */
static bool row_served(const struct probe_host *host, const struct probe *probe)
{
	const struct probe *fallback;

	if (hook_exists(host, probe))
		return true;
	fallback = probe->instead ? find_program(probe->instead) : NULL;
	return fallback && hook_exists(host, fallback);
}

bool probe_cause_available(const struct probe_host *host, const char *cause)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		if (!strcmp(probe_table[i].cause, cause) && !row_served(host, &probe_table[i]))
			return false;
	}
	return true;
}

const char *probe_missing(const struct probe_host *host, const struct probe *probe)
{
	if (!hook_exists(host, probe))
		return "not in this kernel";
	if (probe_replaced(host, probe))
		return "not needed: a better hook serves";
	if (!probe_cause_available(host, probe->cause))
		return "another hook of the same cause is missing";
	return NULL;
}
