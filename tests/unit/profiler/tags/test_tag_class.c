/* Tests of tag_class.h: which class a name gets, and the limit on classes. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/tags/tag_class.h"

/* "\xHH" becomes that byte, and "\"\"" nothing. */
static void unescape(char *text)
{
	char *out = text;
	unsigned byte;

	if (!strcmp(text, "\"\""))
		*text = '\0';
	while (*text) {
		if (sscanf(text, "\\x%2x", &byte) == 1) {
			*out++ = (char)byte;
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

static struct tag_classes *classes_with_rules(void)
{
	struct tag_classes *classes = tag_classes_new(64);

	assert_non_null(classes);
	assert_int_equal(tag_classes_add_rule(classes, "checkpoint_*", "checkpoint"), 0);
	assert_int_equal(tag_classes_add_rule(classes, "dataloader/worker", "loader"), 0);
	assert_int_equal(tag_classes_add_rule(classes, "eval/?*", "evaluation"), 0);
	assert_int_equal(tag_classes_add_rule(classes, "step/*/forward", NULL), 0);
	assert_int_equal(tag_classes_add_rule(classes, "step/", "gradient"), 0);
	assert_int_equal(tag_classes_add_rule(classes, "\\[x]", "brackets"), 0);
	return classes;
}

static void test_tag_class__table(void **state)
{
	struct tag_classes *classes = classes_with_rules();
	FILE *file = fopen("tests/unit/data/tag_class.txt", "re");
	char line[512];
	size_t rows = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *class = strchr(line, '\t');
		const char *got;

		if (*line == '#')
			continue;
		assert_non_null(class);
		*class ++ = '\0';
		class[strcspn(class, "\n")] = '\0';
		unescape(line);
		unescape(class);
		got = tag_classes_of(classes, line);
		if (strcmp(got, class))
			fail_msg("'%s': '%s', not '%s'", line, got, class);
		rows++;
	}
	fclose(file);
	assert_true(rows >= 20);
	assert_int_equal(tag_classes_take_refused(classes), 0);
	tag_classes_free(classes);
}

static void test_tag_class__cap(void **state)
{
	struct tag_classes *classes = tag_classes_new(3);
	const char *first = tag_classes_of(classes, "c0/x");

	(void)state;
	for (int i = 0; i < 10; i++) {
		char name[16], class[16];

		snprintf(name, sizeof(name), "c%d/y", i);
		snprintf(class, sizeof(class), "c%d", i);
		assert_string_equal(tag_classes_of(classes, name), i < 3 ? class : TAG_CLASS_OTHER);
	}
	assert_string_equal(tag_classes_of(classes, "c9/again"), TAG_CLASS_OTHER);
	assert_int_equal(tag_classes_take_refused(classes), 7);
	assert_int_equal(tag_classes_take_refused(classes), 0);
	assert_string_equal(tag_classes_of(classes, "other"), "other");
	assert_int_equal(tag_classes_take_refused(classes), 0);
	assert_string_equal(tag_classes_of(classes, "c9/again"), TAG_CLASS_OTHER);
	assert_int_equal(tag_classes_take_refused(classes), 1);
	assert_ptr_equal(tag_classes_of(classes, "c0"), first);
	tag_classes_free(classes);
}

static void test_tag_class__refused_are_bounded(void **state)
{
	struct tag_classes *classes = tag_classes_new(1);

	(void)state;
	for (int i = 0; i <= 2 * TAG_CLASS_REFUSED_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "c%d", i);
		tag_classes_of(classes, name);
	}
	assert_int_equal(tag_classes_take_refused(classes), TAG_CLASS_REFUSED_MAX);
	tag_classes_free(classes);
}

static void test_tag_class__length(void **state)
{
	struct tag_classes *classes = tag_classes_new(4);
	char name[300];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(strlen(tag_classes_of(classes, name)), TAG_CLASS_BYTES_MAX);
	/* A character of three bytes across the border is left out whole. */
	memcpy(name + TAG_CLASS_BYTES_MAX - 1, "\xe2\x82\xac", 3);
	assert_int_equal(strlen(tag_classes_of(classes, name)), TAG_CLASS_BYTES_MAX - 1);
	tag_classes_free(classes);
}

static void test_tag_class__limits(void **state)
{
	struct tag_classes *classes;

	(void)state;
	assert_null(tag_classes_new(0));
	classes = tag_classes_new(1);
	assert_int_equal(tag_classes_add_rule(classes, "", "x"), -EINVAL);
	for (int i = 0; i < TAG_CLASS_RULES_MAX; i++)
		assert_int_equal(tag_classes_add_rule(classes, "p", "x"), 0);
	assert_int_equal(tag_classes_add_rule(classes, "p", "x"), -ENOSPC);
	tag_classes_free(classes);
	tag_classes_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tag_class__table),
		cmocka_unit_test(test_tag_class__cap),
		cmocka_unit_test(test_tag_class__refused_are_bounded),
		cmocka_unit_test(test_tag_class__length),
		cmocka_unit_test(test_tag_class__limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
