/* Which hooks of the table this kernel has. */

#include "profiler/tracer/probe_table.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/near_names.h"
#include "profiler/tracer/host_has.h"
#include "profiler/tracer/kernel_needs.h"
#include "profiler/tracer/kernel_places.h"

#define MODULES_MAX 512

struct probe_host {
	bool modules; /* hooks of modules can be used */
	struct {
		bool exists, in_module, off, left_out;
		char *refused, *log; /* NULL: it was not */
	} row[PROBE_ROWS_MAX];
	struct kernel_places places;
};

/* Type information of the kernel and its modules: some 10 MB, needed only while hooks are looked up. */
struct kernel_types {
	struct btf *kernel;
	struct btf *modules[MODULES_MAX];
	size_t n_modules;
};

const char *probe_kind_prefix(enum probe_kind kind)
{
	static const char *const prefix[] = { "tp_btf/", "fentry/",     "fexit/", "tp/", "usdt/",
		                              "uprobe/", "perf_event/", "iter/",  "" };

	return prefix[kind];
}

bool probe_is_hook(enum probe_kind kind)
{
	return kind <= PROBE_TRACEPOINT;
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

/* Whether the tracepoint has that many arguments; the type of its function has its own data as well. */
static bool has_args(const struct btf *btf, int id, unsigned int args)
{
	const struct btf_type *type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	return !args || (type && btf_is_func_proto(type) && btf_vlen(type) > args);
}

/* What a program needs of its tracepoint: its last argument, or one that it got at the same time as it moved to a place that
 * we can use. */
static unsigned int args_needed(const char *program)
{
	if (!strcmp(program, "on_sched_switch"))
		return 4;
	return strcmp(program, "on_exit") ? 0 : 2;
}

static bool has_tracepoint(const struct kernel_types *types, const char *name, unsigned int args,
                           bool *in_module)
{
	char type[128];
	size_t i;
	int id;

	*in_module = false;
	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(types->kernel, type, BTF_KIND_TYPEDEF);
	if (id > 0)
		return has_args(types->kernel, id, args);
	for (i = 0; i < types->n_modules && !*in_module; i++)
		*in_module = btf__find_by_name_kind(types->modules[i], type, BTF_KIND_TYPEDEF) > 0;
	return *in_module;
}

/* Not every kernel that has its functions in BTF lets them be hooked. Tries it with a program that does nothing. */
static bool can_hook(int id)
{
	static const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT,
	            .attach_btf_id = id);
	int program, hook;

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

/* Then the hook would cost for nothing, or be another's of the same name, where it is in the kernel itself. */
static bool lacks_module(const struct probe *probe)
{
	return probe->module && !host_has_module(probe->module);
}

/* Of a module's function it is seen only when the program is loaded. */
static bool has_function(const struct kernel_types *types, const char *name, bool *in_module)
{
	int id = btf__find_by_name_kind(types->kernel, name, BTF_KIND_FUNC);
	size_t i;

	*in_module = false;
	if (id > 0)
		return can_hook(id);
	for (i = 0; i < types->n_modules && !*in_module; i++)
		*in_module = btf__find_by_name_kind(types->modules[i], name, BTF_KIND_FUNC) > 0;
	return *in_module;
}

/* All kernels that we can run on have the iterators. */
static bool has_iterator(const struct kernel_types *types, const char *program)
{
	return strcmp(program, "on_iter_context") ||
	       kernel_has_helper(types->kernel, "BPF_FUNC_copy_from_user_task");
}

/* tracefs gives the number that it is opened by. */
static bool has_record(const char *name)
{
	static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[256];
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", folders[i], name);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

static size_t row_of(const struct probe *probe)
{
	return (size_t)(probe - probe_table);
}

static bool can_attach(const struct probe_host *host, const struct probe *probe)
{
	size_t i = row_of(probe);

	return host->row[i].exists && !host->row[i].off && !host->row[i].refused &&
	       (host->modules || !host->row[i].in_module);
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

	return better && can_attach(host, better);
}

static void find_hook(struct probe_host *host, const struct kernel_types *types, const struct probe *probe)
{
	size_t i = row_of(probe);

	switch (probe->kind) {
	case PROBE_TP_BTF:
		host->row[i].exists = has_tracepoint(types, probe->hook, args_needed(probe->program),
		                                     &host->row[i].in_module);
		break;
	case PROBE_FENTRY: /* the row that makes it needless comes before it in the table */
	case PROBE_FEXIT:
		/* Of a module that is not there, the kernel may have a function by the same name: i915's wait_for_space(). */
		host->row[i].exists = !better_exists(host, probe) && !lacks_module(probe) &&
		                      has_function(types, probe->hook, &host->row[i].in_module);
		break;
	case PROBE_TRACEPOINT:
		host->row[i].exists = has_record(probe->hook);
		break;
	case PROBE_UNTOLD:
		break;
	case PROBE_ITERATOR:
		host->row[i].exists = has_iterator(types, probe->program);
		break;
	default:
		host->row[i].exists = true;
	}
}

const struct kernel_places *probe_host_places(const struct probe_host *host)
{
	return &host->places;
}

/* Finds the hooks of the rows that replace `program`, or of all rows. */
static int find_hooks(struct probe_host *host, const char *program)
{
	struct kernel_types types = { .kernel = btf__load_vmlinux_btf() };
	size_t i;

	if (!types.kernel)
		return -ENOENT;
	load_modules(&types);
	for (i = 0; i < probe_table_len; i++) {
		const struct probe *probe = &probe_table[i];

		if (!program || (probe->unless && !strcmp(probe->unless, program)))
			find_hook(host, &types, probe);
	}
	kernel_places_find(types.kernel, &host->places);
	free_types(&types);
	return 0;
}

struct probe_host *probe_host_new(bool modules)
{
	struct probe_host *host = calloc(1, sizeof(*host));
	int result;

	if (!host)
		return NULL;
	assert(probe_table_len <= PROBE_ROWS_MAX);
	host->modules = modules;
	result = find_hooks(host, NULL);
	if (!result)
		return host;
	free(host);
	errno = -result;
	return NULL;
}

void probe_host_free(struct probe_host *host)
{
	size_t i;

	for (i = 0; host && i < probe_table_len; i++) {
		free(host->row[i].refused);
		free(host->row[i].log);
	}
	free(host);
}

void probe_host_refuse(struct probe_host *host, const struct probe *probe, const char *reason,
                       const char *log)
{
	size_t i = row_of(probe);

	if (host->row[i].refused)
		return;
	host->row[i].log = strdup(log);
	host->row[i].refused = strdup(reason);
	if (!host->row[i].refused)
		host->row[i].exists = false;
	find_hooks(host, probe->program); /* others may serve in its place */
}

/* Rows of a cause stand one behind the other. */
static const char *tell_near_causes(const char *cause)
{
	static char text[NEAR_NAMES_BYTES + 64];
	struct near_names near = { .wanted = cause };
	char names[NEAR_NAMES_BYTES];

	for (size_t i = 0; i < probe_table_len; i++)
		if (!i || strcmp(probe_table[i].cause, probe_table[i - 1].cause) != 0)
			near_names_look(&near, probe_table[i].cause, probe_table[i].cause);
	snprintf(text, sizeof(text), "there is no such cause%s%s",
	         near.count ? "; there is " : ": stallprof doctor lists them", near_names_text(names, &near));
	return text;
}

const char *probe_cause_stays(const char *cause)
{
	if (!strcmp(cause, "core") || !strcmp(cause, "tags"))
		return "nothing works without it";
	for (size_t i = 0; i < probe_table_len; i++)
		if (!strcmp(probe_table[i].cause, cause))
			return NULL;
	return tell_near_causes(cause);
}

/* Whether the row is of the cause, or of one that is named after it: journal_xfs is one of journal's. */
static bool serves(const struct probe *probe, const char *cause)
{
	size_t len = strlen(cause);

	return !strncmp(probe->cause, cause, len) && (!probe->cause[len] || probe->cause[len] == '_');
}

const char *probe_host_switch_off(struct probe_host *host, const char *cause)
{
	const char *stays = probe_cause_stays(cause);
	size_t i;

	for (i = 0; i < probe_table_len && !stays; i++) {
		if (serves(&probe_table[i], cause))
			host->row[i].off = true;
	}
	return stays;
}

void probe_host_leave_out(struct probe_host *host, const char *cause)
{
	for (size_t i = 0; i < probe_table_len; i++)
		host->row[i].left_out |= serves(&probe_table[i], cause);
}

bool probe_is_off(const struct probe_host *host, const struct probe *probe)
{
	return host->row[row_of(probe)].off;
}

const char *probe_log(const struct probe_host *host, const struct probe *probe)
{
	const char *log = host->row[row_of(probe)].log;

	return log ? log : "";
}

/* Whether all rows that replace it can be attached, less those that a kernel does without; false when there are none. */
static bool has_substitutes(const struct probe_host *host, const struct probe *probe)
{
	bool any = false;
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		const struct probe *other = &probe_table[i];

		if (!other->unless || strcmp(other->unless, probe->program))
			continue;
		if (!can_attach(host, other) && !other->advice)
			continue;
		if (!can_attach(host, other))
			return false;
		any = true;
	}
	return any;
}

/* Whether the row is for something that this host has not. */
static bool has_no_use(const struct probe *probe)
{
	return !probe->advice || (probe->filesystem && !host_has_mounted(probe->filesystem));
}

bool probe_replaced(const struct probe_host *host, const struct probe *probe)
{
	if (probe_is_off(host, probe))
		return false;
	if (host->row[row_of(probe)].left_out || lacks_module(probe) ||
	    (!can_attach(host, probe) && has_no_use(probe)))
		return true;
	return better_exists(host, probe) || (!can_attach(host, probe) && has_substitutes(host, probe));
}

bool probe_cause_available(const struct probe_host *host, const char *cause)
{
	for (size_t i = 0; i < probe_table_len; i++) {
		if (!strcmp(probe_table[i].cause, cause) && !can_attach(host, &probe_table[i]) &&
		    !probe_replaced(host, &probe_table[i]))
			return false;
	}
	return true;
}

const char *probe_missing(const struct probe_host *host, const struct probe *probe)
{
	size_t i = row_of(probe);

	if (probe_is_off(host, probe))
		return PROBE_OFF;
	if (host->row[i].left_out)
		return PROBE_NOT_NEEDED ": there is nothing for it to do";
	if (lacks_module(probe))
		return PROBE_NOT_NEEDED ": its module is not loaded";
	if (!can_attach(host, probe) && has_no_use(probe))
		return probe->filesystem ? PROBE_NOT_NEEDED ": none is mounted"
		                         : PROBE_NOT_NEEDED " in this kernel";
	if (probe_replaced(host, probe))
		return PROBE_NOT_NEEDED ": other hooks serve";
	if (host->row[i].refused)
		return host->row[i].refused;
	if (!host->row[i].exists)
		return "not in this kernel";
	if (!can_attach(host, probe))
		return "it is in a module, and CAP_SYS_ADMIN is missing";
	if (!probe_cause_available(host, probe->cause))
		return "another hook of the same cause is missing";
	return NULL;
}

const char *probe_advice(const struct probe_host *host, const struct probe *probe)
{
	size_t i = row_of(probe);

	if (host->row[i].off)
		return "";
	if (host->row[i].refused)
		return "a report to stallprof, with this kernel's release";
	if (host->row[i].in_module && !host->modules)
		return "CAP_SYS_ADMIN";
	return probe->advice ? probe->advice : "";
}
