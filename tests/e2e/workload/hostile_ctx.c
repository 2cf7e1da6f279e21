/*
 * hostile_ctx: publishes OpenTelemetry contexts (OTEP 4947, 4719) that lie, and stalls under them. A reader
 * must survive each and may believe only what is well-formed.
 *
 *   hostile_ctx --dir DIR --kind KIND [--seconds S]      hostile_ctx --list
 *
 * Writes and syncs for S seconds (1.0), then prints {"kind", "pid", "calls", "waited_ns"}. Kind `honest`
 * publishes a good context (span id 0x1122334455667788, ai_tag "hostile/honest") and shows that the reader
 * reads this program at all. `held_back` is a good one, too, whose page cannot be read from a second on,
 * as the kernel holds those back that a thread has not touched for a while (NUMA balancing, swap).
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/coldfile.h"
#include "tests/e2e/workload/stalled_write.h"

#define PAGE        4096u
#define PAYLOAD_MAX 65536u
#define ROOM        (64u << 10)
#define HONEST_TAG  "hostile/honest"
#define SMALL_CHUNK 65536u

struct record {
	uint8_t trace_id[16], span_id[8], valid, trace_flags;
	uint16_t attrs_size;
	uint8_t attrs[];
} __attribute__((packed));

struct process_header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at_ns;
	const uint8_t *payload;
};

struct stage {
	struct record *record; /* 64 KiB of room, followed by a page that can't be read */
	struct process_header *process;
	uint8_t *payload; /* PAYLOAD_MAX of room */
};

struct kind {
	const char *name;
	void (*set_up)(struct stage *stage);
};

extern __thread void *otel_thread_ctx_v1;
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

static _Atomic bool over;

/* --- an honest context, which the kinds then spoil
 * ----------------------------------------------------------- */

/* A protobuf field of bytes: tag, length (below 16384), content. Returns the end. */
static uint8_t *put_bytes(uint8_t *at, unsigned int field, const void *bytes, size_t len)
{
	*at++ = (uint8_t)(field << 3 | 2);
	*at++ = (uint8_t)(len & 0x7f) | 0x80;
	*at++ = (uint8_t)(len >> 7);
	memcpy(at, bytes, len);
	return at + len;
}

/* KeyValue { key = 1, value = 2 } as attribute (field 2) of ProcessContext. */
static uint8_t *put_attribute(uint8_t *at, const char *key, const uint8_t *value, size_t len)
{
	uint8_t pair[1024], *end = put_bytes(pair, 1, key, strlen(key));

	end = put_bytes(end, 2, value, len);
	return put_bytes(at, 2, pair, (size_t)(end - pair));
}

/* threadlocal.schema_version and an attribute_key_map of the one name `key`. */
static uint8_t *put_payload(uint8_t *at, const char *key)
{
	uint8_t text[600], list[600], value[600], *end = put_bytes(text, 1, "tlsdesc_v1_dev", 14);

	at = put_attribute(at, "threadlocal.schema_version", text, (size_t)(end - text));
	end = put_bytes(text, 1, key, strlen(key));            /* AnyValue.string_value */
	end = put_bytes(list, 1, text, (size_t)(end - text));  /* ArrayValue.values */
	end = put_bytes(value, 5, list, (size_t)(end - list)); /* AnyValue.array_value */
	return put_attribute(at, "threadlocal.attribute_key_map", value, (size_t)(end - value));
}

static void put_tag(struct record *record, const char *tag, size_t len)
{
	record->attrs[0] = 0;
	record->attrs[1] = (uint8_t)len;
	memcpy(record->attrs + 2, tag, len);
	record->attrs_size = (uint16_t)(len + 2);
}

static void be_honest(struct stage *stage)
{
	static const uint8_t span[8] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
	struct process_header *process = stage->process;

	memset(stage->record->trace_id, 0x5a, sizeof(stage->record->trace_id));
	memcpy(stage->record->span_id, span, sizeof(span));
	stage->record->valid = 1;
	put_tag(stage->record, HONEST_TAG, strlen(HONEST_TAG));
	process->payload = stage->payload;
	process->payload_size = (uint32_t)(put_payload(stage->payload, "ai_tag") - stage->payload);
	process->version = 2;
	process->published_at_ns = monotonic_ns();
	memcpy(process->signature, "OTEL_CTX", sizeof(process->signature));
	otel_thread_ctx_v1 = stage->record;
}

/* --- thread contexts
 * ----------------------------------------------------------------------------------------- */

static void wild_pointer(struct stage *stage)
{
	(void)stage;
	otel_thread_ctx_v1 = (void *)0x7fffdeadb000;
}

static void kernel_pointer(struct stage *stage)
{
	(void)stage;
	otel_thread_ctx_v1 = (void *)0xffffffff81000000;
}

static void non_canonical(struct stage *stage)
{
	(void)stage;
	otel_thread_ctx_v1 = (void *)0xdead000000000100;
}

static void odd_pointer(struct stage *stage)
{
	memmove((char *)stage->record + 1, stage->record, 640);
	otel_thread_ctx_v1 = (char *)stage->record + 1;
}

/* The head lies in the last readable bytes: head or attributes run into the page that can't be read. */
static void cut_head(struct stage *stage)
{
	otel_thread_ctx_v1 = memcpy((char *)stage->record + ROOM - 20, stage->record, 20);
}

static void cut_attributes(struct stage *stage)
{
	stage->record->attrs_size = 600;
	otel_thread_ctx_v1 = memcpy((char *)stage->record + ROOM - 40, stage->record, 40);
}

static void huge_size(struct stage *stage)
{
	stage->record->attrs_size = UINT16_MAX;
	memset(stage->record->attrs, 0xff, UINT16_MAX - sizeof(struct record) - 64);
}

static void many_entries(struct stage *stage)
{
	stage->record->attrs_size = 612;
	memset(stage->record->attrs, 0, 612);
}

static void entry_overruns(struct stage *stage)
{
	stage->record->attrs[1] = 255;
}

static void half_entry(struct stage *stage)
{
	stage->record->attrs_size = 1;
}

static void long_name(struct stage *stage)
{
	char name[255];

	memset(name, 'x', sizeof(name));
	put_tag(stage->record, name, sizeof(name));
}

static void binary_name(struct stage *stage)
{
	static const char name[] = "a\0b\n\r\t\x1b[2J\"\\\xff\xfe\xc3\x28 %s%n ../../{}=,";

	put_tag(stage->record, name, sizeof(name));
}

static void empty_name(struct stage *stage)
{
	put_tag(stage->record, "", 0);
}

static void unknown_key(struct stage *stage)
{
	stage->record->attrs[0] = 200;
}

static void zero_ids(struct stage *stage)
{
	memset(stage->record->trace_id, 0, sizeof(stage->record->trace_id) + sizeof(stage->record->span_id));
}

static void strange_valid(struct stage *stage)
{
	stage->record->valid = 2;
}

static void not_valid(struct stage *stage)
{
	stage->record->valid = 0;
}

static void *keep_changing(void *arg)
{
	volatile struct record *record = arg;
	uint64_t random = 88172645463325252ull;

	while (!over) {
		uint64_t x = coldfile_random(&random);

		record->attrs_size = (uint16_t)x;
		record->valid = (uint8_t)(x >> 16 & 1);
		record->attrs[1] = (uint8_t)(x >> 24);
		record->span_id[x >> 32 & 7] = (uint8_t)(x >> 40);
		usleep(20);
	}
	return NULL;
}

static void changing(struct stage *stage)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, keep_changing, stage->record) == 0)
		pthread_detach(thread);
}

/* A new id before each wait: a ledger keyed by id must not grow without end. */
static void *keep_counting(void *arg)
{
	struct record *record = arg;

	for (uint64_t id = 1; !over; id++) {
		memcpy(record->span_id, &id, sizeof(id));
		usleep(5);
	}
	return NULL;
}

static void endless_ids(struct stage *stage)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, keep_counting, stage->record) == 0)
		pthread_detach(thread);
}

static void *hold_back(void *arg)
{
	sleep(1);
	mprotect(arg, PAGE, PROT_NONE);
	return NULL;
}

static void held_back(struct stage *stage)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, hold_back, stage->record) == 0)
		pthread_detach(thread);
}

/* --- process contexts
 * ---------------------------------------------------------------------------------------- */

static void process_wild_payload(struct stage *stage)
{
	stage->process->payload = (const uint8_t *)0x7fffdeadb000;
}

static void process_huge_payload(struct stage *stage)
{
	stage->process->payload_size = UINT32_MAX;
}

static void process_garbage(struct stage *stage)
{
	uint64_t random = 42;

	for (size_t i = 0; i < PAYLOAD_MAX; i++)
		stage->payload[i] = (uint8_t)coldfile_random(&random);
	stage->process->payload_size = PAYLOAD_MAX;
}

static void process_cut(struct stage *stage)
{
	stage->process->payload_size -= 5;
}

static void process_updating(struct stage *stage)
{
	stage->process->published_at_ns = 0;
}

static void process_wrong_version(struct stage *stage)
{
	stage->process->version = 77;
}

static void process_long_key(struct stage *stage)
{
	char key[400];

	memset(key, 'k', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	stage->process->payload_size = (uint32_t)(put_payload(stage->payload, key) - stage->payload);
}

/* Lists in lists, each two levels (AnyValue > ArrayValue) of a message nested far deeper than any schema. */
static void process_nested(struct stage *stage)
{
	uint8_t *at = stage->payload + PAYLOAD_MAX;

	for (size_t len = 0; len < 12000; len = (size_t)(stage->payload + PAYLOAD_MAX - at)) {
		*--at = (uint8_t)(len >> 7);
		*--at = (uint8_t)(len & 0x7f) | 0x80;
		*--at = (uint8_t)((len % 2 ? 1u : 5u) << 3 | 2);
	}
	stage->process->payload = at;
	stage->process->payload_size = (uint32_t)(stage->payload + PAYLOAD_MAX - at);
}

static const struct kind KINDS[] = {
	{ "honest", NULL },
	{ "wild_pointer", wild_pointer },
	{ "kernel_pointer", kernel_pointer },
	{ "non_canonical", non_canonical },
	{ "odd_pointer", odd_pointer },
	{ "cut_head", cut_head },
	{ "cut_attributes", cut_attributes },
	{ "huge_size", huge_size },
	{ "many_entries", many_entries },
	{ "entry_overruns", entry_overruns },
	{ "half_entry", half_entry },
	{ "long_name", long_name },
	{ "binary_name", binary_name },
	{ "empty_name", empty_name },
	{ "unknown_key", unknown_key },
	{ "zero_ids", zero_ids },
	{ "strange_valid", strange_valid },
	{ "not_valid", not_valid },
	{ "changing", changing },
	{ "endless_ids", endless_ids },
	{ "held_back", held_back },
	{ "process_wild_payload", process_wild_payload },
	{ "process_huge_payload", process_huge_payload },
	{ "process_garbage", process_garbage },
	{ "process_cut", process_cut },
	{ "process_updating", process_updating },
	{ "process_wrong_version", process_wrong_version },
	{ "process_long_key", process_long_key },
	{ "process_nested", process_nested },
};

#define KINDS_COUNT (sizeof(KINDS) / sizeof(KINDS[0]))

static int stage_open(struct stage *stage)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	char *room = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || room == MAP_FAILED || ftruncate(fd, PAGE) || mprotect(room + ROOM, PAGE, PROT_NONE))
		return -errno;
	stage->record = (struct record *)room;
	stage->payload = malloc(PAYLOAD_MAX);
	stage->process = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	return stage->payload && stage->process != MAP_FAILED ? 0 : -ENOMEM;
}

static int run(const char *dir, const struct kind *kind, double seconds)
{
	struct stalled_write write;
	struct stage stage;
	uint64_t waited_ns = 0, until, calls = 0;
	int err = stalled_write_open(&write, dir, SMALL_CHUNK);

	if (!err)
		err = stage_open(&stage);
	if (err) {
		fprintf(stderr, "hostile_ctx: %s\n", strerror(-err));
		return 1;
	}
	be_honest(&stage);
	if (kind->set_up)
		kind->set_up(&stage);
	until = monotonic_ns() + (uint64_t)(seconds * 1e9);
	for (; !err && monotonic_ns() < until; calls++)
		err = stalled_write_once(&write, &waited_ns);
	over = true;
	otel_thread_ctx_v1 = NULL;
	printf("{\"kind\": \"%s\", \"pid\": %d, \"calls\": %" PRIu64 ", \"waited_ns\": %" PRIu64 "}\n",
	       kind->name, (int)getpid(), calls, waited_ns);
	stalled_write_close(&write);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 4 && !strcmp(argv[1], "--dir") ? argv[2] : NULL;
	const char *name = argc > 4 && !strcmp(argv[3], "--kind") ? argv[4] : "";
	double seconds = argc > 6 && !strcmp(argv[5], "--seconds") ? strtod(argv[6], NULL) : 1.0;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < KINDS_COUNT; i++)
			puts(KINDS[i].name);
		return 0;
	}
	for (size_t i = 0; dir && i < KINDS_COUNT; i++)
		if (!strcmp(KINDS[i].name, name))
			return run(dir, &KINDS[i], seconds);
	fprintf(stderr, "usage: hostile_ctx --dir DIR --kind KIND [--seconds S] | --list\n");
	return 2;
}
