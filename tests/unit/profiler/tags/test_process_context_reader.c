/* Tests of process_context_reader.h: decoding OTEP 4719, also when it is damaged. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/process/remote_pages.h"
#include "profiler/tags/process_context_reader.h"
#include "symbolizer/base/maps.h"

/* Encodes by hand, so that the decoder is not checked by its own tables. */
struct bytes {
	uint8_t data[PROCESS_CONTEXT_PAYLOAD_MAX + 64];
	size_t n;
};

static void put(struct bytes *to, const void *data, size_t n)
{
	assert_true(to->n + n <= sizeof(to->data));
	memcpy(to->data + to->n, data, n);
	to->n += n;
}

static void put_varint(struct bytes *to, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);

		put(to, &byte, 1);
		value >>= 7;
	} while (value);
}

static void put_field(struct bytes *to, unsigned int field, const void *data, size_t n)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, n);
	put(to, data, n);
}

static void put_string_attribute(struct bytes *to, unsigned int field, const char *key, const char *value)
{
	static struct bytes any, pair;

	any.n = pair.n = 0;
	put_field(&any, 1, value, strlen(value));
	put_field(&pair, 1, key, strlen(key));
	put_field(&pair, 2, any.data, any.n);
	put_field(to, field, pair.data, pair.n);
}

static void put_keys(struct bytes *to, unsigned int field, const char *const *keys, size_t n)
{
	static struct bytes string, array, any, pair;

	array.n = any.n = pair.n = 0;
	for (size_t i = 0; i < n; i++) {
		string.n = 0;
		put_field(&string, 1, keys[i], strlen(keys[i]));
		put_field(&array, 1, string.data, string.n);
	}
	put_field(&any, 5, array.data, array.n);
	put_field(&pair, 1, "threadlocal.attribute_key_map", 29);
	put_field(&pair, 2, any.data, any.n);
	put_field(to, field, pair.data, pair.n);
}

static const char *const three_keys[] = { "http.route", "ai_tag", "user" };

static const struct bytes *process_context_message(const char *service, const char *const *keys, size_t n)
{
	static struct bytes message, resource;

	message.n = resource.n = 0;
	put_string_attribute(&resource, 1, "service.name", service);
	put_string_attribute(&resource, 1, "telemetry.sdk.language", "c");
	put_field(&message, 1, resource.data, resource.n);
	put_string_attribute(&message, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	put_keys(&message, 2, keys, n);
	return &message;
}

static const struct bytes *bare_resource_message(const char *service)
{
	static struct bytes message;

	message.n = 0;
	put_string_attribute(&message, 1, "service.name", service);
	put_string_attribute(&message, 1, "threadlocal.schema_version", "tls_v1");
	put_keys(&message, 1, three_keys, 3);
	return &message;
}

static void check_three_keys(const struct process_context *context)
{
	assert_int_equal(context->n_keys, 3);
	assert_string_equal(context->keys[0], "http.route");
	assert_string_equal(context->keys[2], "user");
	assert_int_equal(process_context_key(context, "ai_tag"), 1);
	assert_int_equal(process_context_key(context, "ai_tags"), PROCESS_CONTEXT_NO_KEY);
}

static void test_process_context_reader__process_context(void **state)
{
	const struct bytes *message = process_context_message("trainer", three_keys, 3);
	struct process_context context;

	(void)state;
	assert_int_equal(process_context_decode(message->data, message->n, &context), 0);
	assert_string_equal(context.service_name, "trainer");
	assert_string_equal(context.schema_version, "tlsdesc_v1_dev");
	check_three_keys(&context);
	process_context_release(&context);
	process_context_release(&context);
}

static void test_process_context_reader__bare_resource(void **state)
{
	const struct bytes *message = bare_resource_message("loader");
	struct process_context context;

	(void)state;
	assert_int_equal(process_context_decode(message->data, message->n, &context), 0);
	assert_string_equal(context.service_name, "loader");
	assert_string_equal(context.schema_version, "tls_v1");
	check_three_keys(&context);
	process_context_release(&context);
}

/* A resource without attributes, attributes without a resource, and nothing at all. */
static void test_process_context_reader__parts_absent(void **state)
{
	struct process_context context;
	struct bytes message = { .n = 0 }, whole = { .n = 0 };

	(void)state;
	assert_int_equal(process_context_decode(message.data, 0, &context), 0);
	assert_int_equal(context.n_keys, 0);
	put_field(&message, 1, "", 0);
	put_keys(&message, 2, three_keys, 3);
	assert_int_equal(process_context_decode(message.data, message.n, &context), 0);
	check_three_keys(&context);
	process_context_release(&context);
	message.n = 0;
	put_keys(&message, 2, three_keys, 3);
	assert_int_equal(process_context_decode(message.data, message.n, &context), 0);
	check_three_keys(&context);
	process_context_release(&context);
	message = *bare_resource_message("only");
	put_field(&whole, 1, message.data, message.n);
	assert_int_equal(process_context_decode(whole.data, whole.n, &context), 0);
	assert_string_equal(context.service_name, "only");
	check_three_keys(&context);
	process_context_release(&context);
}

static void test_process_context_reader__the_last_of_equal_keys(void **state)
{
	const char *const keys[] = { "ai_tag", "other", "ai_tag" };
	const struct bytes *message = process_context_message("s", keys, 3);
	struct process_context context;

	(void)state;
	assert_int_equal(process_context_decode(message->data, message->n, &context), 0);
	assert_int_equal(process_context_key(&context, "ai_tag"), 2);
	process_context_release(&context);
}

static void test_process_context_reader__too_long(void **state)
{
	static struct bytes message;
	const char *keys[300];
	struct process_context context;
	char name[1000];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (int i = 0; i < 300; i++)
		keys[i] = i == 299 ? "ai_tag" : "key";
	message = *process_context_message(name, keys, 300);
	assert_int_equal(process_context_decode(message.data, message.n, &context), 0);
	assert_int_equal(strlen(context.service_name), PROCESS_CONTEXT_TEXT_MAX);
	assert_int_equal(context.n_keys, PROCESS_CONTEXT_KEYS_MAX);
	assert_int_equal(process_context_key(&context, "ai_tag"), PROCESS_CONTEXT_NO_KEY);
	process_context_release(&context);
	assert_int_equal(process_context_decode(message.data, PROCESS_CONTEXT_PAYLOAD_MAX + 1, &context),
	                 -EMSGSIZE);
}

/* Values in values in values: a decoder that follows them runs out of stack. */
static void test_process_context_reader__deep_nesting(void **state)
{
	static struct bytes message, inner;
	struct process_context context;

	(void)state;
	inner.n = 0;
	for (int depth = 0; depth < 8000; depth++) {
		static struct bytes outer;

		outer.n = 0;
		put_field(&outer, depth % 2 ? 1 : 5, inner.data, inner.n);
		inner = outer;
	}
	message.n = 0;
	put_field(&message, 1, "threadlocal.attribute_key_map", 29);
	put_field(&message, 2, inner.data, inner.n);
	inner = message;
	message.n = 0;
	put_field(&message, 2, inner.data, inner.n);
	process_context_decode(message.data, message.n, &context);
	process_context_release(&context);
}

static void test_process_context_reader__damaged(void **state)
{
	struct bytes message = *process_context_message("trainer", three_keys, 3);
	struct process_context context;

	(void)state;
	assert_int_equal(process_context_decode(message.data, message.n - 1, &context), -EPROTO);
	process_context_release(&context);
	for (size_t cut = 0; cut < message.n; cut++) {
		process_context_decode(message.data, cut, &context);
		process_context_release(&context);
	}
	for (size_t i = 0; i < message.n * 8; i++) {
		message.data[i / 8] ^= (uint8_t)(1 << i % 8);
		process_context_decode(message.data, message.n, &context);
		process_context_release(&context);
		message.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

static void test_process_context_reader__is_mapping(void **state)
{
	(void)state;
	assert_true(process_context_is_mapping("/memfd:OTEL_CTX"));
	assert_true(process_context_is_mapping("[anon_shmem:OTEL_CTX]"));
	assert_true(process_context_is_mapping("[anon:OTEL_CTX]"));
	assert_false(process_context_is_mapping("/memfd:OTEL_CTX2"));
	assert_false(process_context_is_mapping("/tmp/OTEL_CTX"));
	assert_false(process_context_is_mapping("OTEL_CTX"));
	assert_false(process_context_is_mapping(""));
}

struct header {
	char signature[8];
	uint32_t version, payload_bytes;
	uint64_t published_at_ns, payload;
};

static struct header *publish(const char *name, const struct bytes *message, uint64_t published_at_ns)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	struct header *header;

	assert_true(fd >= 0 && !ftruncate(fd, 131072));
	header = mmap(NULL, 131072, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(header != MAP_FAILED);
	close(fd);
	memcpy(header + 1, message->data, message->n);
	*header = (struct header){ .signature = "OTEL_CTX",
		                   .version = 2,
		                   .payload_bytes = (uint32_t)message->n,
		                   .published_at_ns = published_at_ns,
		                   .payload = (uintptr_t)(header + 1) };
	return header;
}

struct mapping_search {
	uint64_t addresses[PROCESS_CONTEXT_MAPPINGS_MAX];
	size_t n;
};

static int look_at_mapping(const struct maps_entry *entry, void *context)
{
	struct mapping_search *search = context;

	if (search->n < PROCESS_CONTEXT_MAPPINGS_MAX && process_context_is_mapping(entry->path))
		search->addresses[search->n++] = entry->start;
	return 0;
}

static int open_in_proc(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int read_process(pid_t pid, struct process_context *out)
{
	struct mapping_search search = { .n = 0 };
	const struct remote_pages memory = { .pid = pid, .fd = open_in_proc(pid, "mem") };
	int maps = open_in_proc(pid, "maps"), err;

	assert_int_equal(maps_read(maps, look_at_mapping, &search, NULL), 0);
	err = process_context_read_newest(&memory, search.addresses, search.n, out);
	close(maps);
	close(memory.fd);
	return err;
}

/* A child that changes its copy of the header, and what reading it says. */
static int read_child(struct header *header, const struct header *change, struct process_context *context)
{
	pid_t pid = fork();
	int err;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		*header = *change;
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	err = read_process(pid, context);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

static int read_changed(struct header *header, struct header change)
{
	struct process_context context;
	int err = read_child(header, &change, &context);

	process_context_release(&context);
	return err;
}

static void test_process_context_reader__of_a_process(void **state)
{
	struct header *header = publish("OTEL_CTX", process_context_message("trainer", three_keys, 3), 12345);
	struct process_context context;

	(void)state;
	assert_int_equal(read_child(header, header, &context), 0);
	assert_string_equal(context.service_name, "trainer");
	assert_true(context.published_at_ns == 12345);
	check_three_keys(&context);
	process_context_release(&context);
	munmap(header, 131072);
}

static void test_process_context_reader__bad_headers(void **state)
{
	struct header *header = publish("OTEL_CTX", process_context_message("trainer", three_keys, 3), 12345);
	const struct header good = *header;
	struct header bad;

	(void)state;
	bad = good, bad.published_at_ns = 0;
	assert_int_equal(read_changed(header, bad), -EAGAIN);
	bad = good, memset(bad.signature, 0, 8);
	assert_int_equal(read_changed(header, bad), -EAGAIN);
	bad = good, bad.signature[7] = 'Y';
	assert_int_equal(read_changed(header, bad), -EPROTO);
	bad = good, bad.version = 3;
	assert_int_equal(read_changed(header, bad), -EPROTONOSUPPORT);
	bad = good, bad.payload_bytes = PROCESS_CONTEXT_PAYLOAD_MAX + 1;
	assert_int_equal(read_changed(header, bad), -EMSGSIZE);
	bad = good, bad.payload = 16;
	assert_int_equal(read_changed(header, bad), -EIO);
	bad = good, bad.payload = UINT64_MAX - 8;
	assert_int_equal(read_changed(header, bad), -EPROTO);
	bad = good, bad.payload = (uintptr_t)header + 131072 - 8;
	assert_int_not_equal(read_changed(header, bad), 0);
	munmap(header, 131072);
}

/* Where the payload may be: SDKs have it in their heap. A file's pages may never come. */
static void test_process_context_reader__payload_elsewhere(void **state)
{
	const struct bytes *message = process_context_message("trainer", three_keys, 3);
	struct header *header = publish("OTEL_CTX", message, 12345);
	struct process_context context;
	struct header moved = *header;
	char path[] = "/tmp/test_process_context.XXXXXX";
	int fd = mkstemp(path);
	void *heap = malloc(message->n), *file;

	(void)state;
	unlink(path);
	memcpy(heap, message->data, message->n);
	moved.payload = (uintptr_t)heap;
	assert_int_equal(read_child(header, &moved, &context), 0);
	assert_string_equal(context.service_name, "trainer");
	process_context_release(&context);
	assert_int_equal(write(fd, message->data, message->n), message->n);
	file = mmap(NULL, message->n, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(file != MAP_FAILED);
	moved.payload = (uintptr_t)file;
	assert_int_equal(read_changed(header, moved), -EIO);
	munmap(file, message->n);
	munmap(header, 131072);
	free(heap);
	close(fd);
}

/* stalltag's has the one key ai_tag; an SDK's, which has others, wins whichever is newer. Else the newest. */
static void test_process_context_reader__several(void **state)
{
	struct header *old = publish("OTEL_CTX", process_context_message("old", three_keys + 1, 1), 100);
	struct header *new = publish("OTEL_CTX", process_context_message("new", three_keys + 1, 1), 200);
	struct process_context context;
	struct header *sdk, *keyless;

	(void)state;
	assert_int_equal(read_child(old, old, &context), 0);
	assert_string_equal(context.service_name, "new");
	process_context_release(&context);
	keyless = publish("OTEL_CTX", process_context_message("keyless", NULL, 0), 300);
	assert_int_equal(read_child(old, old, &context), 0);
	assert_string_equal(context.service_name, "new");
	process_context_release(&context);
	sdk = publish("OTEL_CTX", process_context_message("sdk", three_keys + 2, 1), 50);
	assert_int_equal(read_child(old, old, &context), 0);
	assert_string_equal(context.service_name, "sdk");
	assert_string_equal(context.keys[0], "user");
	process_context_release(&context);
	munmap(keyless, 131072);
	munmap(old, 131072);
	munmap(new, 131072);
	munmap(sdk, 131072);
}

static void test_process_context_reader__none(void **state)
{
	struct process_context context;

	(void)state;
	assert_int_equal(read_process(getpid(), &context), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_context_reader__process_context),
		cmocka_unit_test(test_process_context_reader__bare_resource),
		cmocka_unit_test(test_process_context_reader__parts_absent),
		cmocka_unit_test(test_process_context_reader__the_last_of_equal_keys),
		cmocka_unit_test(test_process_context_reader__too_long),
		cmocka_unit_test(test_process_context_reader__deep_nesting),
		cmocka_unit_test(test_process_context_reader__damaged),
		cmocka_unit_test(test_process_context_reader__is_mapping),
		cmocka_unit_test(test_process_context_reader__of_a_process),
		cmocka_unit_test(test_process_context_reader__bad_headers),
		cmocka_unit_test(test_process_context_reader__payload_elsewhere),
		cmocka_unit_test(test_process_context_reader__several),
		cmocka_unit_test(test_process_context_reader__none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
