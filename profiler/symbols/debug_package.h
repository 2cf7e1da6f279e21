/* The package to install for lines and inlined functions of the kernel: its name differs by distribution. */
#ifndef STALLPROF_PROFILER_DEBUG_PACKAGE_H
#define STALLPROF_PROFILER_DEBUG_PACKAGE_H

#include <stddef.h>

/* What to do when kallsyms shows us no addresses: either will do, unless kptr_restrict is 2. */
#define KALLSYMS_ADVICE                                                                                      \
	"CAP_SYSLOG with sysctl kernel.kptr_restrict at most 1, or 0 and kernel.perf_event_paranoid 1"
/* What to do when it shows them, but lines and inlined functions of the kernel are not known. */
#define VMLINUX_ADVICE "install this kernel's debug information, see stallprof doctor"

/*
 * The package with the debug information of the kernel of that release (as `uname -r` has it), for the distribution
 * that ROOT/etc/os-release, or ROOT/usr/lib/os-release, names by ID or, for those made from others, ID_LIKE: Debian,
 * Ubuntu, Fedora, Red Hat and SUSE. `root` is "" but in tests. "" for any other distribution.
 */
void debug_package_of_kernel(const char *root, const char *release, char *package, size_t size);

/* Says in one line how to get that information. Names the package only where apt offers it, or there is no apt to
 * ask. Runs apt-cache, some 0.5 s. */
void debug_package_advice(const char *root, const char *release, char *advice, size_t size);

#endif
