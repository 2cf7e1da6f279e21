/* What has to be installed for lines and inlined functions of the kernel: its name differs by distribution. */
#ifndef STALLPROF_PROFILER_DEBUG_PACKAGE_H
#define STALLPROF_PROFILER_DEBUG_PACKAGE_H

#include <stddef.h>

/* When kallsyms has no addresses for us. */
#define KALLSYMS_ADVICE "sysctl kernel.kptr_restrict=0, or CAP_SYSLOG"

/*
 * The package with the debug information of the kernel of that release (as `uname -r` has it), for the distribution
 * that ROOT/etc/os-release, or ROOT/usr/lib/os-release, names by ID or, for those made from others, ID_LIKE: Debian,
 * Ubuntu, Fedora, Red Hat and SUSE. `root` is "" but in tests. "" for any other distribution.
 */
void debug_package_of_kernel(const char *root, const char *release, char *package, size_t size);

/* The same as a piece of advice: "install PACKAGE", or what to do where there is no such package. */
void debug_package_advice(const char *root, const char *release, char *advice, size_t size);

#endif
