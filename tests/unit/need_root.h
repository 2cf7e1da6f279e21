/* For tests that load BPF programs: skipped where that is not allowed. */
#ifndef STALLPROF_TESTS_NEED_ROOT_H
#define STALLPROF_TESTS_NEED_ROOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/privileges.h"

static inline void need_root(enum privilege wanted)
{
	struct privileges privileges;
	char line[512];

	privileges_read(&privileges);
	if (privileges_have(&privileges, wanted))
		return;
	privileges_lack(&privileges, wanted, line, sizeof(line));
	print_message("# SKIP allowed: %s\n", line);
	skip();
}

#endif
