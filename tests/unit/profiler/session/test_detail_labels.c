/* Tests of detail_labels.h: what comes behind an event, and the labels that are made of it. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "pprof/profile.h"
#include "profiler/config/config_settings.h"
#include "profiler/session/detail_labels.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

#define VGEM    0xffffffffc0123000ULL
#define BUILTIN 0xffffffff81002000ULL

static const char kallsyms[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81002000 t virtio_gpu_get_driver_name\n"
                               "ffffffff81003000 T _etext\n"
                               "ffffffffc0123000 t vgem_fence_get_driver_name\t[vgem]\n";

/* An event with so much of a stack and so many Python frames, and the detail behind them. */
static struct {
	struct abi_event event;
	unsigned char behind[4096];
} sent;

static struct symbolizer *symbolizer;
static struct abi_detail detail;
static struct profile_label labels[DETAIL_LABELS_MAX];
static size_t n_labels;

static int open_symbols(void **state)
{
	struct symbolizer_opts opts = { .proc = program_dir,
		                        .sys = program_dir,
		                        .kernel_release = "9.9-test" };

	if (program_dir_make_with(state, "kallsyms", kallsyms))
		return -1;
	symbolizer = symbolizer_new(&opts);
	return symbolizer ? 0 : -1;
}

static int close_symbols(void **state)
{
	symbolizer_free(symbolizer);
	return program_dir_remove(state);
}

static void send_detail(unsigned int cause, const struct abi_detail *what, unsigned int stack,
                        unsigned int python)
{
	memset(&sent, 0x5a, sizeof(sent));
	sent.event.cause = (uint16_t)cause;
	sent.event.has_detail = 1;
	sent.event.ustack_len = stack;
	sent.event.n_python = python;
	memcpy(sent.behind + abi_detail_offset(stack, python), what, sizeof(*what));
}

/* The labels of a detail of the event's cause. */
static void take(const struct abi_detail *what)
{
	send_detail(what->cause, what, 0, 0);
	assert_true(detail_of_event(&sent.event, symbolizer, &detail));
	n_labels = detail_labels(&detail, labels);
}

static const struct profile_label *label(const char *key)
{
	for (size_t i = 0; i < n_labels; i++)
		if (!strcmp(labels[i].key, key))
			return &labels[i];
	return NULL;
}

static void assert_text(const char *key, const char *text)
{
	assert_non_null(label(key));
	assert_string_equal(label(key)->str, text);
}

static void assert_number(const char *key, int64_t number)
{
	assert_non_null(label(key));
	assert_null(label(key)->str);
	assert_int_equal(label(key)->num, number);
	assert_string_equal(label(key)->unit, DETAIL_UNIT);
}

static struct abi_detail fence(void)
{
	return (struct abi_detail){ .cause = ABI_CAUSE_GPU_FENCE,
		                    .known = 1U << ABI_GPU_CONTEXT | 1U << ABI_GPU_SEQNO,
		                    .number = { [ABI_GPU_CONTEXT] = 40, [ABI_GPU_SEQNO] = 7 },
		                    .text = { "vgem", "unbound" } };
}

static void test_detail_labels__a_fence(void **state)
{
	struct abi_detail what = fence();

	(void)state;
	take(&what);
	assert_int_equal(n_labels, 4);
	assert_text("driver", "vgem");
	assert_text("timeline", "unbound");
	assert_number("context", 40);
	assert_number("seqno", 7);
}

/* Without the tracepoint's record the driver is known by one of its functions. */
static void test_detail_labels__a_driver_by_its_function(void **state)
{
	static const struct {
		uint64_t function;
		const char *name; /* NULL: no label */
	} drivers[] = { { VGEM, "vgem" },
		        { VGEM + 4, "vgem" },
		        { BUILTIN, "virtio_gpu" },
		        { 0, NULL },
		        { 0x1000, NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		struct abi_detail what = fence();

		what.text[0][0] = what.text[1][0] = 0;
		what.known |= 1U << ABI_GPU_FUNCTION;
		what.number[ABI_GPU_FUNCTION] = drivers[i].function;
		take(&what);
		assert_int_equal(n_labels, drivers[i].name ? 3 : 2);
		if (drivers[i].name)
			assert_text("driver", drivers[i].name);
	}
}

static void test_detail_labels__a_ring_has_its_driver(void **state)
{
	struct abi_detail what = { .cause = ABI_CAUSE_GPU_RING,
		                   .known = 1U << ABI_GPU_DRIVER,
		                   .number = { [ABI_GPU_DRIVER] = ABI_GPU_XE } };

	(void)state;
	take(&what);
	assert_int_equal(n_labels, 1);
	assert_text("driver", "xe");
	what.number[ABI_GPU_DRIVER] = 1000;
	take(&what);
	assert_int_equal(n_labels, 0);
}

static void test_detail_labels__a_command_of_nvme(void **state)
{
	struct abi_detail what = { .known = 1U << ABI_NVME_QID | 1U << ABI_NVME_STATE,
		                   .number = { [ABI_NVME_QID] = 3, [ABI_NVME_STATE] = ABI_NVME_CONNECTING } };

	(void)state;
	for (what.cause = ABI_CAUSE_NVME_TIMEOUT; what.cause <= ABI_CAUSE_NVME_RESET; what.cause++) {
		take(&what);
		assert_int_equal(n_labels, 2);
		assert_number("qid", 3);
		assert_text("controller_state", "connecting");
	}
}

/* A number that is 0 is one; a number that is not known is none, nor is one that stands for nothing. */
static void test_detail_labels__zero_and_unknown(void **state)
{
	struct abi_detail what = { .cause = ABI_CAUSE_TAG_WAIT,
		                   .known = 1U << ABI_TAG_HCTX | 1U << ABI_TAG_POOL,
		                   .number = { [ABI_TAG_POOL] = ABI_POOL_RESERVED, [ABI_TAG_DEPTH] = 64 } };

	(void)state;
	take(&what);
	assert_int_equal(n_labels, 2);
	assert_number("hctx", 0);
	assert_text("pool", "reserved");
	what.number[ABI_TAG_POOL] = ABI_POOL_RESERVED + 1;
	take(&what);
	assert_int_equal(n_labels, 1);
	what.number[ABI_TAG_POOL] = 0;
	take(&what);
	assert_int_equal(n_labels, 1);
}

static void test_detail_labels__of_another_cause(void **state)
{
	struct abi_detail what = fence();

	(void)state;
	send_detail(ABI_CAUSE_GPU_RING, &what, 0, 0);
	assert_false(detail_of_event(&sent.event, NULL, &detail));
	what.cause = ABI_CAUSE_BLOCK_IO; /* which has none */
	send_detail(ABI_CAUSE_BLOCK_IO, &what, 0, 0);
	assert_false(detail_of_event(&sent.event, NULL, &detail));
	what.cause = ABI_CAUSE_MAX;
	send_detail(ABI_CAUSE_MAX, &what, 0, 0);
	assert_false(detail_of_event(&sent.event, NULL, &detail));
}

static void test_detail_labels__lies_behind_the_stacks(void **state)
{
	static const unsigned int stacks[] = { 0, 1, 8, 1001 }, pythons[] = { 0, 1, 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		for (size_t j = 0; j < sizeof(pythons) / sizeof(pythons[0]); j++) {
			struct abi_detail what = fence();

			send_detail(what.cause, &what, stacks[i], pythons[j]);
			assert_true(detail_of_event(&sent.event, NULL, &detail));
			assert_int_equal(detail.number[ABI_GPU_CONTEXT], 40);
			assert_string_equal(detail.text[1], "unbound");
		}
}

/* What the kernel's side left from an earlier wait makes no difference, nor does a text without an end. */
static void test_detail_labels__what_is_void_makes_no_difference(void **state)
{
	struct abi_detail what = fence(), first;

	(void)state;
	take(&what);
	first = detail;
	memset(what.text[0] + sizeof("vgem"), 'x', sizeof(what.text[0]) - sizeof("vgem"));
	what.number[ABI_GPU_FUNCTION] = VGEM;
	what.number[ABI_GPU_DRIVER] = ABI_GPU_XE;
	take(&what);
	assert_memory_equal(&detail, &first, sizeof(detail));
	what.number[ABI_GPU_SEQNO]++;
	take(&what);
	assert_memory_not_equal(&detail, &first, sizeof(detail));
	memset(what.text[1], 'x', sizeof(what.text[1]));
	take(&what);
	assert_int_equal(strlen(label("timeline")->str), sizeof(what.text[1]) - 1);
}

static const char *class_of(void *context, uint64_t tag)
{
	assert_ptr_equal(context, labels);
	return tag == 7 ? "holder" : "a-name-of-more-than-thirty-one-b\xc3\xa4ttes";
}

/* Who ended a wait that is no stall: the class of its tag, else its name. */
static void test_detail_labels__a_waker(void **state)
{
	static const struct {
		uint64_t tag;
		const char *want;
	} rows[] = { { 7, "holder" }, { 0, "python3_" }, { 8, "a-name-of-more-than-thirty-one-" } };
	struct abi_detail what = { .cause = ABI_WAIT_OTHER + 1, .known = 1, .text = { "python3\xff" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		what.number[ABI_WAKER_TAG] = rows[i].tag;
		send_detail(what.cause, &what, 0, 0);
		assert_false(detail_of_event(&sent.event, symbolizer, &detail)); /* it is no stall */
		assert_true(detail_of_wait(&sent.event, class_of, labels, &detail));
		n_labels = detail_labels(&detail, labels);
		assert_int_equal(n_labels, 1);
		assert_text("woken_by", rows[i].want);
	}
	what.text[0][0] = '\0';
	what.number[ABI_WAKER_TAG] = 0;
	send_detail(what.cause, &what, 0, 0);
	assert_false(detail_of_wait(&sent.event, class_of, labels, &detail));
}

/* Texts are labels of pushed series, of which the user may have some of his own. */
static void test_detail_labels__names(void **state)
{
	static const char *const texts[] = { "driver", "timeline", "controller_state", "pool", "woken_by" };
	static const char *const numbers[] = { "context", "seqno", "qid", "hctx", "depth" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_true(detail_has_label(texts[i]));
		assert_false(config_label_name_passes(texts[i]));
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_true(detail_has_label(numbers[i]));
	assert_false(detail_has_label("device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detail_labels__a_fence),
		cmocka_unit_test(test_detail_labels__a_driver_by_its_function),
		cmocka_unit_test(test_detail_labels__a_ring_has_its_driver),
		cmocka_unit_test(test_detail_labels__a_command_of_nvme),
		cmocka_unit_test(test_detail_labels__zero_and_unknown),
		cmocka_unit_test(test_detail_labels__of_another_cause),
		cmocka_unit_test(test_detail_labels__lies_behind_the_stacks),
		cmocka_unit_test(test_detail_labels__what_is_void_makes_no_difference),
		cmocka_unit_test(test_detail_labels__a_waker),
		cmocka_unit_test(test_detail_labels__names),
	};

	return cmocka_run_group_tests(tests, open_symbols, close_symbols);
}
