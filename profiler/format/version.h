/* What `stallprof --version` prints. The Debian packages (config/make-deb) and the Python module (stalltag/python/setup.py) have it from here. */
#ifndef STALLPROF_PROFILER_VERSION_H
#define STALLPROF_PROFILER_VERSION_H

#define STALLPROF_VERSION "1.0"

#endif
