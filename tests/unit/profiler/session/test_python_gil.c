/* Tests of python_gil.h: which stacks wait for the GIL. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/session/python_gil.h"

/* Innermost first; each begins with "libc:", "python:" or "other:", and an evaluator is "python:EVAL". */
static size_t find(const char *const *stack)
{
	struct python_gil_frame frames[16];
	size_t n = 0;

	for (; stack[n]; n++) {
		const char *name = strchr(stack[n], ':') + 1;

		frames[n] = (struct python_gil_frame){ .kind = (uint8_t)python_gil_kind(name),
			                               .named = name[0] != '[',
			                               .evaluator = !strcmp(name, "EVAL") };
		if (!strncmp(stack[n], "python:", 7))
			frames[n].file = 1;
	}
	return python_gil_find(frames, n);
}

#define FIND(...) find((const char *const[]){ __VA_ARGS__, NULL })

static void test_python_gil__by_the_interpreters_names(void **state)
{
	(void)state;
	assert_int_equal(FIND("libc:__futex_abstimed_wait_common", "libc:pthread_cond_timedwait@@GLIBC_2.3.2",
	                      "python:take_gil", "python:PyEval_RestoreThread", "python:EVAL"),
	                 2);
	assert_int_equal(FIND("libc:pthread_cond_clockwait", "python:take_gil", "python:EVAL"), 1);
	/* A thread of a C library that calls into Python, the interpreter's static functions without names. */
	assert_int_equal(FIND("libc:__pthread_cond_wait_common", "libc:___pthread_cond_timedwait64",
	                      "python:[no symbols]", "python:PyGILState_Ensure", "other:on_event"),
	                 2);
}

static void test_python_gil__by_the_file_of_an_evaluator(void **state)
{
	(void)state;
	assert_int_equal(FIND("libc:[no symbols]", "libc:pthread_cond_timedwait", "python:[no symbols]",
	                      "python:[no symbols]", "python:[no symbols]", "python:[no symbols]",
	                      "python:EVAL"),
	                 2);
	assert_int_equal(FIND("libc:pthread_cond_timedwait", "python:EVAL"), 1);
}

static void test_python_gil__other_locks(void **state)
{
	(void)state;
	/* threading.Lock */
	assert_int_equal(FIND("libc:sem_clockwait", "python:PyThread_acquire_lock_timed", "python:EVAL"), 0);
	/* a library's queue, called by Python; one's own thread */
	assert_int_equal(
	        FIND("libc:pthread_cond_wait", "other:queue_take", "python:[no symbols]", "python:EVAL"), 0);
	assert_int_equal(FIND("libc:pthread_cond_wait", "other:worker", "libc:start_thread"), 0);
	assert_int_equal(FIND("libc:pthread_mutex_lock", "python:take_gil", "python:EVAL"), 0);
	assert_int_equal(FIND("libc:pthread_cond_signal", "python:drop_gil", "python:EVAL"), 0);
	/* a function that is built into the interpreter, by its name; a program that has the interpreter in it, without names */
	assert_int_equal(
	        FIND("libc:pthread_cond_timedwait", "python:wait_for_job", "python:job", "python:EVAL"), 0);
	assert_int_equal(FIND("libc:pthread_cond_timedwait", "other:[no symbols]", "other:EVAL"), 0);
	/* far inside of something else */
	assert_int_equal(FIND("other:a", "other:b", "other:c", "other:d", "other:e", "other:f",
	                      "libc:pthread_cond_wait", "python:take_gil", "python:EVAL"),
	                 0);
	assert_int_equal(FIND("libc:pthread_cond_wait"), 0);
	assert_int_equal(find((const char *const[]){ NULL }), 0);
}

static void test_python_gil__files(void **state)
{
	(void)state;
	assert_true(python_gil_file("/usr/bin/python3.11"));
	assert_true(python_gil_file("/opt/conda/lib/libpython3.12.so.1.0"));
	assert_true(python_gil_file("python3"));
	assert_false(python_gil_file("/usr/bin/blender"));
	assert_false(python_gil_file("/home/python/embed"));
	assert_false(python_gil_file(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_gil__by_the_interpreters_names),
		cmocka_unit_test(test_python_gil__by_the_file_of_an_evaluator),
		cmocka_unit_test(test_python_gil__other_locks),
		cmocka_unit_test(test_python_gil__files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
