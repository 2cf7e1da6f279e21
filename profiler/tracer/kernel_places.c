/* Finds what CO-RE cannot in the kernel's BTF: the place of an argument and of a per-CPU variable. */

#include "profiler/tracer/kernel_places.h"

#include <bpf/btf.h>
#include <stdbool.h>
#include <string.h>

#include "profiler/tracer/kernel_needs.h"

/* The pause is the third from the end in the type of the hook's function, which begins with the tracepoint's own
 * data: 10 up to Linux 6.12, 6 since the limits became one structure. */
static unsigned int find_pause_arg(const struct btf *kernel)
{
	const struct btf_type *type;
	int id = btf__find_by_name_kind(kernel, "btf_trace_balance_dirty_pages", BTF_KIND_TYPEDEF);

	if (id <= 0)
		return 0;
	type = btf__type_by_id(kernel, btf__type_by_id(kernel, id)->type);
	type = type && btf_is_ptr(type) ? btf__type_by_id(kernel, type->type) : NULL;
	return type && btf_is_func_proto(type) && btf_vlen(type) > 3 ? btf_vlen(type) - 3 : 0;
}

/* The offset of a variable among those that each CPU has. */
static bool find_cpu_variable(const struct btf *kernel, const char *name, int64_t *offset)
{
	int id = btf__find_by_name_kind(kernel, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(kernel, id) : NULL, *variable;
	const struct btf_var_secinfo *info = section ? btf_var_secinfos(section) : NULL;
	unsigned int i;

	for (i = 0; section && i < btf_vlen(section); i++) {
		variable = btf__type_by_id(kernel, info[i].type);
		if (variable && !strcmp(btf__name_by_offset(kernel, variable->name_off), name)) {
			*offset = info[i].offset;
			return true;
		}
	}
	return false;
}

/* Of the fields of a structure, those of structures without a name in it included; -1: none. */
static int64_t find_field(const struct btf *kernel, const struct btf_type *type, const char *name)
{
	const struct btf_member *member = type ? btf_members(type) : NULL;
	unsigned int i;

	for (i = 0; type && btf_is_composite(type) && i < btf_vlen(type); i++) {
		int64_t at = btf_member_bit_offset(type, i) / 8, inner;
		const char *field = btf__name_by_offset(kernel, member[i].name_off);

		if (!strcmp(field, name))
			return at;
		inner = *field ? -1 : find_field(kernel, btf__type_by_id(kernel, member[i].type), name);
		if (inner >= 0)
			return at + inner;
	}
	return -1;
}

/* x86-64 has it in a structure of hot variables from 6.2 to 6.14, else by itself. */
static int64_t find_preempt_count(const struct btf *kernel)
{
	int id = btf__find_by_name_kind(kernel, "pcpu_hot", BTF_KIND_STRUCT);
	int64_t rq, at, field;

	if (!find_cpu_variable(kernel, "runqueues", &rq))
		return 0;
	if (find_cpu_variable(kernel, "__preempt_count", &at))
		return at - rq;
	field = id > 0 ? find_field(kernel, btf__type_by_id(kernel, id), "preempt_count") : -1;
	return field >= 0 && find_cpu_variable(kernel, "pcpu_hot", &at) ? at + field - rq : 0;
}

/* Since Linux 6.2 a program gets a task's storage none the less, by a helper of its own; since 7.0 nobody counts. */
static int64_t find_storage_busy(const struct btf *kernel)
{
	int64_t rq, at;

	if (!find_cpu_variable(kernel, "runqueues", &rq) ||
	    !find_cpu_variable(kernel, "bpf_task_storage_busy", &at) ||
	    btf__find_by_name_kind(kernel, "bpf_task_storage_get_recur", BTF_KIND_FUNC) > 0)
		return 0;
	return at - rq;
}

/* Since 7.3 the upper byte counts how often interrupts were switched off, and interrupts come above that. */
static uint32_t interrupt_bits(const struct btf *kernel)
{
	int64_t at;

	return find_cpu_variable(kernel, "local_interrupt_disable_state", &at) ? 0x1f000100 : 0x00ff0100;
}

static bool has_member(const struct btf *kernel, const char *structure, const char *name)
{
	int id = btf__find_by_name_kind(kernel, structure, BTF_KIND_STRUCT);

	return id > 0 && find_field(kernel, btf__type_by_id(kernel, id), name) >= 0;
}

void kernel_places_find(const struct btf *kernel, struct kernel_places *places)
{
	places->pause_arg = find_pause_arg(kernel);
	places->maps_grow = kernel_has_helper(kernel, "BPF_FUNC_user_ringbuf_drain"); /* came with it */
	places->preempt_count_from_rq = find_preempt_count(kernel);
	places->storage_busy_from_rq = find_storage_busy(kernel);
	places->interrupt_bits = interrupt_bits(kernel);
	places->throttles = btf__find_by_name_kind(kernel, "throtl_data", BTF_KIND_STRUCT) > 0;
	places->ai_tags = has_member(kernel, "request", "ai_tag") || has_member(kernel, "bio", "bi_ai_tag");
}
