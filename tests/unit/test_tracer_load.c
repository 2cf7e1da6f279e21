/*
 * Which programs the running kernel takes: one that it refuses costs its row and is explained, and a field that a kernel
 * does not have, or has in another size, costs no program. Kernels that differ so are made of this one's BTF. Needs root.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/stallprof.skel.h"
#include "profiler/probe_table.h"
#include "profiler/tracer_load.h"
#include "tests/unit/need_root.h"

static int n_said;
static char said[4096];

static void say(const char *text)
{
	n_said++;
	snprintf(said, sizeof(said), "%s", text);
}

/* Has the program named by `ctx` read its context far behind its end, which no verifier lets pass. */
static void spoil(struct stallprof_bpf *bpf, const void *ctx)
{
	const struct bpf_insn read = {
		.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_1, .off = 8192
	};
	struct bpf_program *program = ctx ? bpf_object__find_program_by_name(bpf->obj, ctx) : NULL;
	struct bpf_insn *insns;
	size_t n;

	bpf_map__set_max_entries(bpf->maps.stack_slots, 3);
	if (!program)
		return;
	n = bpf_program__insn_cnt(program);
	insns = malloc(n * sizeof(*insns));
	assert_non_null(insns);
	memcpy(insns, bpf_program__insns(program), n * sizeof(*insns));
	insns[0] = read;
	assert_int_equal(bpf_program__set_insns(program, insns, n), 0);
	free(insns);
}

static const struct probe *row_of(const char *program)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		if (!strcmp(probe_table[i].program, program))
			return &probe_table[i];
	}
	fail_msg("no row of %s", program);
	return NULL;
}

static void test_tracer_load__all(void **state)
{
	struct probe_host *host;
	struct stallprof_bpf *bpf;
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	host = probe_host_new(true);
	assert_non_null(host);
	n_said = 0;
	bpf = tracer_load(host, spoil, NULL, say, err, sizeof(err));
	if (!bpf)
		fail_msg("%s", err);
	assert_int_equal(n_said, 0);
	stallprof_bpf__destroy(bpf);
	probe_host_free(host);
}

static void test_tracer_load__refused_program_costs_its_row(void **state)
{
	const struct probe *row = row_of("on_balance_dirty_pages");
	struct probe_host *host;
	struct stallprof_bpf *bpf;
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	host = probe_host_new(true);
	n_said = 0;
	bpf = tracer_load(host, spoil, row->program, say, err, sizeof(err));
	if (!bpf)
		fail_msg("%s", err);
	assert_int_equal(n_said, 1);
	assert_non_null(
	        strstr(said, "no writeback: the kernel refused the BPF program on_balance_dirty_pages"));
	assert_non_null(strstr(said, "r1 +8192"));
	assert_non_null(strstr(probe_log(host, row), "r1 +8192"));
	assert_null(strstr(probe_log(host, row), "processed "));
	assert_non_null(strstr(probe_missing(host, row), "the kernel refused it: "));
	assert_null(strchr(probe_missing(host, row), '\n'));
	assert_false(probe_cause_available(host, row->cause));
	assert_true(probe_cause_available(host, "core"));
	assert_true(probe_cause_available(host, "journal"));
	assert_true(bpf_program__fd(bpf->progs.on_commit_start) >= 0);
	assert_true(bpf_program__fd(bpf->progs.on_balance_dirty_pages) < 0);
	stallprof_bpf__destroy(bpf);
	probe_host_free(host);
}

static void test_tracer_load__refused_core_is_fatal(void **state)
{
	struct probe_host *host;
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	host = probe_host_new(true);
	n_said = 0;
	assert_null(tracer_load(host, spoil, "on_sched_waking", say, err, sizeof(err)));
	assert_non_null(strstr(err, "no recording: the kernel refused the BPF program on_sched_waking for "
	                            "tp_btf/sched_waking"));
	assert_non_null(strstr(err, "r1 +8192"));
	assert_int_equal(n_said, 0);
	probe_host_free(host);
}

/* --- other kernels ----------------------------------------------------------------------------------------------------- */
/* A field or enumerator that some kernel lacks. `type`: where it is. */
struct optional {
	const char *type, *name;
};

static struct btf_member *member_of(struct btf *btf, const struct optional *optional)
{
	int id = btf__find_by_name_kind(btf, optional->type, BTF_KIND_STRUCT), i;
	struct btf_member *members;

	if (id < 0)
		return NULL;
	members = btf_members(btf__type_by_id(btf, id));
	for (i = 0; i < btf_vlen(btf__type_by_id(btf, id)); i++)
		if (!strcmp(btf__name_by_offset(btf, members[i].name_off), optional->name))
			return &members[i];
	return NULL;
}

/* Clears the name: nothing is found by it. The types that libbpf parsed are its own memory. */
static bool drop_field(struct btf *btf, const struct optional *optional)
{
	struct btf_member *member = member_of(btf, optional);

	if (member)
		member->name_off = 0;
	return member != NULL;
}

static bool drop_enumerator(struct btf *btf, const struct optional *optional)
{
	int id = btf__find_by_name_kind(btf, optional->type, BTF_KIND_ENUM), i;
	struct btf_enum *values;

	if (id < 0)
		return false;
	values = btf_enum(btf__type_by_id(btf, id));
	for (i = 0; i < btf_vlen(btf__type_by_id(btf, id)); i++) {
		if (!strcmp(btf__name_by_offset(btf, values[i].name_off), optional->name)) {
			values[i].name_off = 0;
			return true;
		}
	}
	return false;
}

/* Makes an int of the field a byte, or of a byte an int: on_cpu and on_rq are bytes since Linux 7.2. */
static bool resize_field(struct btf *btf, const struct optional *optional)
{
	int byte = btf__find_by_name_kind(btf, "unsigned char", BTF_KIND_INT);
	int word = btf__find_by_name_kind(btf, "int", BTF_KIND_INT);
	struct btf_member *member = member_of(btf, optional);

	if (!member || byte < 0 || word < 0)
		return false;
	member->type = btf__resolve_size(btf, member->type) == 1 ? word : byte;
	return true;
}

static void save(const struct btf *btf, const char *path)
{
	FILE *file = fopen(path, "w");
	const void *bytes;
	uint32_t size;

	assert_non_null(file);
	bytes = btf__raw_data(btf, &size);
	assert_non_null(bytes);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* Loads all programs that this kernel has hooks for as if it had the BTF at `path`. */
static int load_with(const char *path)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct stallprof_bpf *bpf = stallprof_bpf__open_opts(&options);
	struct probe_host *host = probe_host_new(true);
	size_t i;
	int result;

	assert_non_null(bpf);
	assert_non_null(host);
	spoil(bpf, NULL);
	for (i = 0; i < probe_table_len; i++) {
		struct bpf_program *program =
		        bpf_object__find_program_by_name(bpf->obj, probe_table[i].program);

		if (program)
			bpf_program__set_autoload(program, !probe_missing(host, &probe_table[i]));
	}
	result = stallprof_bpf__load(bpf);
	stallprof_bpf__destroy(bpf);
	probe_host_free(host);
	return result;
}

static int load_changed(const struct optional *optional,
                        bool (*change)(struct btf *, const struct optional *))
{
	char path[] = "/tmp/stallprof-btf-XXXXXX";
	struct btf *btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	int fd = mkstemp(path), result;

	assert_non_null(btf);
	assert_true(fd >= 0);
	close(fd);
	if (change && !change(btf, optional))
		print_message("# this kernel itself has no %s.%s\n", optional->type, optional->name);
	save(btf, path);
	btf__free(btf);
	result = load_with(path);
	unlink(path);
	return result;
}

static void test_tracer_load__optional_fields(void **state)
{
	static const struct optional fields[] = {
		{ "task_struct", "on_cpu" },         /* without CONFIG_SMP */
		{ "sched_info", "run_delay" },       /* without CONFIG_SCHED_INFO */
		{ "bio", "bi_blkg" },                /* without CONFIG_BLK_CGROUP */
		{ "cgroup", "ancestors" },           /* before 6.1 */
		{ "sched_entity", "sched_delayed" }, /* before 6.12 */
		{ "cfs_rq", "rq" },                  /* without CONFIG_FAIR_GROUP_SCHED */
	};
	static const struct optional io_controller = { "cgroup_subsys_id", "io_cgrp_id" };
	static const struct optional on_rq = { "task_struct", "on_rq" };
	size_t i;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	libbpf_set_print(NULL);
	assert_int_equal(load_changed(&fields[0], NULL), 0);
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		print_message("# without %s.%s\n", fields[i].type, fields[i].name);
		assert_int_equal(load_changed(&fields[i], drop_field), 0);
	}
	assert_int_equal(load_changed(&io_controller, drop_enumerator), 0);
	assert_int_equal(load_changed(&fields[0], resize_field), 0);
	assert_int_equal(load_changed(&on_rq, resize_field), 0);
	/* What this proves rests on the changes being felt: without a field that is not optional, nothing loads. */
	assert_int_not_equal(load_changed(&(const struct optional){ "task_struct", "tgid" }, drop_field), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tracer_load__all),
		cmocka_unit_test(test_tracer_load__refused_program_costs_its_row),
		cmocka_unit_test(test_tracer_load__refused_core_is_fatal),
		cmocka_unit_test(test_tracer_load__optional_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
