/* Skips a test of what only root may do where that is not allowed, and says why. */
#ifndef STALLPROF_TESTS_NEED_ROOT_H
#define STALLPROF_TESTS_NEED_ROOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "profiler/tracer/privileges.h"

/* cmocka prints no reason: tests/run takes it from the line before cmocka's. */
static inline void skip_for(const char *reason)
{
	print_message("# SKIP allowed: %s\n", reason);
	skip();
}

/* `reason`: what the test does that only root may, for example "gives a file away". */
static inline void need_user_root(const char *reason)
{
	if (geteuid())
		skip_for(reason);
}

static inline void need_root(enum privilege wanted)
{
	struct privileges privileges;
	char line[512];

	privileges_read(&privileges);
	if (privileges_have(&privileges, wanted))
		return;
	privileges_lack(&privileges, wanted, line, sizeof(line));
	skip_for(line);
}

#endif
