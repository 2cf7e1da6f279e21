/* Lists the BPF features that this kernel lacks, by its BTF. */

#include "profiler/tracer/kernel_needs.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SWITCH_ARGUMENTS                                                                                     \
	5 /* of the tracepoint sched_switch with the state that is left, and the pointer in front */

static const struct {
	const char *type, *enumerator, *text;
} needs[] = {
	{ "bpf_map_type", "BPF_MAP_TYPE_TASK_STORAGE", "task storage (Linux 5.11)" },
	{ "bpf_func_id", "BPF_FUNC_get_current_task_btf", "bpf_get_current_task_btf (5.11)" },
	{ "bpf_func_id", "BPF_FUNC_task_pt_regs", "bpf_task_pt_regs (5.15)" },
	{ "bpf_func_id", "BPF_FUNC_loop", "bpf_loop (5.17)" },
	{ "bpf_func_id", "BPF_FUNC_copy_from_user_task", "bpf_copy_from_user_task (5.18)" },
};

static bool has_enumerator(const struct btf *btf, const char *type, const char *enumerator)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM), i;
	const struct btf_type *t;

	if (id < 0)
		return false;
	t = btf__type_by_id(btf, id);
	for (i = 0; i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), enumerator))
			return true;
	}
	return false;
}

/* The typedef of the tracepoint's program points to a function of its arguments. */
static int tracepoint_arguments(const struct btf *btf, const char *typedef_name)
{
	int id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

	if (!t || !btf_is_ptr(t))
		return 0;
	t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

static void add(char *list, size_t size, const char *text)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? ", " : "", text);
}

int kernel_needs_missing(char *missing, size_t size)
{
	struct btf *btf;
	size_t i;

	missing[0] = 0;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return -ENOENT;
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return -EPROTO;
	for (i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!has_enumerator(btf, needs[i].type, needs[i].enumerator))
			add(missing, size, needs[i].text);
	}
	if (tracepoint_arguments(btf, "btf_trace_sched_switch") < SWITCH_ARGUMENTS)
		add(missing, size, "the state in the tracepoint sched_switch (5.18)");
	btf__free(btf);
	return 0;
}
