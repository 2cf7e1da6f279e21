/*
 * Reads the process context of OTEP 4719 out of another process: what service it is, and what the
 * attribute indices in its thread contexts (OTEP 4947) mean.
 *
 * A process publishes it in a mapping that is named OTEL_CTX in /proc/PID/maps:
 *
 *	0           8         12              16                24
 *	| "OTEL_CTX" | version | payload bytes | published_at_ns | address of the payload |
 *	|            |    2    |               | 0: being written |                       |
 *
 * The payload is a protobuf message of either shape: ProcessContext {Resource resource = 1; repeated
 * KeyValue attributes = 2}, or, from early publishers, a bare Resource {repeated KeyValue attributes = 1}.
 *
 * All of it is the process's own memory and may hold anything, and change while it is read: sizes are
 * bounded, the header is read again after the payload, texts are cut or refused, never trusted. Pages of files are not read.
 */
#ifndef STALLPROF_PROFILER_PROCESS_CONTEXT_READER_H
#define STALLPROF_PROFILER_PROCESS_CONTEXT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote_pages;

#define PROCESS_CONTEXT_VERSION      2
#define PROCESS_CONTEXT_PAYLOAD_MAX  65536
#define PROCESS_CONTEXT_KEYS_MAX     256 /* an index is one byte */
#define PROCESS_CONTEXT_NO_KEY       256
#define PROCESS_CONTEXT_TEXT_MAX     255
#define PROCESS_CONTEXT_MAPPINGS_MAX 8 /* looked at, of one process */

struct process_context {
	char service_name[PROCESS_CONTEXT_TEXT_MAX + 1];   /* "": not said; longer ones are cut */
	char schema_version[PROCESS_CONTEXT_TEXT_MAX + 1]; /* threadlocal.schema_version */
	uint64_t published_at_ns;                          /* CLOCK_BOOTTIME */
	char **keys;                                       /* threadlocal.attribute_key_map, by index */
	size_t n_keys;
};

/* Whether this path, from a line of /proc/PID/maps, is that of a process context. */
bool process_context_is_mapping(const char *path);

/*
 * Reads the context whose header is at `address`. Release the
 * result with process_context_release(), also after a failure. -EAGAIN: it is being changed, try later;
 * -EPROTO: no context, or one that makes no sense; -EPROTONOSUPPORT: another version; -EMSGSIZE; -ENOMEM;
 * -EIO: not all of it is in memory that can be read without waiting (remote_pages.h); -errno of reading.
 */
int process_context_read_at(const struct remote_pages *memory, uint64_t address, struct process_context *out);

/*
 * Of several contexts in one process (stalltag's, and that of an SDK which was loaded later), the one that belongs
 * to otel_thread_ctx_v1: one with keys other than stalltag's single `ai_tag`, else that, else one without keys;
 * among equals the newest. -ENOENT: there is none; or the error of the only one.
 */
int process_context_read_newest(const struct remote_pages *memory, const uint64_t *addresses, size_t n,
                                struct process_context *out);

/* Decodes the payload alone; published_at_ns stays 0. -EPROTO, -EMSGSIZE, -ENOMEM. */
int process_context_decode(const uint8_t *payload, size_t bytes, struct process_context *out);

void process_context_release(struct process_context *context);

/* The last index of the name, as publishers append; PROCESS_CONTEXT_NO_KEY when it is not there. */
uint32_t process_context_key(const struct process_context *context, const char *name);

#endif
