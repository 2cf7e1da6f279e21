/* What `stallprof --version` prints; the Python module's (stalltag/python/pyproject.toml) is the same. */
#ifndef STALLPROF_PROFILER_VERSION_H
#define STALLPROF_PROFILER_VERSION_H

#define STALLPROF_VERSION "1.0"

#endif
