/* Tests of symbolizer.h when one process has filled a table of strings: the others have names, paths and stacks. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/symbolizer_state.h"
#include "tests/unit/need_root.h"

#define LONG  16000
#define MANY  30000 /* of that length fill any table */
#define OTHER 1     /* a pid */

static struct symbolizer *s;

static int make_symbolizer(void **state)
{
	(void)state;
	s = symbolizer_new(NULL);
	return s ? 0 : -1;
}

static int free_symbolizer(void **state)
{
	(void)state;
	symbolizer_free(s);
	return 0;
}

static const char *long_text(int i)
{
	static char text[LONG + 1];

	if (!i)
		memset(text, 'x', LONG);
	snprintf(text, 16, "/%d", i);
	text[strlen(text)] = 'x';
	return text;
}

static void fill_names(void)
{
	int i;

	for (i = 0; i < MANY && strcmp(intern_string(s->strings, long_text(i)), INTERN_FULL) != 0; i++)
		;
	assert_in_range(i, 1000, MANY - 1);
}

/* As a process does that has many files mapped, one after the other. */
static void fill_paths(void)
{
	struct sym_process *p = symbolizer_process(s, OTHER, 1);
	struct symbolizer_stats st = { 0 };
	int i;

	symbolizer_process_exit(p);
	for (i = 0; i < MANY && !st.names_refused; i++) {
		assert_int_equal(symbolizer_process_map(p, 4096, 8192, 0, 0, 0, 1, long_text(i)), 0);
		symbolizer_stats(s, &st);
	}
	assert_in_range(i, 1000, MANY - 1);
}

static struct sym_result look_up(void)
{
	struct sym_process *self = symbolizer_process(s, (uint32_t)getpid(), 1);
	struct sym_result r;

	assert_int_equal(symbolizer_process_refresh(self), 0);
	assert_int_equal(symbolizer_user(self, (uintptr_t)fill_paths, false, &r), 0);
	return r;
}

static void test_symbolizer_full__names(void **state)
{
	struct sym_result r;

	(void)state;
	fill_names();
	r = look_up();
	assert_string_equal(r.frames[0].function, INTERN_FULL);
	assert_non_null(strstr(r.module->path, "/test_symbolizer_full"));
	assert_string_not_equal(r.module->build_id, INTERN_FULL);
	assert_true(r.module->has_functions);
}

/* The file itself is opened, though nobody can say any more what it is called. */
static void test_symbolizer_full__paths(void **state)
{
	struct sym_result r;

	(void)state;
	need_user_root("opens files of /proc/PID/map_files");
	fill_paths();
	r = look_up();
	assert_string_equal(r.module->path, INTERN_FULL);
	assert_string_equal(r.frames[0].function, "fill_paths");
}

#define WITH_SYMBOLIZER(test) cmocka_unit_test_setup_teardown(test, make_symbolizer, free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SYMBOLIZER(test_symbolizer_full__names),
		WITH_SYMBOLIZER(test_symbolizer_full__paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
