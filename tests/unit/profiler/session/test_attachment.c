/* Tests of attachment.h: when the hot programs are attached and detached. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "profiler/session/attachment.h"
#include "tests/unit/fake_tracer.h"

#define TICK_NS 100000000ULL

static struct fake_tracer fake;

/* What the watch and the families are made to say, and what was said. */
static struct {
	bool held, changed;
	int new_children;
	unsigned int lines;
} host;

static void set_error(int error)
{
	fake.attach_error = fake.walk_error = error;
}

static bool take_held(struct tag_watch *watch)
{
	bool held = host.held;

	(void)watch;
	host.held = false;
	return held;
}

static bool take_changed(struct tag_watch *watch)
{
	bool changed = host.changed;

	(void)watch;
	host.changed = false;
	return changed;
}

static bool needs_attach(const struct tag_watch *watch)
{
	(void)watch;
	return false;
}

static int look(struct families *families)
{
	(void)families;
	return host.new_children ? host.new_children-- : 0;
}

static const struct attachment_finder finder = {
	.take_held = take_held, .take_changed = take_changed, .needs_attach = needs_attach, .look = look
};

static void say(const char *line)
{
	assert_string_not_equal(line, "");
	host.lines++;
}

static uint64_t hold(struct attachment *a, uint64_t now_ns, unsigned int ticks)
{
	for (; ticks; ticks--, now_ns += TICK_NS)
		attachment_hold(a, now_ns);
	return now_ns;
}

static int reset(void **state)
{
	(void)state;
	memset(&host, 0, sizeof(host));
	fake_tracer_init(&fake);
	return 0;
}

/* It is said once, tried each second, and said again only after it went well in between. */
static void test_attachment__refused(void **state)
{
	struct attachment a = { .tracer = &fake.tracer, .finder = &finder, .say = say };
	uint64_t now;

	(void)state;
	fake.tagged = 1;
	set_error(-ENOSPC);
	now = hold(&a, 100 * TICK_NS, 50);
	assert_int_equal(host.lines, 1);
	assert_in_range(fake.attaches, 5, 6);
	set_error(0);
	now = hold(&a, now, 11);
	assert_true(fake.is_attached);
	assert_int_equal(a.count, 1);
	host.changed = true;
	set_error(-ENOMEM);
	now = hold(&a, now, 20);
	assert_int_equal(host.lines, 2);
	set_error(0);
	fake.adopts = 0;
	hold(&a, now, 50);
	assert_int_equal(fake.adopts, 1); /* who was not adopted then, is now, and once */
}

/* A tag that was gone before anybody looked, and one that may have been held before. */
static void test_attachment__moments(void **state)
{
	struct attachment a = { .tracer = &fake.tracer, .finder = &finder, .say = say };
	uint64_t now = hold(&a, 200 * TICK_NS, 10);

	(void)state;
	assert_int_equal(fake.attaches, 0);
	fake.tagged_ns = now;
	now = hold(&a, now, 1);
	assert_true(fake.is_attached);
	now = hold(&a, now, 99);
	assert_true(fake.is_attached);
	now = hold(&a, now, 5);
	assert_false(fake.is_attached);
	assert_true(fake.rests > 0);
	host.held = true;
	hold(&a, now, 2);
	assert_true(fake.is_attached);
	assert_int_equal(a.count, 2);
}

/* From the tag, or the look that found one, to the walk; also where attaching is refused at first. What is attached before the window begins is
 * not late. */
static void test_attachment__late(void **state)
{
	struct attachment a = { .tracer = &fake.tracer, .finder = &finder, .say = say };
	uint64_t now = hold(&a, 200 * TICK_NS, 1);
	char err[64];

	(void)state;
	fake.tagged_ns = now - 7000;
	fake.walked_ns = now + 11000;
	now = hold(&a, now, 1);
	assert_int_equal(a.late_ns, 18000);
	host.changed = true; /* more to adopt, but attached already */
	fake.walked_ns = now + 30000;
	now = hold(&a, now, 103);
	assert_int_equal(a.late_ns, 18000);
	assert_false(fake.is_attached);
	host.held = true; /* since when is not known */
	set_error(-ENOMEM);
	fake.walked_ns = now + 12 * TICK_NS;
	now = hold(&a, now, 5);
	assert_int_equal(a.late_ns, 18000);
	set_error(0);
	now = hold(&a, now, 10);
	assert_true(fake.is_attached);
	assert_int_equal(a.late_ns, 18000 + 12 * TICK_NS);

	a = (struct attachment){ .tracer = &fake.tracer, .finder = &finder, .say = say };
	fake.is_attached = false;
	host.held = true;
	assert_true(attachment_wanted(&a, now));
	assert_int_equal(attachment_begin(&a, err, sizeof(err)), 0);
	hold(&a, now, 5);
	assert_int_equal(a.late_ns, 0);
}

static void test_attachment__children(void **state)
{
	struct attachment a = { .tracer = &fake.tracer, .finder = &finder, .say = say, .always = true };
	char err[64];

	(void)state;
	host.new_children = 3;
	assert_true(attachment_wanted(&a, 1));
	assert_int_equal(attachment_begin(&a, err, sizeof(err)), 0);
	assert_int_equal(fake.attaches, 1);
	assert_int_equal(fake.adopts, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_attachment__refused, reset),
		cmocka_unit_test_setup(test_attachment__moments, reset),
		cmocka_unit_test_setup(test_attachment__late, reset),
		cmocka_unit_test_setup(test_attachment__children, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
