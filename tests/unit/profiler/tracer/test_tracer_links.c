/*
 * Tests of tracer_links.h: which programs are attached when, and what is said of the others. Uses the programs
 * without loading them, and a fake that records what it is to attach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/stallprof.skel.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/format/stamp.h"
#include "profiler/tracer/tracer_links.h"

#define HZ       99
#define CPUS_MAX 4096

static struct probe_host *host;
static struct stallprof_bpf *bpf;

/* What is attached, by row of the probe table, and by CPU: a link is the address of its count here. */
static unsigned int attached[PROBE_ROWS_MAX], clocks[CPUS_MAX];
static const char *refused; /* the program that cannot be attached */
static int error;           /* why */
static int offline_cpu;     /* -1: none */

static struct bpf_link *attach(const struct bpf_program *program)
{
	size_t i;

	for (i = 0; i < probe_table_len && strcmp(probe_table[i].program, bpf_program__name(program)); i++)
		;
	assert_true(i < probe_table_len);
	if (refused && !strcmp(refused, bpf_program__name(program))) {
		errno = error;
		return NULL;
	}
	attached[i]++;
	return (struct bpf_link *)&attached[i];
}

static struct bpf_link *attach_clock(const struct bpf_program *program, int cpu, unsigned int hz)
{
	assert_string_equal(bpf_program__name(program), "on_cpu_sample");
	assert_int_equal(hz, HZ);
	assert_in_range(cpu, 0, CPUS_MAX - 1);
	if (cpu == offline_cpu || (refused && !strcmp(refused, "on_cpu_sample"))) {
		errno = cpu == offline_cpu ? ENODEV : error;
		return NULL;
	}
	clocks[cpu]++;
	return (struct bpf_link *)&clocks[cpu];
}

static int detach(struct bpf_link *link)
{
	if (link)
		--*(unsigned int *)link;
	return 0;
}

static const struct tracer_linker linker = { .attach = attach,
	                                     .attach_clock = attach_clock,
	                                     .detach = detach };

static int begin(void **state)
{
	*state = NULL;
	memset(attached, 0, sizeof(attached));
	memset(clocks, 0, sizeof(clocks));
	refused = NULL;
	offline_cpu = -1;
	assert_in_range(probe_table_len, 1, PROBE_ROWS_MAX);
	host = probe_host_new(false);
	bpf = stallprof_bpf__open();
	return host && bpf ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	stallprof_bpf__destroy(bpf);
	probe_host_free(host);
	return 0;
}

static struct tracer_links *new_links(unsigned int hz)
{
	struct tracer_links *links = tracer_links_new(bpf->obj, host, hz, false, &linker);

	assert_non_null(links);
	return links;
}

static size_t row_of(const char *program)
{
	size_t i = 0;

	while (strcmp(probe_table[i].program, program))
		i++;
	return i;
}

static bool has_hook(const struct probe *probe)
{
	return probe_is_hook(probe->kind) && !probe_missing(host, probe);
}

/* Each row that has a hook of its own here, once, if it is of the kind. */
static void assert_attached(bool cold, bool hot)
{
	for (size_t i = 0; i < probe_table_len; i++)
		assert_int_equal(attached[i], has_hook(&probe_table[i]) && (probe_table[i].hot ? hot : cold));
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		assert_int_equal(clocks[cpu], hot && cpu != offline_cpu);
}

static void test_tracer_links__two_groups(void **state)
{
	struct tracer_links *links = new_links(HZ);
	char err[256] = "";

	(void)state;
	offline_cpu = libbpf_num_possible_cpus() - 1;
	assert_int_equal(tracer_links_attach(links, false, err, sizeof(err)), 0);
	assert_attached(true, false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tracer_links_attach(links, true, err, sizeof(err)), 0);
		assert_attached(true, true);
		assert_int_equal(tracer_links_attach(links, false, err, sizeof(err)), 0); /* each once */
		assert_attached(true, true);
		tracer_links_detach(links);
		assert_attached(true, false);
	}
	tracer_links_free(links);
	assert_attached(false, false);
}

static enum hook_state state_of(const struct tracer_links *links, size_t row, const char **reason)
{
	struct stamp *stamp = stamp_new();
	enum hook_state found = HOOK_ATTACHED;
	char name[160];

	snprintf(name, sizeof(name), "%s%s", probe_kind_prefix(probe_table[row].kind), probe_table[row].hook);
	assert_int_equal(tracer_links_describe(links, stamp), 0);
	for (size_t i = 0; i < stamp_hook_count(stamp); i++)
		if (!strcmp(stamp_hook_at(stamp, i).hook, name))
			found = stamp_hook_at(stamp, i).state;
	stamp_free(stamp);
	*reason = tracer_links_missing(links, row);
	return found;
}

static void assert_state(const struct tracer_links *links, const char *program, enum hook_state want,
                         const char *why)
{
	const char *reason;

	assert_int_equal(state_of(links, row_of(program), &reason), want);
	if (why)
		assert_string_equal(reason, why);
	else
		assert_null(reason);
}

static void test_tracer_links__what_is_said(void **state)
{
	struct tracer_links *links = new_links(0);
	char err[256] = "";

	(void)state;
	tracer_links_attach(links, false, err, sizeof(err));
	assert_state(links, "on_fork", HOOK_ATTACHED, NULL);
	assert_state(links, "on_sched_switch", HOOK_UNUSED, "nothing was tagged");
	assert_state(links, "on_cpu_sample", HOOK_UNUSED, "nothing was tagged");
	assert_int_equal(tracer_links_attach(links, true, err, sizeof(err)), 0);
	assert_state(links, "on_sched_switch", HOOK_ATTACHED, NULL);
	assert_state(links, "on_cpu_sample", HOOK_UNUSED, "switched off"); /* at no Hz */
	tracer_links_detach(links);
	assert_state(links, "on_sched_switch", HOOK_ATTACHED, NULL); /* it was, while something was tagged */
	tracer_links_free(links);
}

/* One that fails costs its cause; it is tried again the next time. */
static void test_tracer_links__a_row_that_fails(void **state)
{
	struct tracer_links *links = new_links(HZ);
	char err[256] = "";

	(void)state;
	refused = "on_rq_complete";
	error = EINVAL;
	assert_int_equal(tracer_links_attach(links, true, err, sizeof(err)), 0);
	assert_state(links, "on_rq_complete", HOOK_MISSING, strerror(EINVAL));
	assert_state(links, "on_sched_switch", HOOK_ATTACHED, NULL);
	refused = NULL;
	assert_int_equal(tracer_links_attach(links, true, err, sizeof(err)), 0);
	assert_state(links, "on_rq_complete", HOOK_ATTACHED, NULL);
	tracer_links_free(links);
}

static void test_tracer_links__clocks_that_fail(void **state)
{
	struct tracer_links *links = new_links(HZ);
	char err[256] = "";

	(void)state;
	refused = "on_cpu_sample";
	error = EACCES;
	assert_int_equal(tracer_links_attach(links, true, err, sizeof(err)), 0);
	assert_state(links, "on_cpu_sample", HOOK_MISSING,
	             "not allowed: CAP_SYS_ADMIN, or sysctl kernel.perf_event_paranoid of 2 at most");
	tracer_links_free(links);
}

/* A CPU that has come (back) online has one clock, a new one, while clocks are attached. */
static void test_tracer_links__cpus_go_and_come(void **state)
{
	struct tracer_links *links = new_links(HZ);
	char err[256] = "";

	(void)state;
	tracer_links_attach(links, false, err, sizeof(err));
	tracer_links_cpu(links, 0, true); /* no clocks are attached */
	assert_attached(true, false);
	assert_int_equal(tracer_links_attach(links, true, err, sizeof(err)), 0);
	for (int i = 0; i < 2; i++) {
		offline_cpu = 0;
		tracer_links_cpu(links, 0, false);
		assert_attached(true, true);
		offline_cpu = -1;
		tracer_links_cpu(links, 0, true);
		assert_attached(true, true);
	}
	tracer_links_cpu(links, 0, true); /* it was away and nobody saw it */
	assert_attached(true, true);
	tracer_links_cpu(links, CPUS_MAX, true);
	offline_cpu = 0;
	tracer_links_cpu(links, 0, true); /* it has gone again meanwhile */
	assert_attached(true, true);
	assert_state(links, "on_cpu_sample", HOOK_ATTACHED, NULL);
	offline_cpu = -1;
	refused = "on_cpu_sample";
	error = EMFILE;
	tracer_links_cpu(links, 0, true);
	assert_state(links, "on_cpu_sample", HOOK_MISSING, strerror(EMFILE));
	tracer_links_detach(links);
	refused = NULL;
	tracer_links_cpu(links, 0, true);
	assert_attached(true, false);
	tracer_links_free(links);
}

/* Without the scheduler's hooks there is no ledger: that is an error, and nothing hot stays behind. */
static void test_tracer_links__the_core_fails(void **state)
{
	struct tracer_links *links = new_links(HZ);
	char err[256] = "";

	(void)state;
	tracer_links_attach(links, false, err, sizeof(err));
	refused = "on_sched_waking";
	error = EBUSY;
	assert_int_equal(tracer_links_attach(links, true, err, sizeof(err)), -EBUSY);
	assert_non_null(strstr(err, "sched_waking"));
	assert_attached(true, false);
	tracer_links_free(links);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_tracer_links__##name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(two_groups),       TEST(what_is_said),     TEST(a_row_that_fails),
		TEST(clocks_that_fail), TEST(cpus_go_and_come), TEST(the_core_fails),
	};

	return cmocka_run_group_tests_name("tracer_links", tests, NULL, NULL);
}
