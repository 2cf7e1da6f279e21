#include "profiler/probe_table.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULES_MAX 512

#define NEWER   "a newer kernel"
#define BUILTIN "load the file system that has a journal (modprobe jbd2)"
#define FTRACE  "a newer kernel, or one with CONFIG_FUNCTION_TRACER=y that lets functions be hooked"
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
	{ "block_io", "on_update_done", PROBE_FEXIT, "blk_update_request", true, "on_io_done", FTRACE },
	{ "block_io", "on_batch_done", PROBE_FEXIT, "blk_mq_end_request_batch", true, "on_io_done", FTRACE },
	{ "block_io", "on_queue_work", PROBE_TP_BTF, "workqueue_queue_work", true, NULL, NEWER },
	{ "block_io", "on_work_start", PROBE_TP_BTF, "workqueue_execute_start", true, NULL, NEWER },
	{ "block_io", "on_work_end", PROBE_TP_BTF, "workqueue_execute_end", true, NULL, NEWER },
	{ "block_io", "on_irq_entry", PROBE_TP_BTF, "irq_handler_entry", true, NULL, NEWER },
	{ "block_io", "on_irq_exit", PROBE_TP_BTF, "irq_handler_exit", true, NULL, NEWER },
	{ "block_io", "on_softirq_entry", PROBE_TP_BTF, "softirq_entry", true, NULL, NEWER },
	{ "block_io", "on_softirq_exit", PROBE_TP_BTF, "softirq_exit", true, NULL, NEWER },
	{ "block_io", "on_hrtimer_entry", PROBE_TP_BTF, "hrtimer_expire_entry", true, NULL, NEWER },
	{ "block_io", "on_hrtimer_exit", PROBE_TP_BTF, "hrtimer_expire_exit", true, NULL, NEWER },
	{ "throttle", "on_io_start", PROBE_TP_BTF, "block_io_start", true, NULL, NEWER },
	{ "throttle", "on_rq_issue", PROBE_TP_BTF, "block_rq_issue", true, "on_io_start", NEWER },
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
	static const char *const prefix[] = { "tp_btf/", "fexit/", "usdt/", "perf_event/", "iter/" };

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

/* Not every kernel that describes its functions lets them be hooked: whether this one does, a program that does
 * nothing finds out. */
static bool can_hook_function(const struct kernel_types *types, const char *name)
{
	static const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = btf__find_by_name_kind(types->kernel, name, BTF_KIND_FUNC), program, hook;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT);

	if (id <= 0)
		return false;
	options.attach_btf_id = id;
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", return_0, 2, &options);
	if (program < 0)
		return false;
	hook = bpf_raw_tracepoint_open(NULL, program);
	close(program);
	if (hook < 0)
		return false;
	close(hook);
	return true;
}

static bool hook_exists(const struct probe_host *host, const struct probe *probe)
{
	return host->has[probe - probe_table];
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

static bool better_exists(const struct probe_host *host, const struct probe *probe)
{
	const struct probe *better = probe->unless ? find_program(probe->unless) : NULL;

	return better && hook_exists(host, better);
}

static bool find_hook(const struct probe_host *host, const struct kernel_types *types,
                      const struct probe *probe)
{
	switch (probe->kind) {
	case PROBE_TP_BTF:
		return has_tracepoint(types, probe->hook);
	case PROBE_FEXIT: /* what makes it needless comes before it in the table */
		return !better_exists(host, probe) && can_hook_function(types, probe->hook);
	default:
		return true;
	}
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
		host->has[i] = find_hook(host, &types, &probe_table[i]);
	free_types(&types);
	return host;
}

void probe_host_free(struct probe_host *host)
{
	free(host);
}

/* Whether the rows that are there for its sake can all be had; false when there are none. */
static bool has_substitutes(const struct probe_host *host, const struct probe *probe)
{
	bool any = false;
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		const struct probe *other = &probe_table[i];

		if (!other->unless || strcmp(other->unless, probe->program))
			continue;
		if (!hook_exists(host, other))
			return false;
		any = true;
	}
	return any;
}

bool probe_replaced(const struct probe_host *host, const struct probe *probe)
{
	return better_exists(host, probe) || (!hook_exists(host, probe) && has_substitutes(host, probe));
}

bool probe_cause_available(const struct probe_host *host, const char *cause)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		if (!strcmp(probe_table[i].cause, cause) && !hook_exists(host, &probe_table[i]) &&
		    !probe_replaced(host, &probe_table[i]))
			return false;
	}
	return true;
}

const char *probe_missing(const struct probe_host *host, const struct probe *probe)
{
	if (probe_replaced(host, probe))
		return "not needed: other hooks serve";
	if (!hook_exists(host, probe))
		return "not in this kernel";
	if (!probe_cause_available(host, probe->cause))
		return "another hook of the same cause is missing";
	return NULL;
}
