/* Devices by number: 254:0 is "vda". Those of file systems without a device, such as NFS, have major 0, and the name of what is mounted:
 * "server:/export". */
#ifndef STALLPROF_PROFILER_DEVICE_NAMES_H
#define STALLPROF_PROFILER_DEVICE_NAMES_H

#include <stdint.h>

struct device_names;

/* NULL without memory. `sysfs` NULL: /sys. `proc` NULL: /proc. */
struct device_names *device_names_new(const char *sysfs, const char *proc);
void device_names_free(struct device_names *names);

/* `dev` as the kernel keeps it (major << 20 | minor). "" for 0, which stands for unknown; "254:0" for a
 * device that nobody names. `pid` may have mounts that the profiler does not see; where none is found, neither
 * is asked again for some 10 s. The pointer lives as long as `names`; what it points to
 * may be another name after the next call. */
const char *device_names_of(struct device_names *names, uint32_t dev, uint32_t pid);

#endif
