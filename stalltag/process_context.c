/* Encodes and publishes the OpenTelemetry process context, a mapping named OTEL_CTX. */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "stalltag/process_context.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

#define CONTEXT_VERSION   2
#define MAPPING_BYTES     4096
#define PAYLOAD_MAX       (MAPPING_BYTES - sizeof(struct process_context_header))
#define ATTRIBUTE_MAX     1024
#define THREADLOCAL_BYTES 95 /* of the two attributes that must be there */

/* Field numbers of opentelemetry-proto; every field that we write is length-delimited. */
enum {
	CONTEXT_RESOURCE = 1,
	CONTEXT_ATTRIBUTES = 2,
	RESOURCE_ATTRIBUTES = 1,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_VALUE_STRING = 1,
	ANY_VALUE_ARRAY = 5,
	ARRAY_VALUES = 1,
};

struct message {
	uint8_t *bytes;
	size_t used, size;
	bool overflow;
};

static void put_byte(struct message *message, uint8_t byte)
{
	if (message->used < message->size)
		message->bytes[message->used++] = byte;
	else
		message->overflow = true;
}

static void put_length(struct message *message, size_t length)
{
	for (; length > 0x7f; length >>= 7)
		put_byte(message, (uint8_t)(length & 0x7f) | 0x80);
	put_byte(message, (uint8_t)length);
}

static void put_field(struct message *message, int field, const void *data, size_t bytes)
{
	put_byte(message, (uint8_t)(field << 3 | 2));
	put_length(message, bytes);
	for (size_t i = 0; i < bytes; i++)
		put_byte(message, ((const uint8_t *)data)[i]);
}

/* A KeyValue as a field of the message; nothing of it if it does not fit. Static, as are those below: they are too large for
 * a signal handler's stack. */
static void put_key_value(struct message *message, int field, const char *key, size_t key_bytes,
                          const struct message *any_value)
{
	static uint8_t bytes[ATTRIBUTE_MAX];
	struct message pair = { .bytes = bytes, .size = sizeof(bytes) };
	size_t before = message->used;

	put_field(&pair, KEY_VALUE_KEY, key, key_bytes);
	put_field(&pair, KEY_VALUE_VALUE, any_value->bytes, any_value->used);
	if (!pair.overflow && !any_value->overflow)
		put_field(message, field, pair.bytes, pair.used);
	if (message->overflow) {
		message->used = before;
		message->overflow = false;
	}
}

static void put_string(struct message *message, int field, const char *key, size_t key_bytes,
                       const char *value, size_t value_bytes)
{
	static uint8_t bytes[ATTRIBUTE_MAX];
	struct message any_value = { .bytes = bytes, .size = sizeof(bytes) };

	put_field(&any_value, ANY_VALUE_STRING, value, value_bytes);
	put_key_value(message, field, key, key_bytes, &any_value);
}

/* threadlocal.attribute_key_map = ["ai_tag"] */
static void put_key_map(struct message *message)
{
	static const char name[] = "threadlocal.attribute_key_map", only_key[] = "ai_tag";
	uint8_t string_bytes[32], array_bytes[32], value_bytes[32];
	struct message string = { .bytes = string_bytes, .size = sizeof(string_bytes) };
	struct message array = { .bytes = array_bytes, .size = sizeof(array_bytes) };
	struct message any_value = { .bytes = value_bytes, .size = sizeof(value_bytes) };

	put_field(&string, ANY_VALUE_STRING, only_key, strlen(only_key));
	put_field(&array, ARRAY_VALUES, string.bytes, string.used);
	put_field(&any_value, ANY_VALUE_ARRAY, array.bytes, array.used);
	put_key_value(message, CONTEXT_ATTRIBUTES, name, strlen(name), &any_value);
}

/* Decodes %41 in place of its three bytes; -1 if a % is not followed by two hex digits. */
static ssize_t percent_decode(char *out, size_t size, const char *from, size_t bytes)
{
	size_t used = 0;

	for (size_t i = 0; i < bytes; i++, used++) {
		char digits[3] = { 0 }, *end;

		if (used == size)
			return -1;
		out[used] = from[i];
		if (from[i] != '%')
			continue;
		if (i + 2 >= bytes)
			return -1;
		memcpy(digits, from + i + 1, 2);
		out[used] = (char)strtoul(digits, &end, 16);
		if (end != digits + 2 || digits[0] == '-' || digits[0] == '+' || digits[0] == ' ')
			return -1;
		i += 2;
	}
	return (ssize_t)used;
}

/* Blanks may stand around keys and values. */
static void trim(const char **from, const char **end)
{
	while (*from < *end && (**from == ' ' || **from == '\t'))
		(*from)++;
	while (*from < *end && ((*end)[-1] == ' ' || (*end)[-1] == '\t'))
		(*end)--;
}

static void put_environment_attribute(struct message *resource, const char *text, size_t bytes,
                                      bool have_service_name)
{
	static char key[ATTRIBUTE_MAX], value[ATTRIBUTE_MAX];
	const char *equals = memchr(text, '=', bytes), *end = text + bytes;
	const char *key_end = equals, *value_from = equals ? equals + 1 : NULL;
	ssize_t key_bytes, value_bytes;

	if (!equals)
		return;
	trim(&text, &key_end);
	trim(&value_from, &end);
	key_bytes = percent_decode(key, sizeof(key), text, (size_t)(key_end - text));
	value_bytes = percent_decode(value, sizeof(value), value_from, (size_t)(end - value_from));
	if (key_bytes <= 0 || value_bytes < 0)
		return;
	if (have_service_name && key_bytes == 12 && !memcmp(key, "service.name", 12))
		return;
	put_string(resource, RESOURCE_ATTRIBUTES, key, (size_t)key_bytes, value, (size_t)value_bytes);
}

static void put_resource(struct message *context, const char *service_name, const char *attributes)
{
	static const char key[] = "service.name";
	static uint8_t bytes[PAYLOAD_MAX];
	struct message resource = { .bytes = bytes, .size = sizeof(bytes) };
	size_t before = context->used;

	if (service_name)
		put_string(&resource, RESOURCE_ATTRIBUTES, key, strlen(key), service_name,
		           strlen(service_name));
	while (attributes && *attributes) {
		size_t length = strcspn(attributes, ",");

		put_environment_attribute(&resource, attributes, length, service_name);
		attributes += length + (attributes[length] == ',');
	}
	if (!resource.used)
		return;
	put_field(context, CONTEXT_RESOURCE, resource.bytes, resource.used);
	if (context->overflow) {
		context->used = before;
		context->overflow = false;
	}
}

int process_context_encode(uint8_t *out, size_t size, const char *service_name,
                           const char *resource_attributes)
{
	static const char version_key[] = "threadlocal.schema_version", version[] = "tlsdesc_v1_dev";
	struct message context = { .bytes = out, .size = size };

	put_string(&context, CONTEXT_ATTRIBUTES, version_key, strlen(version_key), version, strlen(version));
	put_key_map(&context);
	if (context.used < THREADLOCAL_BYTES)
		return -ENOSPC;
	put_resource(&context, service_name && *service_name ? service_name : NULL, resource_attributes);
	return (int)context.used;
}

static uint8_t payload[PAYLOAD_MAX];
static size_t payload_bytes;
static struct process_context_header *header;

static void *map_memfd(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	void *at = MAP_FAILED;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return MAP_FAILED;
	if (!ftruncate(fd, MAPPING_BYTES))
		at = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	return at;
}

static uint64_t boottime_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void fill(struct process_context_header *at)
{
	uint8_t *copy = (uint8_t *)(at + 1);
	uint64_t signature;

	memcpy(copy, payload, payload_bytes);
	at->version = CONTEXT_VERSION;
	at->payload_bytes = (uint32_t)payload_bytes;
	at->payload = copy;
	__atomic_store_n(&at->published_at_ns, boottime_ns(), __ATOMIC_RELEASE);
	memcpy(&signature, "OTEL_CTX", sizeof(signature));
	__atomic_store_n(&at->signature, signature, __ATOMIC_RELEASE);
	/* Always, as the OTEP asks: on kernels that cannot name the mapping, a reader may watch for the attempt. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, MAPPING_BYTES, "OTEL_CTX");
}

int process_context_republish(void)
{
	void *at = map_memfd();

	header = NULL;
	if (at == MAP_FAILED)
		at = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	if (madvise(at, MAPPING_BYTES, MADV_DONTFORK)) {
		int error = -errno;

		munmap(at, MAPPING_BYTES);
		return error;
	}
	fill(at);
	header = at;
	return 0;
}

int process_context_publish(void)
{
	int bytes = process_context_encode(payload, sizeof(payload), getenv("OTEL_SERVICE_NAME"),
	                                   getenv("OTEL_RESOURCE_ATTRIBUTES"));

	if (bytes < 0)
		return bytes;
	payload_bytes = (size_t)bytes;
	return process_context_republish();
}

void process_context_withdraw(void)
{
	if (header)
		munmap(header, MAPPING_BYTES);
	header = NULL;
}

uintptr_t process_context_address(void)
{
	return (uintptr_t)header;
}
