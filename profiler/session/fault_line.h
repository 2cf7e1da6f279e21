/* A line about an IOMMU's fault. */
#ifndef STALLPROF_PROFILER_FAULT_LINE_H
#define STALLPROF_PROFILER_FAULT_LINE_H

#include <stddef.h>

#include "bpf/abi.h"

/* Writes into `line` what an ABI_EVENT_IOMMU_FAULT says: which device wanted what, and why it did not get it. */
void fault_line(const struct abi_event *event, char *line, size_t line_len);

#endif
