/*
 * Does another library of this process publish an OpenTelemetry context? It does if there is a mapping named
 * OTEL_CTX other than ours, or if another loaded object defines otel_thread_ctx_v1.
 */
#ifndef STALLTAG_FOREIGN_PUBLISHER_H
#define STALLTAG_FOREIGN_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* own_context: the address of our own mapping, or 0. Reads /proc/self/maps and each object's hash table. One call at a
 * time. */
bool foreign_publisher_present(uintptr_t own_context);

/* A count that grows whenever an object is loaded; cheap to read. */
unsigned long long foreign_publisher_loads(void);

/* One line of /proc/PID/maps: true if it is a process context's mapping other than own_context. */
bool foreign_publisher_line(const char *line, uintptr_t own_context);

#pragma GCC visibility pop

#endif
