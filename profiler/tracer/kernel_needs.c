/* Lists the BPF features that this kernel lacks, by its BTF. */

#include "profiler/tracer/kernel_needs.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *type, *enumerator, *text;
} needs[] = {
	{ "bpf_map_type", "BPF_MAP_TYPE_TASK_STORAGE", "task storage (Linux 5.11)" },
	{ "bpf_func_id", "BPF_FUNC_get_current_task_btf", "bpf_get_current_task_btf (5.11)" },
	{ "bpf_func_id", "BPF_FUNC_for_each_map_elem", "bpf_for_each_map_elem (5.13)" },
	{ "bpf_func_id", "BPF_FUNC_task_pt_regs", "bpf_task_pt_regs (5.15)" },
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

bool kernel_has_helper(const struct btf *btf, const char *enumerator)
{
	return has_enumerator(btf, "bpf_func_id", enumerator);
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
	btf__free(btf);
	return 0;
}
