/* Tests of tracer.h with the BPF programs, from loading to freeing; only what the test tags is tagged. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "profiler/format/stamp.h"
#include "profiler/tracer/tracer_state.h"
#include "tests/unit/need_root.h"

static unsigned int n_rows;

static void on_event(void *ctx, const struct abi_event *event)
{
	(void)ctx;
	(void)event;
}

static void on_python(void *ctx, const struct abi_python_ask *ask)
{
	(void)ctx;
	(void)ask;
}

static int on_row(void *ctx, const struct abi_ledger_key *key, const struct abi_ledger_value *value)
{
	(void)ctx;
	(void)value;
	/* Those are of whoever uses a disk or a CPU. */
	n_rows += key->state != ABI_REQUESTS && key->state != ABI_CPU_USER;
	return 0;
}

/* Of no process but those that are adopted, of which there are none. */
static void test_tracer__from_begin_to_end(void **state)
{
	const struct tracer_opts opts = { .only_adopted = true, .threshold_ns = 5000000, .cpu_hz = 99 };
	struct tracer *tracer;
	struct stamp *stamp = stamp_new();
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	tracer = tracer_new(&opts, on_event, on_python, NULL, err, sizeof(err));
	if (!tracer)
		fail_msg("%s", err);
	assert_false(tracer_attached(tracer));
	assert_true(tracer_fd(tracer) >= 0 && tracer_python_fd(tracer) >= 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tracer_attach(tracer, err, sizeof(err)), 0);
		assert_true(tracer_attached(tracer));
		assert_int_equal(tracer_iterate(tracer, ABI_ITER_FLUSH), 0);
		assert_int_equal(tracer_poll(tracer, true, monotonic_ns() + 1000000000), 0);
		assert_int_equal(tracer_take_ledger(tracer, (uint64_t)i + 2, on_row, NULL), 0);
		tracer_detach(tracer);
		assert_false(tracer_attached(tracer));
		tracer_rest(tracer);
	}
	assert_int_equal(n_rows, 0);
	assert_int_equal(tracer_tagged(tracer), 0);
	assert_int_equal(tracer_describe(tracer, stamp), 0);
	assert_true(stamp_hook_count(stamp) > 10);
	assert_int_equal(tracer_threshold(tracer), 5000000);
	tracer_set_threshold(tracer, 7000000);
	assert_int_equal(tracer_threshold(tracer), 7000000);
	tracer_free(tracer);
	tracer_free(NULL);
	stamp_free(stamp);
}

#define FOREIGN 1000

static void on_tag(void *ctx, uint64_t key)
{
	struct tracer *tracer = ctx;

	assert_true(key >= FOREIGN && key < FOREIGN + 100);
	tracer_drop_tag(tracer, key);
}

/* Under such keys as threads have; the tracer's own are not met. */
static void drop_foreign_tags(struct tracer *tracer)
{
	uint64_t own = tracer->next_key, key;
	struct abi_tag tag;

	tracer->next_key = FOREIGN;
	for (int i = 0; i < 100; i++)
		assert_int_equal(tracer_add_tag(tracer, "step", 0, &key), 0);
	tracer->next_key = own;
	tracer_each_tag(tracer, on_tag, tracer);
	for (key = FOREIGN; key < FOREIGN + 100; key++)
		assert_int_not_equal(tracer_find_tag(tracer, key, &tag), 0);
}

static void test_tracer__tags_and_processes(void **state)
{
	const struct tracer_opts opts = { .only_adopted = true };
	const struct abi_process_key key = { .tgid = (uint32_t)getpid(), .start_ticks = 1 };
	struct abi_process process = { 0 };
	struct tracer *tracer;
	uint64_t first, second;
	struct abi_tag tag;
	char err[2048] = "";

	(void)state;
	need_root(PRIVILEGE_LOAD);
	tracer = tracer_new(&opts, on_event, on_python, NULL, err, sizeof(err));
	if (!tracer)
		fail_msg("%s", err);
	assert_int_equal(tracer_add_tag(tracer, "step", 5, &first), 0);
	assert_int_equal(tracer_add_tag(tracer, "write", 6, &second), 0);
	assert_true(first != second);
	assert_int_equal(tracer_find_tag(tracer, first, &tag), 0);
	assert_string_equal(tag.name, "step");
	assert_int_equal(tag.id, 5);
	assert_int_equal(tag.source, ABI_TAG_PROCESS);
	drop_foreign_tags(tracer);
	assert_int_equal(tracer_find_tag(tracer, first, &tag), 0);
	tracer_drop_tag(tracer, first);
	assert_int_not_equal(tracer_find_tag(tracer, first, &tag), 0);
	assert_int_equal(tracer_find_tag(tracer, second, &tag), 0);
	process.base_tag = second;
	assert_int_equal(tracer_set_process(tracer, &key, &process), 0);
	tracer_forget_process(tracer, &key);
	tracer_free(tracer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tracer__from_begin_to_end),
		cmocka_unit_test(test_tracer__tags_and_processes),
	};

	return cmocka_run_group_tests_name("tracer", tests, NULL, NULL);
}
