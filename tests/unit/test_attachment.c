#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "profiler/attachment.h"
#include "profiler/families.h"
#include "profiler/tag_watch.h"
#include "profiler/tracer.h"

#define TICK_NS 100000000ULL

/* What the tracer and the watch are made to say, and what was asked of them. */
static struct {
	bool attached, held, changed;
	int64_t tagged;
	uint64_t tagged_ns;
	int error, new_children;
	unsigned int attaches, adopts, rests, lines;
} host;

uint64_t tracer_tagged_ns(const struct tracer *tracer)
{
	(void)tracer;
	return host.tagged_ns;
}

int64_t tracer_tagged(const struct tracer *tracer)
{
	(void)tracer;
	return host.tagged;
}

bool tracer_attached(const struct tracer *tracer)
{
	(void)tracer;
	return host.attached;
}

int tracer_attach(struct tracer *tracer, char *err, size_t err_len)
{
	(void)tracer;
	host.attaches++;
	snprintf(err, err_len, "refused");
	host.attached = !host.error;
	return host.error;
}

int tracer_iterate(struct tracer *tracer, uint32_t mode)
{
	(void)tracer;
	assert_int_equal(mode, ABI_ITER_ADOPT);
	host.adopts++;
	return host.error;
}

void tracer_detach(struct tracer *tracer)
{
	(void)tracer;
	host.attached = false;
}

void tracer_rest(struct tracer *tracer)
{
	(void)tracer;
	host.rests++;
}

bool tag_watch_take_held(struct tag_watch *watch)
{
	bool held = host.held;

	(void)watch;
	host.held = false;
	return held;
}

bool tag_watch_take_changed(struct tag_watch *watch)
{
	bool changed = host.changed;

	(void)watch;
	host.changed = false;
	return changed;
}

bool tag_watch_needs_attach(const struct tag_watch *watch)
{
	(void)watch;
	return false;
}

int families_look(struct families *families)
{
	(void)families;
	return host.new_children ? host.new_children-- : 0;
}

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
	return 0;
}

/* It is said once, tried each second, and said again only after it went well in between. */
static void test_attachment__refused(void **state)
{
	struct attachment a = { .say = say };
	uint64_t now;

	(void)state;
	host.tagged = 1;
	host.error = -ENOSPC;
	now = hold(&a, 100 * TICK_NS, 50);
	assert_int_equal(host.lines, 1);
	assert_in_range(host.attaches, 5, 6);
	host.error = 0;
	now = hold(&a, now, 11);
	assert_true(host.attached);
	assert_int_equal(a.count, 1);
	host.changed = true;
	host.error = -ENOMEM;
	now = hold(&a, now, 20);
	assert_int_equal(host.lines, 2);
	host.error = 0;
	host.adopts = 0;
	hold(&a, now, 50);
	assert_int_equal(host.adopts, 1); /* who was not adopted then, is now, and once */
}

/* A tag that was gone before anybody looked, and one that may have been held before. */
static void test_attachment__moments(void **state)
{
	struct attachment a = { .say = say };
	uint64_t now = hold(&a, 200 * TICK_NS, 10);

	(void)state;
	assert_int_equal(host.attaches, 0);
	host.tagged_ns = now;
	now = hold(&a, now, 1);
	assert_true(host.attached);
	now = hold(&a, now, 99);
	assert_true(host.attached);
	now = hold(&a, now, 5);
	assert_false(host.attached);
	assert_true(host.rests > 0);
	host.held = true;
	hold(&a, now, 2);
	assert_true(host.attached);
	assert_int_equal(a.count, 2);
}

static void test_attachment__children(void **state)
{
	struct attachment a = { .say = say, .always = true };
	char err[64];

	(void)state;
	host.new_children = 3;
	assert_true(attachment_wanted(&a, 1));
	assert_int_equal(attachment_begin(&a, err, sizeof(err)), 0);
	assert_int_equal(host.attaches, 1);
	assert_int_equal(host.adopts, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_attachment__refused, reset),
		cmocka_unit_test_setup(test_attachment__moments, reset),
		cmocka_unit_test_setup(test_attachment__children, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
