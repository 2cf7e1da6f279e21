/* Looks for the interpreter's functions around a wait for a condition variable. */

#include "profiler/session/python_gil.h"

#include <string.h>

#define INNER_MAX 6 /* of the C library, inside pthread_cond_timedwait(), and with it */
#define OUTER_MAX 3 /* of the interpreter, outside of it, that are looked at for their names */

enum python_gil_kind python_gil_kind(const char *function)
{
	static const char *const locks[] = { "take_gil", "drop_gil", "PyEval_RestoreThread",
		                             "PyEval_AcquireThread", "PyGILState_Ensure" };
	const char *condition = function ? strstr(function, "pthread_cond_") : NULL;

	if (condition && strstr(condition, "wait"))
		return PYTHON_GIL_CONDITION;
	for (size_t i = 0; function && i < sizeof(locks) / sizeof(locks[0]); i++)
		if (!strncmp(function, locks[i], strlen(locks[i])))
			return PYTHON_GIL_LOCK;
	return PYTHON_GIL_NOTHING;
}

bool python_gil_file(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;

	return base && (!strncmp(base, "python", 6) || !strncmp(base, "libpython", 9));
}

/* Behind the last frame of the condition variable; 0: there is none. */
static size_t end_of_condition(const struct python_gil_frame *frames, size_t n)
{
	size_t end = 0;

	for (size_t i = 0; i < n && i < INNER_MAX; i++)
		if (frames[i].kind == PYTHON_GIL_CONDITION)
			end = i + 1;
	return end;
}

size_t python_gil_find(const struct python_gil_frame *frames, size_t n)
{
	size_t end = end_of_condition(frames, n);

	if (!end || end == n)
		return 0;
	for (size_t i = end; i < n && i < end + OUTER_MAX; i++)
		if (frames[i].kind == PYTHON_GIL_LOCK)
			return end;
	for (size_t i = end; i < n && frames[end].file; i++) {
		if (frames[i].evaluator && frames[i].file == frames[end].file)
			return end;
		if (frames[i].named)
			return 0; /* some other function's wait */
	}
	return 0;
}
