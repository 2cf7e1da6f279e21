/*
 * OpenTelemetry's process context (OTEP 4719): a mapping named OTEL_CTX whose head leads to a protobuf
 * message ProcessContext. Ours says how to read the thread context, and the service's name and attributes if
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES give them.
 */
#ifndef STALLTAG_PROCESS_CONTEXT_H
#define STALLTAG_PROCESS_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct process_context_header {
	uint64_t signature; /* "OTEL_CTX", written last */
	uint32_t version;
	uint32_t payload_bytes;
	uint64_t published_at_ns; /* CLOCK_BOOTTIME; 0 while it is being written */
	const uint8_t *payload;
};

/*
 * Encodes the message into out; returns the number of bytes, or -ENOSPC. service_name and resource_attributes
 * ("key=value,key=value", percent-encoded, as OTEL_RESOURCE_ATTRIBUTES has it) may be NULL. An attribute that is
 * malformed or does not fit is left out. One call at a time.
 */
int process_context_encode(uint8_t *out, size_t size, const char *service_name,
                           const char *resource_attributes);

/* Maps and fills the context; republish does so again in a forked child. 0 or -errno. The caller must serialise the
 * calls. */
int process_context_publish(void);
int process_context_republish(void);

/* Unmaps it, if this process has published one. */
void process_context_withdraw(void);

/* The address of the context that this process has published, or 0. */
uintptr_t process_context_address(void);

#pragma GCC visibility pop

#endif
