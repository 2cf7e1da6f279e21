/*
 * Makes the tables that a window needs, and a tracer that accepts everything (fake_tracer.h), for tests without a
 * kernel.
 */
#ifndef STALLPROF_TESTS_WINDOW_TABLES_H
#define STALLPROF_TESTS_WINDOW_TABLES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/session/device_names.h"
#include "profiler/process/process_table.h"
#include "profiler/session/stack_resolve.h"
#include "profiler/tags/tag_class.h"
#include "profiler/tags/tag_names.h"
#include "profiler/session/window.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/fake_tracer.h"

struct window_tables {
	struct fake_tracer fake;
	struct symbolizer *symbolizer;
	struct window_deps deps;
};

static inline void window_tables_close(struct window_tables *tables)
{
	stack_resolver_free(tables->deps.resolver);
	process_table_free(tables->deps.processes);
	symbolizer_free(tables->symbolizer);
	tag_names_free(tables->deps.tags);
	tag_classes_free(tables->deps.classes);
	device_names_free(tables->deps.devices);
}

/* Returns 0 or -ENOMEM; close it in either case. */
static inline int window_tables_open(struct window_tables *tables)
{
	struct window_deps *deps = &tables->deps;

	fake_tracer_init(&tables->fake);
	tables->symbolizer = symbolizer_new(NULL);
	*deps = (struct window_deps){ .tracer = &tables->fake.tracer,
		                      .tags = tag_names_new(),
		                      .classes = tag_classes_new(8),
		                      .devices = device_names_new(NULL, NULL),
		                      .max_bytes = 64 << 20 };
	if (tables->symbolizer)
		deps->processes = process_table_new(tables->symbolizer, NULL);
	if (deps->processes)
		deps->resolver = stack_resolver_new(tables->symbolizer, deps->processes, NULL);
	return deps->resolver && deps->tags && deps->classes && deps->devices ? 0 : -ENOMEM;
}

#endif
