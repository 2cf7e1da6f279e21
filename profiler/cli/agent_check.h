/* What `stallprof agent --check-config` finds beyond the configuration itself. */
#ifndef STALLPROF_PROFILER_AGENT_CHECK_H
#define STALLPROF_PROFILER_AGENT_CHECK_H

#include <stddef.h>

#include "profiler/format/say.h"

struct config;

/*
 * Looks for what the agent would refuse on this host when it starts: 0 or -errno with one line in `err`. What it would warn of, and
 * what is in use now, by an agent that runs maybe, is said by `warn`. Reads the files of secrets; makes nothing.
 */
int agent_check_host(const char *config_path, const struct config *config, say_fn warn, char *err,
                     size_t err_len);

#endif
