/* Reads and decodes the OpenTelemetry process context of another process. */

#include "profiler/tags/process_context_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/process/remote_pages.h"
#include "profiler/tags/process_context.pb-c.h"

#define SERVICE_NAME   "service.name"
#define SCHEMA_VERSION "threadlocal.schema_version"
#define KEY_MAP        "threadlocal.attribute_key_map"

typedef Stallprof__ProcessContext__KeyValue key_value;
typedef Stallprof__ProcessContext__Resource resource_message;
typedef Stallprof__ProcessContext__ProcessContext context_message;

struct context_header {
	char signature[8];
	uint32_t version;
	uint32_t payload_bytes;
	uint64_t published_at_ns;
	uint64_t payload;
};
_Static_assert(sizeof(struct context_header) == 32, "OTEP 4719");

bool process_context_is_mapping(const char *path)
{
	static const char *const names[] = { "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
		                             "/memfd:OTEL_CTX (deleted)" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(path, names[i]))
			return true;
	return false;
}

/* --- the message -------------------------------------------------------------------------------- */

static void copy_text(char *to, const char *from)
{
	size_t len = strnlen(from, PROCESS_CONTEXT_TEXT_MAX);

	memcpy(to, from, len);
	to[len] = 0;
}

static int copy_keys(const Stallprof__ProcessContext__ArrayValue *array, struct process_context *out)
{
	size_t n = array->n_values < PROCESS_CONTEXT_KEYS_MAX ? array->n_values : PROCESS_CONTEXT_KEYS_MAX;
	char **keys;

	if (!n || out->keys)
		return 0;
	keys = calloc(n, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	out->keys = keys;
	for (size_t i = 0; i < n; i++) {
		keys[i] = strndup(array->values[i]->string_value, PROCESS_CONTEXT_TEXT_MAX);
		if (!keys[i])
			return -ENOMEM;
		out->n_keys = i + 1;
	}
	return 0;
}

static int take_attributes(key_value *const *attributes, size_t n, struct process_context *out)
{
	for (size_t i = 0; i < n; i++) {
		const Stallprof__ProcessContext__AnyValue *value = attributes[i]->value;
		const char *key = attributes[i]->key;
		int err = 0;

		if (!value)
			continue;
		if (!strcmp(key, SERVICE_NAME))
			copy_text(out->service_name, value->string_value);
		else if (!strcmp(key, SCHEMA_VERSION))
			copy_text(out->schema_version, value->string_value);
		else if (!strcmp(key, KEY_MAP) && value->array_value)
			err = copy_keys(value->array_value, out);
		if (err)
			return err;
	}
	return 0;
}

static bool plausible_key(const char *key)
{
	if (!*key)
		return false;
	for (; *key; key++)
		if ((unsigned char)*key < 0x20)
			return false;
	return true;
}

/*
 * A ProcessContext that is taken for a bare Resource shows "keys" that begin with the tag of its resource's
 * first attribute, 0x0a, or are empty; or its field 2 is of another type.
 */
static resource_message *unpack_bare_resource(const uint8_t *payload, size_t bytes)
{
	resource_message *resource = stallprof__process_context__resource__unpack(NULL, bytes, payload);

	for (size_t i = 0; resource && i < resource->n_attributes; i++) {
		if (plausible_key(resource->attributes[i]->key))
			continue;
		stallprof__process_context__resource__free_unpacked(resource, NULL);
		return NULL;
	}
	return resource;
}

int process_context_decode(const uint8_t *payload, size_t bytes, struct process_context *out)
{
	resource_message *bare;
	context_message *context;
	int err = 0;

	*out = (struct process_context){ 0 };
	if (bytes > PROCESS_CONTEXT_PAYLOAD_MAX)
		return -EMSGSIZE;
	bare = unpack_bare_resource(payload, bytes);
	if (bare) {
		err = take_attributes(bare->attributes, bare->n_attributes, out);
		stallprof__process_context__resource__free_unpacked(bare, NULL);
		return err;
	}
	context = stallprof__process_context__process_context__unpack(NULL, bytes, payload);
	if (!context)
		return -EPROTO;
	if (context->resource)
		err = take_attributes(context->resource->attributes, context->resource->n_attributes, out);
	if (!err)
		err = take_attributes(context->attributes, context->n_attributes, out);
	stallprof__process_context__process_context__free_unpacked(context, NULL);
	return err;
}

void process_context_release(struct process_context *context)
{
	if (!context)
		return;
	for (size_t i = 0; i < context->n_keys; i++)
		free(context->keys[i]);
	free(context->keys);
	*context = (struct process_context){ 0 };
}

uint32_t process_context_key(const struct process_context *context, const char *name)
{
	for (size_t i = context->n_keys; i-- > 0;)
		if (!strcmp(context->keys[i], name))
			return (uint32_t)i;
	return PROCESS_CONTEXT_NO_KEY;
}

/* --- the process's memory ----------------------------------------------------------------------- */

static int check_header(const struct context_header *header)
{
	if (memcmp(header->signature, "OTEL_CTX", sizeof(header->signature)))
		return header->signature[0] ? -EPROTO : -EAGAIN; /* the signature is written last */
	if (header->version != PROCESS_CONTEXT_VERSION)
		return -EPROTONOSUPPORT;
	if (!header->published_at_ns)
		return -EAGAIN;
	return header->payload_bytes > PROCESS_CONTEXT_PAYLOAD_MAX ? -EMSGSIZE : 0;
}

static int read_payload(const struct remote_pages *memory, uint64_t address,
                        const struct context_header *header, uint8_t *payload)
{
	struct context_header again;
	int err = remote_pages_read(memory, header->payload, payload, header->payload_bytes);
	int err_again = remote_pages_read(memory, address, &again, sizeof(again));

	if (!err_again && memcmp(header, &again, sizeof(again)))
		return -EAGAIN;
	return err ? err : err_again;
}

int process_context_read_at(const struct remote_pages *memory, uint64_t address, struct process_context *out)
{
	struct context_header header;
	uint8_t *payload;
	int err;

	*out = (struct process_context){ 0 };
	err = remote_pages_read(memory, address, &header, sizeof(header));
	if (!err)
		err = check_header(&header);
	if (err)
		return err;
	payload = malloc(header.payload_bytes + 1);
	if (!payload)
		return -ENOMEM;
	err = read_payload(memory, address, &header, payload);
	if (!err)
		err = process_context_decode(payload, header.payload_bytes, out);
	if (!err)
		out->published_at_ns = header.published_at_ns;
	free(payload);
	return err;
}

/* How likely it is that the public slot's records are to be read by it: stalltag steps back for an SDK. */
static int rank(const struct process_context *context)
{
	if (!context->n_keys)
		return 0;
	return context->n_keys == 1 && !strcmp(context->keys[0], "ai_tag") ? 1 : 2;
}

static bool better(const struct process_context *a, const struct process_context *b)
{
	return rank(a) != rank(b) ? rank(a) > rank(b) : a->published_at_ns > b->published_at_ns;
}

int process_context_read_newest(const struct remote_pages *memory, const uint64_t *addresses, size_t n,
                                struct process_context *out)
{
	int result = -ENOENT;

	*out = (struct process_context){ 0 };
	for (size_t i = 0; i < n; i++) {
		struct process_context found;
		int err = process_context_read_at(memory, addresses[i], &found);

		if (err || (!result && !better(&found, out))) {
			process_context_release(&found);
			result = result ? err : 0;
			continue;
		}
		process_context_release(out);
		*out = found;
		result = 0;
	}
	return result;
}
