/* Tests of loaded_overlaps.h: windows that follow each other, lie beside each other, and are there twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/format/host_note.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_overlaps.h"

#define SECOND 1000000000ULL
#define T0     (1700000000 * SECOND)
#define BOOTED (T0 - 1000 * SECOND)

static struct loaded_windows windows;
static struct loaded_overlaps overlaps;

/* Thirty seconds from second `from` on. */
static int add(uint64_t from, uint64_t booted_ns, const char *host)
{
	const struct profile_value_type type = { "delay", "nanoseconds" };
	struct profile *profile = profile_new(&type, 1, type, 1, 1 << 20);
	struct stamp *stamp = stamp_new();
	int result;

	assert_int_equal(stamp_add_window(stamp, T0 + from * SECOND, T0 + (from + 30) * SECOND), 0);
	stamp_set_booted(stamp, booted_ns);
	assert_int_equal(stamp_to_notes(stamp, profile), 0);
	if (host)
		assert_int_equal(host_note_add(profile, host), 0);
	result = loaded_windows_add(&windows, profile, &overlaps);
	stamp_free(stamp);
	profile_free(profile);
	return result;
}

static void expect(size_t twice, size_t hosts, size_t clock)
{
	assert_int_equal(overlaps.twice, twice);
	assert_int_equal(overlaps.hosts, hosts);
	assert_int_equal(overlaps.clock, clock);
	loaded_windows_free(&windows);
	overlaps = (struct loaded_overlaps){ .twice = 0 };
}

/* One after the other, of one host and of two, and side by side as ranks are. */
static void test_loaded_overlaps__as_they_should_be(void **state)
{
	(void)state;
	assert_int_equal(add(0, BOOTED, "n1"), 0);
	assert_int_equal(add(30, BOOTED, "n1"), 0);
	assert_int_equal(add(60, BOOTED - 500 * SECOND, "n2"), 0);
	assert_int_equal(add(91, BOOTED + 10 * SECOND, "n1"), 0);
	assert_int_equal(add(100, BOOTED + 10 * SECOND, "n1"), 0);
	/* Older ones say neither. */
	assert_int_equal(add(10, 0, NULL), 0);
	expect(0, 0, 0);
}

static void test_loaded_overlaps__twice(void **state)
{
	(void)state;
	assert_int_equal(add(0, BOOTED, "n1"), 0);
	assert_int_equal(add(30, BOOTED, "n1"), 0);
	assert_int_equal(add(0, BOOTED, "n1"), 1);
	assert_int_equal(windows.n, 2);
	assert_int_equal(add(0, BOOTED, "n2"), 0);
	expect(1, 1, 0);
}

static void test_loaded_overlaps__clock_and_hosts(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(add(0, BOOTED, "n1"), 0);
	assert_int_equal(add(20, BOOTED - 10 * SECOND, "n1"), 0);
	assert_int_equal(add(45, BOOTED - 10 * SECOND, "n2"), 0);
	loaded_overlaps_text(out, &overlaps, "", "\n");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(
	        text, "At the same time 1 window is of several hosts (n1, n2): what they lost is summed, and "
	              "devices of one name are told as one.\n"
	              "1 window overlaps another one of the same time, but not by the clock since boot: it "
	              "was set by up to 10.0 s, or they are of another host. What happened at two moments is "
	              "told as of one.\n");
	free(text);
	assert_int_equal(overlaps.clock_ns, 10 * SECOND);
	expect(0, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_overlaps__as_they_should_be),
		cmocka_unit_test(test_loaded_overlaps__twice),
		cmocka_unit_test(test_loaded_overlaps__clock_and_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
