/* What a process is called, and tagged with, where nobody says it. */
#ifndef STALLPROF_PROFILER_PROCESS_TAG_H
#define STALLPROF_PROFILER_PROCESS_TAG_H

#include <stdint.h>

#include "stalltag/stalltag.h"

#define PROCESS_TAG_BYTES (STALLTAG_NAME_MAX + 1)

/* The name of its program, or of what its interpreter runs. 0, or -ESRCH: there is no such process. */
int process_name_of(uint32_t pid, char name[PROCESS_TAG_BYTES]);

/* The tag that it was started under (`stallprof tag`), else its name without an id (0). 0, or -ESRCH. */
int process_tag_of(uint32_t pid, char name[PROCESS_TAG_BYTES], uint64_t *id);

#endif
