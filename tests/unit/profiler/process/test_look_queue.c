/* Tests of look_queue.h: the order in which processes are looked at. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "profiler/process/look_queue.h"

static void expect(struct look_queue *queue, uint64_t now_ns, uint32_t pid, uint64_t mapped_ns, bool first)
{
	struct look look;

	assert_true(look_queue_take(queue, now_ns, &look));
	assert_int_equal(look.pid, pid);
	assert_int_equal(look.mapped_ns, mapped_ns);
	assert_int_equal(look.first, first);
}

static void expect_none(struct look_queue *queue, uint64_t now_ns)
{
	struct look look;

	assert_false(look_queue_take(queue, now_ns, &look));
}

/* The longest due first; several questions are one look. */
static void test_look_queue__order(void **state)
{
	struct look_queue *queue = look_queue_new();

	(void)state;
	assert_int_equal(look_queue_next_ns(queue), UINT64_MAX);
	assert_int_equal(look_queue_ask(queue, 1, 300, false), 0);
	assert_int_equal(look_queue_ask(queue, 2, 100, false), 0);
	assert_int_equal(look_queue_ask(queue, 3, 200, false), 0);
	assert_int_equal(look_queue_ask(queue, 1, 50, true), 0);
	assert_int_equal(look_queue_ask(queue, 2, 400, false), 0);
	assert_int_equal(look_queue_next_ns(queue), 50);
	expect_none(queue, 49);
	expect(queue, 1000, 1, 0, true);
	expect(queue, 1000, 2, 0, false);
	expect(queue, 1000, 3, 0, false);
	expect_none(queue, 1000);
	look_queue_free(queue);
}

/* Who gives cause to look without end is looked at for a twentieth of the time. */
static void test_look_queue__rest(void **state)
{
	struct look_queue *queue = look_queue_new();
	uint64_t now, looked = 0;
	struct look look;

	(void)state;
	for (now = 0; now < 1000000; now += 10) {
		look_queue_ask(queue, 7, now, false);
		if (!look_queue_take(queue, now, &look))
			continue;
		look_queue_ask(queue, 7, now, false); /* while it is looked at */
		look_queue_looked(queue, 7, now, now + 100);
		now += 100;
		looked += 100;
	}
	assert_in_range(looked, 1000000 / 22, 1000000 / 20);
	look_queue_free(queue);
}

/* One that executes another program is looked at at once, though the other was looked at just now. */
static void test_look_queue__rouse(void **state)
{
	struct look_queue *queue = look_queue_new();
	struct look out;

	(void)state;
	assert_int_equal(look_queue_ask(queue, 7, 100, false), 0);
	assert_true(look_queue_take(queue, 100, &out));
	look_queue_looked(queue, 7, 100, 200);
	assert_int_equal(look_queue_ask(queue, 7, 210, false), 0);
	assert_false(look_queue_take(queue, 210, &out));
	look_queue_rouse(queue, 7);
	assert_int_equal(look_queue_ask(queue, 7, 220, false), 0);
	assert_true(look_queue_take(queue, 220, &out));
	assert_int_equal(out.pid, 7);
	look_queue_rouse(queue, 8);
	look_queue_free(queue);
}

/* The earliest that is said, also where the look must wait; the next look begins anew. */
static void test_look_queue__mapped(void **state)
{
	struct look_queue *queue = look_queue_new();
	struct look out;

	(void)state;
	look_queue_mapped(queue, 7, 5);
	assert_false(look_queue_waits(queue, 7, &out));
	look_queue_ask(queue, 7, 0, true);
	look_queue_mapped(queue, 7, 0);
	look_queue_mapped(queue, 7, 60);
	look_queue_mapped(queue, 7, 50);
	look_queue_mapped(queue, 7, 70);
	assert_true(look_queue_waits(queue, 7, &out));
	assert_int_equal(out.mapped_ns, 50);
	expect(queue, 100, 7, 50, true);
	look_queue_mapped(queue, 7, 80); /* nobody has asked again */
	look_queue_ask(queue, 7, 100, false);
	look_queue_mapped(queue, 7, 90);
	look_queue_looked(queue, 7, 100, 200);
	expect_none(queue, 200);
	expect(queue, 200 + 100 * LOOK_QUEUE_REST, 7, 90, false);
	look_queue_ask(queue, 7, 5000, false);
	look_queue_mapped(queue, 7, 4000);
	look_queue_executed(queue, 7); /* which the old program had mapped */
	look_queue_executed(queue, 8);
	expect(queue, 5000, 7, 0, false);
	look_queue_free(queue);
}

/* A process that is done with is forgotten after its rest, or when it is gone. */
static void test_look_queue__forget(void **state)
{
	struct look_queue *queue = look_queue_new();

	(void)state;
	look_queue_ask(queue, 1, 0, false);
	look_queue_ask(queue, 2, 0, false);
	look_queue_forget(queue, 1);
	look_queue_forget(queue, 1);
	expect(queue, 0, 2, 0, false);
	look_queue_looked(queue, 2, 0, 5);
	assert_int_equal(look_queue_next_ns(queue), 5 + 5 * LOOK_QUEUE_REST);
	expect_none(queue, 1000);
	assert_int_equal(look_queue_next_ns(queue), UINT64_MAX);
	look_queue_ask(queue, 3, 0, false);
	expect(queue, 0, 3, 0, false);
	look_queue_forget(queue, 3); /* it has gone while it was looked at */
	look_queue_looked(queue, 3, 0, 5);
	assert_int_equal(look_queue_next_ns(queue), UINT64_MAX);
	look_queue_free(queue);
}

/* Against a plain list: whatever is asked, taken and forgotten, the least time comes first. */
static void test_look_queue__random(void **state)
{
	enum { N = 300 };
	struct look_queue *queue = look_queue_new();
	uint64_t due[N + 1];
	struct look look;
	unsigned int seed = 1;

	(void)state;
	for (uint32_t pid = 1; pid <= N; pid++)
		due[pid] = UINT64_MAX;
	for (int i = 0; i < 20000; i++) {
		uint32_t pid = 1 + rand_r(&seed) % N, least = 0;
		uint64_t at = rand_r(&seed) % 100000;

		if (rand_r(&seed) % 4 == 0) {
			look_queue_forget(queue, pid);
			due[pid] = UINT64_MAX;
		} else if (rand_r(&seed) % 3) {
			assert_int_equal(look_queue_ask(queue, pid, at, false), 0);
			due[pid] = at < due[pid] ? at : due[pid];
		} else if (look_queue_take(queue, at, &look)) {
			for (least = 1, pid = 1; pid <= N; pid++)
				least = due[pid] < due[least] ? pid : least;
			assert_true(due[look.pid] == due[least]);
			assert_true(due[look.pid] <= at);
			due[look.pid] = UINT64_MAX;
		} else {
			for (pid = 1; pid <= N; pid++)
				assert_true(due[pid] > at);
		}
	}
	look_queue_free(queue);
}

static void test_look_queue__full(void **state)
{
	struct look_queue *queue = look_queue_new();

	(void)state;
	for (uint32_t pid = 1; pid <= LOOK_QUEUE_MAX; pid++)
		assert_int_equal(look_queue_ask(queue, pid, pid, false), 0);
	assert_int_equal(look_queue_ask(queue, LOOK_QUEUE_MAX + 1, 0, false), -ENOSPC);
	assert_int_equal(look_queue_ask(queue, 5, 0, false), 0);
	expect(queue, 1, 5, 0, false);
	expect(queue, 1, 1, 0, false);
	look_queue_free(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look_queue__order),  cmocka_unit_test(test_look_queue__rest),
		cmocka_unit_test(test_look_queue__rouse),  cmocka_unit_test(test_look_queue__mapped),
		cmocka_unit_test(test_look_queue__forget), cmocka_unit_test(test_look_queue__random),
		cmocka_unit_test(test_look_queue__full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
