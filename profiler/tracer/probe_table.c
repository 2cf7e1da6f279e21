/* Which hooks of the table this kernel has. */

#include "profiler/tracer/probe_table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/near_names.h"
#include "profiler/tracer/host_has.h"
#include "profiler/tracer/kernel_needs.h"
#include "profiler/tracer/kernel_places.h"
#include "profiler/tracer/kernel_types.h"

/* What the build of a module asks for: without it, it says "Skipping BTF generation ... due to unavailability of vmlinux". */
#define BUILT_WITH_BTF                                                                                       \
	"the module built with BTF: install pahole, copy /sys/kernel/btf/vmlinux to "                        \
	"/usr/lib/modules/$(uname -r)/build/, build and load the module again"

struct probe_host {
	bool modules; /* hooks of modules can be used */
	struct {
		bool exists, in_module, off, left_out;
		bool untyped;  /* its module is loaded, and came without BTF */
		bool shadowed; /* the kernel has another function of the name, which would be hooked instead */
		char *refused, *log; /* NULL: it was not */
	} row[PROBE_ROWS_MAX];
	struct kernel_places places;
	struct kernel_types *types; /* NULL: not looked at, or let go of */
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

/* What a program needs of its tracepoint: its last argument, or one that it got at the same time as it moved to a place that
 * we can use. */
static unsigned int args_needed(const char *program)
{
	if (!strcmp(program, "on_sched_switch"))
		return 4;
	return strcmp(program, "on_exit") ? 0 : 2;
}

/* Then the hook would cost for nothing, or be another's of the same name, where it is in the kernel itself. */
static bool lacks_module(const struct probe *probe)
{
	return probe->module && !host_has_module(probe->module);
}

/* Where the hook is, if it is in a module; NULL: that of the kernel itself. */
static const char *module_of(const struct probe *probe)
{
	if (probe->module || probe->filesystem)
		return probe->module ? probe->module : probe->filesystem;
	return !strncmp(probe->hook, "jbd2_", 5) ? "jbd2" : NULL;
}

/* Functions of the kernel itself that are of use with a module alone. */
static bool is_of_kernel(const char *function)
{
	static const char *const functions[] = { "__bio_queue_enter", "dma_fence_wait_any_timeout",
		                                 "filemap_fault", "rpc_wait_bit_killable" };

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i], function))
			return true;
	return false;
}

/* A function of a module was found in the kernel: that is another of the same name, as splice's wait_for_space() is not i915's. libbpf, too,
 * finds the kernel's first. */
static bool is_shadowed(const struct probe *probe)
{
	return probe->module && !is_of_kernel(probe->hook) && host_loaded_module(HOST_SYS, probe->module);
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

/* Whether another row would serve where this one cannot. */
static bool has_replacement(const struct probe *probe)
{
	for (size_t i = 0; i < probe_table_len; i++)
		if (probe_table[i].unless && !strcmp(probe_table[i].unless, probe->program))
			return true;
	return false;
}

/* All kernels that we can run on have the iterators. */
static bool has_iterator(const struct kernel_types *types, const char *program)
{
	return strcmp(program, "on_iter_context") ||
	       kernel_has_helper(kernel_types_btf(types), "BPF_FUNC_copy_from_user_task");
}

static void find_function(struct probe_host *host, struct kernel_types *types, const struct probe *probe)
{
	size_t i = row_of(probe);
	bool found;

	/* Of a module that is not there, the kernel may have a function by the same name, too. */
	found = !better_exists(host, probe) && !lacks_module(probe) &&
	        kernel_types_function(types, probe->hook, has_replacement(probe), &host->row[i].in_module);
	host->row[i].shadowed = found && !host->row[i].in_module && is_shadowed(probe);
	host->row[i].exists = found && !host->row[i].shadowed;
}

static void find_hook(struct probe_host *host, struct kernel_types *types, const struct probe *probe)
{
	const char *module = module_of(probe);
	size_t i = row_of(probe);

	switch (probe->kind) {
	case PROBE_TP_BTF:
		host->row[i].exists = kernel_types_tracepoint(types, probe->hook, args_needed(probe->program),
		                                              &host->row[i].in_module);
		break;
	case PROBE_FENTRY: /* the row that makes it needless comes before it in the table */
	case PROBE_FEXIT:
		find_function(host, types, probe);
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
	host->row[i].untyped = probe->kind <= PROBE_FEXIT && !host->row[i].exists && module &&
	                       host_module_lacks_types(HOST_SYS, module);
}

const struct kernel_places *probe_host_places(const struct probe_host *host)
{
	return &host->places;
}

const struct kernel_types *probe_host_types(struct probe_host *host)
{
	if (!host->types)
		host->types = kernel_types_load();
	return host->types;
}

void probe_host_let_types_go(struct probe_host *host)
{
	kernel_types_free(host->types);
	host->types = NULL;
}

/* Finds the hooks of the rows that replace `program`, or of all rows. */
static int find_hooks(struct probe_host *host, const char *program)
{
	size_t i;

	if (!probe_host_types(host))
		return -errno;
	for (i = 0; i < probe_table_len; i++) {
		const struct probe *probe = &probe_table[i];

		if (!program || (probe->unless && !strcmp(probe->unless, program)))
			find_hook(host, host->types, probe);
	}
	kernel_places_find(kernel_types_btf(host->types), &host->places);
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
	if (host)
		kernel_types_free(host->types);
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
	if (host->row[i].shadowed)
		return "the kernel has another function of that name";
	if (host->row[i].untyped)
		return "its module has no BTF";
	if (!host->row[i].exists)
		return "not in this kernel";
	if (!can_attach(host, probe))
		return "it is in a module, and CAP_SYS_ADMIN is missing";
	if (!probe_cause_available(host, probe->cause))
		return PROBE_OTHER_MISSING;
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
	if (host->row[i].shadowed)
		return "";
	if (host->row[i].untyped)
		return BUILT_WITH_BTF;
	return probe->advice ? probe->advice : "";
}
