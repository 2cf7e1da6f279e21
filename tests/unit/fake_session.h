/* A session over a tracer that needs no kernel (fake_tracer.h): it gets only what the test sends. */
#ifndef STALLPROF_TESTS_FAKE_SESSION_H
#define STALLPROF_TESTS_FAKE_SESSION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/clock.h"
#include "profiler/config/config.h"
#include "profiler/session/session_state.h"
#include "profiler/tags/tag_watch.h"
#include "tests/unit/fake_tracer.h"

#define FAKE_SECOND_NS 1000000000ULL

static struct fake_tracer fake;
static struct config *fake_config;
static const char *fake_cpu_folder; /* set before fake_session_begin(); NULL: this host's */

static struct tracer *fake_open(const struct tracer_opts *opts, tracer_event_fn on_event,
                                tracer_python_fn on_python, void *ctx, char *err, size_t err_len)
{
	(void)err;
	(void)err_len;
	fake_tracer_init(&fake);
	for (int waits = 0; waits < ABI_WAITS_MAX; waits++)
		fake.threshold_ns[waits] = opts->threshold_ns;
	fake.tracer.on_event = on_event;
	fake.tracer.on_python = on_python;
	fake.tracer.ctx = ctx;
	return &fake.tracer;
}

static void fake_say(const char *line)
{
	print_message("# %s\n", line);
}

/* It has looked at all running processes, so it is idle. */
static inline struct session *fake_session_begin(void)
{
	const struct session_opts opts = { .only_adopted = true,
		                           .open_tracer = fake_open,
		                           .cpu_folder = fake_cpu_folder };
	struct session *session;
	char err[2048] = "";

	fake_config = config_default();
	free(fake_config->symbolizer.cache_dir);
	fake_config->symbolizer.cache_dir = strdup(CONFIG_NO_CACHE);
	session = session_new(fake_config, &opts, fake_say, err, sizeof(err));
	if (!session || session_start(session, err, sizeof(err)))
		fail_msg("%s", err);
	while (tag_watch_behind(session->watch))
		tag_watch_poll(session->watch, monotonic_ns());
	return session;
}

/* session_timeout_ms() of one that is done with its looks at processes, which may take some ticks. */
static inline int fake_session_timeout(struct session *session)
{
	int ms;

	while (!(ms = session_timeout_ms(session)))
		assert_int_equal(session_tick(session), 0);
	return ms;
}

static inline void fake_session_end(struct session *session)
{
	session_free(session);
	assert_true(fake.is_freed);
	config_free(fake_config);
}

#endif
