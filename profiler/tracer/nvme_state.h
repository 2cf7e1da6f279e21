/*
 * The state of the host's NVMe controllers, from /sys/class/nvme: a recovery that began before the programs were attached is not told by
 * them. Part of the tracer.
 */
#ifndef STALLPROF_PROFILER_NVME_STATE_H
#define STALLPROF_PROFILER_NVME_STATE_H

#include <stdbool.h>

#define NVME_CLASS "/sys/class/nvme"

/* Whether a controller is being reset or connected again now; false where there is none. `folder`: NVME_CLASS but in tests. */
bool nvme_state_any_recovers(const char *folder);

#endif
