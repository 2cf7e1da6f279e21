/*
 * Where kernels have their preemption count and the argument that is balance_dirty_pages's pause: of this kernel, against its
 * kallsyms where those have variables (tests/vm runs it under other kernels), and of BTF made as the versions have it.
 */
#include <bpf/btf.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/tracer/kernel_places.h"

#define RQ_AT 0x31c40

static bool kallsyms_address(const char *wanted, int64_t *address)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[256];
	uint64_t at = 0;
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%" SCNx64 " %*c %255s", &at, name) == 2 && !strcmp(name, wanted);
	fclose(file);
	*address = (int64_t)at;
	return found;
}

static void test_kernel_places__this_kernel(void **state)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct kernel_places places = { 0 };
	int64_t rq, count;

	(void)state;
	if (!kernel) {
		print_message("# SKIP allowed: this kernel has no BTF\n");
		skip();
	}
	kernel_places_find(kernel, &places);
	btf__free(kernel);
	if (places.pause_arg != 6)
		assert_int_equal(places.pause_arg, 10);
	assert_int_not_equal(places.preempt_count_from_rq, 0);
	print_message("# storage_busy_from_rq: %" PRId64 "\n", places.storage_busy_from_rq);
	if (!kallsyms_address("runqueues", &rq) || !rq)
		return; /* CONFIG_KALLSYMS_ALL=n, or not root */
	print_message("# kallsyms have the variables\n");
	if (kallsyms_address("__preempt_count", &count) && count) {
		assert_int_equal(places.preempt_count_from_rq, count - rq);
	} else {
		/* The count is within the structure, which is a cache line. */
		assert_true(kallsyms_address("pcpu_hot", &count));
		assert_in_range(places.preempt_count_from_rq + rq - count, 0, 60);
	}
}

/* A type of `n_args` arguments, the tracepoint's own data among them, by the name of the hook. */
static void add_hook(struct btf *btf, int n_args)
{
	int number = btf__add_int(btf, "long", 8, BTF_INT_SIGNED), function = btf__add_func_proto(btf, 0), i;

	assert_true(number > 0 && function > 0);
	for (i = 0; i < n_args; i++)
		assert_int_equal(btf__add_func_param(btf, "", number), 0);
	assert_true(btf__add_typedef(btf, "btf_trace_balance_dirty_pages", btf__add_ptr(btf, function)) > 0);
}

/* The CPU's variables, with the count, or the structure that has it, at `at`. */
static void add_variables(struct btf *btf, const char *name, int type, uint32_t size, uint32_t at)
{
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int count = btf__add_var(btf, name, BTF_VAR_GLOBAL_ALLOCATED, type ? type : number);
	int rq = btf__add_var(btf, "runqueues", BTF_VAR_GLOBAL_ALLOCATED, number);

	assert_true(number > 0 && count > 0 && rq > 0);
	assert_true(btf__add_datasec(btf, ".data..percpu", 0x40000) > 0);
	assert_int_equal(btf__add_datasec_var_info(btf, count, at, size), 0);
	assert_int_equal(btf__add_datasec_var_info(btf, rq, RQ_AT, 4), 0);
}

/* Linux 6.2 to 6.14: struct pcpu_hot { union { struct { struct task_struct *current_task; int preempt_count; }; u8 pad[64]; }; }. */
static int add_pcpu_hot(struct btf *btf, const char *field)
{
	int number = btf__add_int(btf, "unsigned int", 4, 0), pointer = btf__add_ptr(btf, 0), inner, both,
	    hot;

	inner = btf__add_struct(btf, NULL, 16);
	assert_int_equal(btf__add_field(btf, "current_task", pointer, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, field, number, 64, 0), 0);
	both = btf__add_union(btf, NULL, 64);
	assert_int_equal(btf__add_field(btf, NULL, inner, 0, 0), 0);
	hot = btf__add_struct(btf, "pcpu_hot", 64);
	assert_int_equal(btf__add_field(btf, NULL, both, 0, 0), 0);
	return hot;
}

static struct kernel_places places_of(struct btf *btf)
{
	struct kernel_places places = { .pause_arg = 99, .preempt_count_from_rq = 99 };

	kernel_places_find(btf, &places);
	btf__free(btf);
	return places;
}

static void test_kernel_places__variable(void **state)
{
	struct btf *btf = btf__new_empty();
	struct kernel_places places;

	(void)state;
	add_hook(btf, 13); /* up to 6.12 */
	add_variables(btf, "__preempt_count", 0, 4, 0x1fb40);
	places = places_of(btf);
	assert_int_equal(places.pause_arg, 10);
	assert_int_equal(places.preempt_count_from_rq, 0x1fb40 - RQ_AT);
	assert_int_equal(places.interrupt_bits, 0x00ff0100);
}

static void test_kernel_places__hot_structure(void **state)
{
	struct btf *btf = btf__new_empty();
	struct kernel_places places;

	(void)state;
	add_hook(btf, 9);
	add_variables(btf, "pcpu_hot", add_pcpu_hot(btf, "preempt_count"), 64, 0x351c0);
	places = places_of(btf);
	assert_int_equal(places.pause_arg, 6);
	assert_int_equal(places.preempt_count_from_rq, 0x351c0 + 8 - RQ_AT);
}

/* Since 7.3, which counts how often interrupts were switched off, too. */
static void test_kernel_places__counts_disabled(void **state)
{
	struct btf *btf = btf__new_empty();

	(void)state;
	add_variables(btf, "local_interrupt_disable_state", 0, 8, 0x1fb48);
	assert_int_equal(places_of(btf).interrupt_bits, 0x1f000100);
}

/* Linux 5.15 to 6.1 refuse task storage while that counts; 6.2 and later have it, and another helper for programs. */
static void test_kernel_places__storage_busy(void **state)
{
	struct btf *btf = btf__new_empty();
	int nothing;

	(void)state;
	add_variables(btf, "bpf_task_storage_busy", 0, 4, 0x2dc58);
	assert_int_equal(places_of(btf).storage_busy_from_rq, 0x2dc58 - RQ_AT);
	btf = btf__new_empty();
	nothing = btf__add_func_proto(btf, 0);
	assert_true(btf__add_func(btf, "bpf_task_storage_get_recur", BTF_FUNC_STATIC, nothing) > 0);
	add_variables(btf, "bpf_task_storage_busy", 0, 4, 0x2dc58);
	assert_int_equal(places_of(btf).storage_busy_from_rq, 0);
	assert_int_equal(places_of(btf__new_empty()).storage_busy_from_rq, 0);
}

static void test_kernel_places__not_known(void **state)
{
	struct btf *btf = btf__new_empty();
	struct kernel_places places;

	(void)state;
	add_variables(btf, "pcpu_hot", add_pcpu_hot(btf, "call_depth"), 64, 0x351c0);
	places = places_of(btf);
	assert_int_equal(places.pause_arg, 0);
	assert_int_equal(places.preempt_count_from_rq, 0);
	places = places_of(btf__new_empty());
	assert_int_equal(places.pause_arg, 0);
	assert_int_equal(places.preempt_count_from_rq, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_places__this_kernel),
		cmocka_unit_test(test_kernel_places__variable),
		cmocka_unit_test(test_kernel_places__hot_structure),
		cmocka_unit_test(test_kernel_places__counts_disabled),
		cmocka_unit_test(test_kernel_places__storage_busy),
		cmocka_unit_test(test_kernel_places__not_known),
	};

	return cmocka_run_group_tests_name("kernel_places", tests, NULL, NULL);
}
