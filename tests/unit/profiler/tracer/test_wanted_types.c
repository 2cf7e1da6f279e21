/* What BPF objects ask for of the running kernel's types: the copy has the same members at the same places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/tracer/kernel_types.h"
#include "profiler/tracer/wanted_types.h"

static struct kernel_types *types;

static int set_up(void **state)
{
	(void)state;
	types = kernel_types_load();
	return !types;
}

static int tear_down(void **state)
{
	(void)state;
	kernel_types_free(types);
	return 0;
}

/* The copy, for btf__free(). */
static struct btf *copy_of(const struct btf *wanted)
{
	int fd = memfd_create("types", MFD_CLOEXEC);
	struct btf *copy;
	char path[64];

	assert_true(fd >= 0);
	assert_int_equal(wanted_types_write(types, wanted, fd), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	copy = btf__parse(path, NULL);
	assert_non_null(copy);
	close(fd);
	return copy;
}

static struct btf *wanted_structs(const char *const *names, size_t n)
{
	struct btf *wanted = btf__new_empty();

	assert_non_null(wanted);
	for (size_t i = 0; i < n; i++)
		assert_true(btf__add_struct(wanted, names[i], 0) > 0);
	return wanted;
}

static size_t n_compared;

/* Members, sizes and places are the same, all the way down; pointers need to be pointers only. */
static void assert_same(const struct btf *one, int one_id, const struct btf *other, int other_id)
{
	const struct btf_type *a = btf__type_by_id(one, one_id), *b = btf__type_by_id(other, other_id);
	uint32_t i;

	n_compared++;
	assert_int_equal(btf_kind(a), btf_kind(b));
	assert_string_equal(btf__name_by_offset(one, a->name_off), btf__name_by_offset(other, b->name_off));
	if (btf_is_ptr(a))
		return;
	if (btf_is_mod(a) || btf_is_typedef(a)) {
		if (b->type)
			assert_same(one, a->type, other, b->type);
		return;
	}
	assert_int_equal(btf_vlen(a), btf_vlen(b));
	if (btf_is_array(a)) {
		assert_int_equal(btf_array(a)->nelems, btf_array(b)->nelems);
		assert_same(one, btf_array(a)->type, other, btf_array(b)->type);
		return;
	}
	if (!btf_is_fwd(a))
		assert_int_equal(a->size, b->size);
	for (i = 0; btf_is_composite(a) && i < btf_vlen(a); i++) {
		assert_string_equal(btf__name_by_offset(one, btf_members(a)[i].name_off),
		                    btf__name_by_offset(other, btf_members(b)[i].name_off));
		assert_int_equal(btf_members(a)[i].offset, btf_members(b)[i].offset);
		assert_same(one, btf_members(a)[i].type, other, btf_members(b)[i].type);
	}
}

static void assert_same_struct(const struct btf *copy, const char *name)
{
	const struct btf *kernel = kernel_types_btf(types);
	int of_kernel = btf__find_by_name_kind(kernel, name, BTF_KIND_STRUCT),
	    of_copy = btf__find_by_name_kind(copy, name, BTF_KIND_STRUCT);

	assert_true(of_kernel > 0 && of_copy > 0);
	assert_same(kernel, of_kernel, copy, of_copy);
}

/* A flavor asks for the kernel's type; what nobody asks for is not there. */
static void test_wanted_types__same_places(void **state)
{
	const char *const names[] = { "task_struct", "request___patched", "file", "pt_regs" };
	struct btf *wanted = wanted_structs(names, 4), *copy = copy_of(wanted);

	(void)state;
	n_compared = 0;
	assert_same_struct(copy, "task_struct");
	assert_same_struct(copy, "request");
	assert_same_struct(copy, "file");
	assert_same_struct(copy, "pt_regs");
	assert_true(n_compared > 500);
	assert_int_equal(btf__find_by_name_kind(copy, "request_queue", BTF_KIND_STRUCT), -ENOENT);
	assert_true(btf__type_cnt(copy) < btf__type_cnt(kernel_types_btf(types)) / 10);
	btf__free(copy);
	btf__free(wanted);
}

static void test_wanted_types__none_of_that_name(void **state)
{
	const char *const names[] = { "no_such_struct" };
	struct btf *wanted = wanted_structs(names, 1), *copy = copy_of(wanted);

	(void)state;
	assert_int_equal(btf__find_by_name_kind(copy, "no_such_struct", BTF_KIND_STRUCT), -ENOENT);
	btf__free(copy);
	btf__free(wanted);
}

/* A union is none of the structs of that name, whatever else has it. */
static void test_wanted_types__of_that_kind(void **state)
{
	struct btf *wanted = btf__new_empty(), *copy;

	(void)state;
	assert_true(btf__add_union(wanted, "task_struct", 0) > 0);
	assert_true(btf__add_enum(wanted, "bpf_func_id", 4) > 0);
	copy = copy_of(wanted);
	assert_int_equal(btf__find_by_name_kind(copy, "task_struct", BTF_KIND_STRUCT), -ENOENT);
	assert_true(btf__find_by_name_kind(copy, "bpf_func_id", BTF_KIND_ENUM) > 0);
	btf__free(copy);
	btf__free(wanted);
}

static void test_wanted_types__no_room(void **state)
{
	const char *const names[] = { "file" };
	struct btf *wanted = wanted_structs(names, 1);
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(wanted_types_write(types, wanted, fd[0]), -EBADF);
	close(fd[0]);
	close(fd[1]);
	btf__free(wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wanted_types__same_places),
		cmocka_unit_test(test_wanted_types__none_of_that_name),
		cmocka_unit_test(test_wanted_types__of_that_kind),
		cmocka_unit_test(test_wanted_types__no_room),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
