/*
 * Of a stack with Python frames that was resolved: what the BPF programs know it by, so that they do not send it again (bpf/known.bpf.h).
 */
#ifndef STALLPROF_PROFILER_KNOWN_STACK_H
#define STALLPROF_PROFILER_KNOWN_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_known.h"

/* The event's own frames: where they return to, and their stack pointers. False: a return address lies in no place that tells it, or the
 * event has no stack_key. */
bool known_stack_of(struct abi_known_stack *known, const struct abi_event *event, const uint64_t *pcs,
                    const uint64_t *sps, size_t n);

#endif
