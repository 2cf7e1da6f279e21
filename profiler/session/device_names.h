/* Block devices by number: 254:0 is "vda". Names are read from sysfs once and kept. */
#ifndef STALLPROF_PROFILER_DEVICE_NAMES_H
#define STALLPROF_PROFILER_DEVICE_NAMES_H

#include <stdint.h>

struct device_names;

/* NULL without memory. `sysfs` NULL: /sys. */
struct device_names *device_names_new(const char *sysfs);
void device_names_free(struct device_names *names);

/* `dev` as the kernel keeps it (major << 20 | minor). "" for 0, which stands for unknown; "254:0" for a
 * device that sysfs does not have. Lives as long as `names`. */
const char *device_names_of(struct device_names *names, uint32_t dev);

#endif
