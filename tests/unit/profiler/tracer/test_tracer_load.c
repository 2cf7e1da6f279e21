/*
 * Which programs the running kernel takes: one that it refuses costs its row and is explained, and a field that a kernel
 * does not have, or has in another size, costs no program. Kernels that differ so are made of this one's BTF. Needs root.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
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
#include "profiler/tracer/ledger_maps.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/tracer_load.h"
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

	bpf_map__set_max_entries(bpf->maps.stack_buffers, 3);
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
	bpf = tracer_load(host, spoil, NULL, say, NULL, err, sizeof(err));
	if (!bpf)
		fail_msg("%s", err);
	assert_int_equal(n_said, 0);
	stallprof_bpf__destroy(bpf);
	probe_host_free(host);
}

/* --- what the verifier does -------------------------------------------------------------------------------------------- */
/* How many instructions the kernel's verifier may walk through: it does so at each start of record, agent and doctor, at some 600,000 a
 * second here, and in the guests of tests/vm at a tenth of that. In all, without the programs on functions, which not every kernel has:
 * 124,000 (Linux 6.18), 427,000 before this was looked at. One program: 22,000, 127,000 before. What is called from many places is
 * a VERIFIED_ONCE (bpf/state.bpf.h). */
#define WALKED_IN_ALL 160000
#define WALKED_IN_ONE 30000

/* As user space sets them for a recording: what is off is not walked through. */
static void set_for_recording(struct stallprof_bpf *bpf, const void *ctx)
{
	(void)ctx;
	spoil(bpf, NULL);
	bpf->rodata->cpu_period_ns = 10000000;
	bpf->rodata->counts_users = true;
	bpf->rodata->long_waits = true;
	bpf->rodata->tells_requests = true;
	bpf->rodata->pause_arg = 7;
	bpf->rodata->preempt_count_from_rq = -4096;
}

static bool is_on_function(const struct bpf_program *program)
{
	enum bpf_attach_type type = bpf_program__expected_attach_type(program);

	return type == BPF_TRACE_FENTRY || type == BPF_TRACE_FEXIT;
}

/* 0: not loaded, or Linux before 5.16, which does not count. */
static uint32_t walked(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0)
		return 0;
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	return info.verified_insns;
}

static void test_tracer_load__is_walked_through_fast(void **state)
{
	struct stallprof_bpf *bpf;
	struct probe_host *host;
	struct bpf_program *program;
	char err[2048] = "";
	uint32_t n, all = 0;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	host = probe_host_new(true);
	assert_non_null(host);
	bpf = tracer_load(host, set_for_recording, NULL, say, NULL, err, sizeof(err));
	if (!bpf)
		fail_msg("%s", err);
	bpf_object__for_each_program(program, bpf->obj)
	{
		n = walked(program);
		if (n > WALKED_IN_ONE)
			fail_msg("the verifier walks through %u instructions of %s", n,
			         bpf_program__name(program));
		if (!is_on_function(program))
			all += n;
	}
	if (all > WALKED_IN_ALL)
		fail_msg("the verifier walks through %u instructions", all);
	print_message("# %u instructions verified\n", all);
	stallprof_bpf__destroy(bpf);
	probe_host_free(host);
}

static void test_tracer_load__cause_that_is_off(void **state)
{
	const struct probe *row = row_of("on_balance_dirty_pages");
	struct probe_host *host;
	struct stallprof_bpf *bpf;
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	host = probe_host_new(true);
	assert_non_null(probe_host_switch_off(host, "no_such_cause"));
	assert_non_null(probe_host_switch_off(host, "core"));
	assert_non_null(probe_host_switch_off(host, "tags"));
	assert_false(probe_is_off(host, row));
	assert_null(probe_host_switch_off(host, "writeback"));
	assert_true(probe_is_off(host, row));
	assert_string_equal(probe_missing(host, row), PROBE_OFF);
	assert_false(probe_replaced(host, row));
	assert_false(probe_is_off(host, row_of("on_xfs_log_wait")));
	assert_null(probe_host_switch_off(host, "journal_xfs"));
	assert_true(probe_is_off(host, row_of("on_xfs_log_wait")));
	assert_false(probe_is_off(host, row_of("on_commit_start")));
	n_said = 0;
	bpf = tracer_load(host, spoil, NULL, say, NULL, err, sizeof(err));
	if (!bpf)
		fail_msg("%s", err);
	assert_int_equal(n_said, 0);
	assert_true(bpf_program__fd(bpf->progs.on_balance_dirty_pages) < 0);
	assert_true(bpf_program__fd(bpf->progs.on_folio_wait_writeback) < 0);
	assert_true(bpf_program__fd(bpf->progs.on_commit_start) >= 0);
	stallprof_bpf__destroy(bpf);
	probe_host_free(host);
}

/* A row that a kernel does without has no advice of its own; doctor prints what this returns. */
static void test_tracer_load__advice_of_every_row(void **state)
{
	struct probe_host *host;
	size_t i, n_without = 0;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	host = probe_host_new(true);
	assert_non_null(host);
	for (i = 0; i < probe_table_len; i++) {
		assert_non_null(probe_advice(host, &probe_table[i]));
		n_without += !probe_table[i].advice;
	}
	assert_true(n_without > 0);
	probe_host_free(host);
}

/* Whatever the size of their keys. */
static void test_tracer_load__maps_are_emptied(void **state)
{
	struct stallprof_bpf *bpf;
	struct probe_host *host;
	struct bpf_map *map;
	char err[512] = "";
	size_t n = 0;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	host = probe_host_new(true);
	bpf = tracer_load(host, spoil, NULL, say, NULL, err, sizeof(err));
	if (!bpf)
		fail_msg("%s", err);
	bpf_object__for_each_map(map, bpf->obj)
	{
		uint8_t key[LEDGER_MAPS_KEY_BYTES] = { 1 }, next[LEDGER_MAPS_KEY_BYTES];
		enum bpf_map_type type = bpf_map__type(map);
		uint8_t *value;

		if (type != BPF_MAP_TYPE_HASH && type != BPF_MAP_TYPE_LRU_HASH)
			continue;
		if (bpf_map__key_size(map) > sizeof(key)) {
			assert_int_equal(ledger_maps_empty(map), -E2BIG);
			continue;
		}
		value = calloc(1, bpf_map__value_size(map));
		assert_non_null(value);
		for (key[1] = 0; key[1] < 3 && key[1] < bpf_map__max_entries(map); key[1]++)
			assert_int_equal(bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY), 0);
		free(value);
		assert_int_equal(ledger_maps_empty(map), 0);
		assert_int_not_equal(bpf_map_get_next_key(bpf_map__fd(map), NULL, next), 0);
		n++;
	}
	assert_true(n > 10 && bpf_map__key_size(bpf->maps.dirty_files) <= LEDGER_MAPS_KEY_BYTES);
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
	bpf = tracer_load(host, spoil, row->program, say, NULL, err, sizeof(err));
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
	/* Each program that is there is tried alone then, which takes its time: here those of the core do. */
	for (size_t i = 0; i < probe_table_len; i++)
		if (strcmp(probe_table[i].cause, "core"))
			probe_host_refuse(host, &probe_table[i], "not wanted", "");
	n_said = 0;
	assert_null(tracer_load(host, spoil, "on_sched_waking", say, NULL, err, sizeof(err)));
	assert_non_null(strstr(err, "no recording: the kernel refused the BPF program on_sched_waking for "
	                            "tp_btf/sched_waking"));
	assert_non_null(strstr(err, "r1 +8192"));
	assert_int_equal(n_said, 0);
	probe_host_free(host);
}

/* --- other kernels ----------------------------------------------------------------------------------------------------- */
/* A field or enumerator that some kernel lacks, or has in another size. `type`: where it is. */
struct optional {
	const char *type, *name;
	bool (*change)(struct btf *btf, const struct optional *optional);
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

static int load_changed(const struct optional *optionals, size_t n)
{
	char path[] = "/tmp/stallprof-btf-XXXXXX";
	struct btf *btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	int fd = mkstemp(path), result;

	assert_non_null(btf);
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < n; i++)
		if (!optionals[i].change(btf, &optionals[i]))
			print_message("# this kernel itself has no %s.%s\n", optionals[i].type,
			              optionals[i].name);
	save(btf, path);
	btf__free(btf);
	result = load_with(path);
	unlink(path);
	return result;
}

/* All at once, as each load takes a second; if that fails, one by one, so that it is said which. */
static void assert_loads_changed(const struct optional *optionals, size_t n)
{
	if (!load_changed(optionals, n))
		return;
	for (size_t i = 0; i < n; i++) {
		print_message("# with %s.%s changed\n", optionals[i].type, optionals[i].name);
		assert_int_equal(load_changed(&optionals[i], 1), 0);
	}
	fail_msg("each alone loads, all together do not");
}

static void test_tracer_load__optional_fields(void **state)
{
	static const struct optional missing[] = {
		{ "task_struct", "on_cpu", drop_field },         /* without CONFIG_SMP */
		{ "sched_info", "run_delay", drop_field },       /* without CONFIG_SCHED_INFO */
		{ "bio", "bi_blkg", drop_field },                /* without CONFIG_BLK_CGROUP */
		{ "cgroup", "ancestors", drop_field },           /* before 6.1 */
		{ "sched_entity", "sched_delayed", drop_field }, /* before 6.12 */
		{ "cfs_rq", "rq", drop_field },                  /* without CONFIG_FAIR_GROUP_SCHED */
		{ "cgroup_subsys_id", "io_cgrp_id", drop_enumerator },
		{ "bpf_func_id", "BPF_FUNC_loop", drop_enumerator }, /* before 5.17 */
		{ "task_struct", "worker_private", drop_field },     /* likewise */
	};
	static const struct optional resized[] = { { "task_struct", "on_cpu", resize_field },
		                                   { "task_struct", "on_rq", resize_field } };
	static const struct optional needed = { "task_struct", "tgid", drop_field };

	(void)state;
	need_root(PRIVILEGE_LOAD);
	libbpf_set_print(NULL);
	assert_int_equal(load_changed(NULL, 0), 0);
	assert_loads_changed(missing, sizeof(missing) / sizeof(missing[0]));
	assert_loads_changed(resized, sizeof(resized) / sizeof(resized[0]));
	/* What this proves rests on the changes being felt: without a field that is not optional, nothing loads. */
	assert_int_not_equal(load_changed(&needed, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tracer_load__all),
		cmocka_unit_test(test_tracer_load__is_walked_through_fast),
		cmocka_unit_test(test_tracer_load__cause_that_is_off),
		cmocka_unit_test(test_tracer_load__advice_of_every_row),
		cmocka_unit_test(test_tracer_load__maps_are_emptied),
		cmocka_unit_test(test_tracer_load__refused_program_costs_its_row),
		cmocka_unit_test(test_tracer_load__refused_core_is_fatal),
		cmocka_unit_test(test_tracer_load__optional_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
