/* Tests of stack_resolve.h: names of kernel frames, by a made-up kallsyms, and of user frames of this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/process/process_table.h"
#include "profiler/process/python_processes.h"
#include "bpf/abi_known.h"
#include "profiler/session/stack_memo.h"
#include "profiler/session/stack_resolve.h"
#include "profiler/format/stamp.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/fake_tracer.h"

#define CALLER 0xffffffff81001000ULL
#define ENTRY  0xffffffff81002000ULL
#define WORKER 0xffffffff81003000ULL
#define BEHIND 0xffffffff81004000ULL

static const char symbols[] = "ffffffff81000000 T _stext\n"
                              "ffffffff81001000 T caller\n"
                              "ffffffff81002000 T asm_exc_page_fault\n"
                              "ffffffff81003000 T worker\n"
                              "ffffffff81004000 T behind_worker\n"
                              "ffffffff81005000 T _etext\n";

static char dir[64];
static struct symbolizer *symbolizer;
static struct process_table *processes;
static struct stack_resolver *resolver;
static struct stack_memo *memo;
static struct profile *profile;

/* One frame more than there may be, so that a write behind the end is seen. */
static int64_t ids[STACK_FRAMES_MAX + 1];
static size_t n;

static void write_maps(uint32_t pid, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u", dir, pid);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%u/maps", dir, pid);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
	const struct profile_value_type type = { "delay", "nanoseconds" };
	struct symbolizer_opts opts = { .proc = dir, .sys = dir, .root = dir };
	char path[128];
	FILE *file;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_stack_resolve.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/kallsyms", dir);
	file = fopen(path, "we");
	if (!file || fputs(symbols, file) < 0 || fclose(file))
		return -1;
	symbolizer = symbolizer_new(&opts);
	processes = process_table_new(symbolizer, NULL);
	resolver = stack_resolver_new(symbolizer, processes, NULL);
	memo = stack_memo_new();
	profile = profile_new(&type, 1, type, 1, 64 << 20);
	memset(ids, 0, sizeof(ids));
	n = 0;
	return resolver && memo && profile ? 0 : -1;
}

static int end(void **state)
{
	char path[128];

	(void)state;
	stack_resolver_free(resolver);
	stack_memo_free(memo);
	process_table_free(processes);
	symbolizer_free(symbolizer);
	profile_free(profile);
	snprintf(path, sizeof(path), "rm -rf %s", dir);
	return system(path);
}

static void resolve(const struct abi_event *event)
{
	ids[STACK_FRAMES_MAX] = -1;
	assert_int_equal(stack_resolve(resolver, memo, event, profile, ids, &n), 0);
	assert_int_equal(ids[STACK_FRAMES_MAX], -1);
	assert_in_range(n, 1, STACK_FRAMES_MAX);
}

static void assert_names(const char *const *want, size_t n_want)
{
	for (size_t i = 0; i < n && i < n_want; i++) {
		struct profile_location_view view;

		assert_true(profile_get_location(profile, ids[i], &view));
		assert_string_equal(view.frames[0].function, want[i]);
	}
	assert_int_equal(n, n_want);
}

static struct abi_event kernel_event(uint32_t kind, const uint64_t *pcs, size_t n_pcs)
{
	struct abi_event event = { .kind = kind, .flags = ABI_KERNEL_THREAD, .tgid = 2, .tid = 2 };

	event.kstack_len = (uint32_t)n_pcs;
	if (n_pcs)
		memcpy(event.kstack, pcs, n_pcs * sizeof(*pcs));
	return event;
}

/* Of a thread that sleeps each frame is a call that has not returned: what stands before the return address counts. */
static void test_stack_resolve__sleeping(void **state)
{
	static const char *const want[] = { "caller", "worker" };
	const uint64_t pcs[] = { ENTRY, BEHIND }; /* behind calls at the very end of their functions */
	struct abi_event event = kernel_event(ABI_EVENT_WAIT, pcs, 2);

	(void)state;
	resolve(&event);
	assert_names(want, 2);
	event.kind = ABI_EVENT_INFLIGHT;
	resolve(&event);
	assert_names(want, 2);
}

/* One that runs is at its first frame's very instruction. */
static void test_stack_resolve__running(void **state)
{
	static const char *const want[] = { "worker", "worker" };
	const uint64_t pcs[] = { WORKER, BEHIND };
	struct abi_event event = kernel_event(ABI_EVENT_CPU, pcs, 2);

	(void)state;
	resolve(&event);
	assert_names(want, 2);
}

/* Behind an interrupt's or an exception's entry stands the instruction that it came in at. */
static void test_stack_resolve__interrupted(void **state)
{
	static const char *const want[] = { "caller", "asm_exc_page_fault", "worker", "caller" };
	const uint64_t pcs[] = { ENTRY - 16, ENTRY + 16, WORKER, ENTRY };
	struct abi_event event = kernel_event(ABI_EVENT_WAIT, pcs, 4);

	(void)state;
	resolve(&event);
	assert_names(want, 4);
}

static void test_stack_resolve__no_stack(void **state)
{
	static const char *const want[] = { "[no stack]" };
	struct abi_event event = kernel_event(ABI_EVENT_WAIT, NULL, 0);

	(void)state;
	resolve(&event);
	assert_names(want, 1);
}

/* --- user frames ---------------------------------------------------------------------------------------- */

/* An event of this process with what stands on a stack: by frame pointer, as this code has no rules. */
static struct abi_event user_event(uint32_t flags)
{
	struct abi_event event = {
		.kind = ABI_EVENT_WAIT, .flags = flags, .tgid = 1u << 30, .tid = 1u << 30
	};

	event.regs.ip = 0x5000;
	event.regs.sp = 0x7000;
	return event;
}

static void test_stack_resolve__what_is_missing_is_named(void **state)
{
	static const char *const not_copied[] = { "caller", "[unknown 0x5000]", "[user stack not copied]" };
	struct abi_event event = user_event(ABI_NO_USER_COPY);
	struct stamp *stamp = stamp_new();

	(void)state;
	event.state = ABI_STALL;
	event.kstack_len = 1;
	event.kstack[0] = ENTRY;
	resolve(&event);
	assert_names(not_copied, 3);
	assert_int_equal(stack_resolver_describe(resolver, stamp), 0);
	assert_int_equal(stamp_counter(stamp, "stacks_incomplete"), 1);
	assert_int_equal(stamp_counter(stamp, "stacks_without_user"), 1);
	assert_int_equal(stamp_counter(stamp, "stalls_without_user"), 1);
	stamp_free(stamp);
}

/* A wait without a copy takes the frames of an earlier one that slept with the same registers, in one window. */
static void test_stack_resolve__by_registers(void **state)
{
	static const char *const copied[] = { "[unknown 0x5000]", "[unwind truncated]" };
	static const char *const not_copied[] = { "[unknown 0x5000]", "[user stack not copied]" };
	struct abi_event event = user_event(0);
	struct stamp *stamp = stamp_new();

	(void)state;
	resolve(&event);
	assert_names(copied, 2);
	event.flags = ABI_NO_USER_COPY;
	resolve(&event);
	assert_names(copied, 2);
	event.regs.sp += 16;
	resolve(&event);
	assert_names(not_copied, 2);
	event.regs.sp -= 16;
	event.tid++;
	resolve(&event);
	assert_names(not_copied, 2);
	event.tid--;
	assert_int_equal(stack_resolver_describe(resolver, stamp), 0);
	assert_int_equal(stamp_counter(stamp, "stacks_by_registers"), 1);
	stack_memo_clear(memo);
	resolve(&event);
	assert_names(not_copied, 2);
	stamp_free(stamp);
}

/* --- more frames than fit -------------------------------------------------------------------------------- */

#define CODE       0x400000ULL /* that no file stands behind */
#define STACK      0x7000000ULL
#define MANY       2000
#define CODE_PID   (1u << 29)
#define USER_BYTES (MANY * 16u)

/* A function that was called by another, by frame pointer, and that by nobody. */
static struct abi_event *called_event(uint32_t flags)
{
	struct abi_event *event = calloc(1, sizeof(*event) + 48);
	uint64_t *stack = (uint64_t *)(event + 1);

	*event = (struct abi_event){ .kind = ABI_EVENT_WAIT,
		                     .flags = flags,
		                     .tgid = CODE_PID + 1,
		                     .tid = CODE_PID + 1,
		                     .stack_key = 7,
		                     .window = 3,
		                     .ustack_len = 48 };
	event->regs.ip = CODE;
	event->regs.sp = event->regs.bp = STACK;
	stack[0] = STACK + 16;
	stack[1] = CODE + 16;
	return event;
}

/* A stack with Python frames that has come is not sent again, whichever thread has it; what is lost of it is named, and asked for. */
static void test_stack_resolve__as_sent(void **state)
{
	static const char *const sent[] = { "[unknown 0x400000]", "[unknown 0x40000f]" };
	static const char *const lost[] = { "[unknown 0x400000]", "[user stack not copied]" };
	struct abi_event *event = called_event(0);
	const struct abi_known_stack *known;
	struct stamp *stamp = stamp_new();
	bool is_lost;

	(void)state;
	write_maps(CODE_PID + 1, "00400000-00500000 r-xp 00000000 00:00 0 \n");
	resolve(event);
	assert_names(sent, 2);
	known = stack_resolver_known(resolver, &is_lost);
	assert_true(known && known->window == 3 && known->n == 1 && known->slot[0] == 1 && !is_lost);
	event->flags = ABI_STACK_AS_SENT;
	event->stack_id = abi_stack_id(7, known->hash);
	event->tid++;
	resolve(event);
	assert_names(sent, 2);
	assert_null(stack_resolver_known(resolver, &is_lost));
	assert_false(is_lost);
	event->stack_id++; /* other C functions in it */
	resolve(event);
	assert_names(lost, 2);
	assert_null(stack_resolver_known(resolver, &is_lost));
	assert_true(is_lost);
	assert_int_equal(stack_resolver_describe(resolver, stamp), 0);
	assert_int_equal(stamp_counter(stamp, "stacks_as_sent"), 1);
	assert_int_equal(stamp_counter(stamp, "stacks_without_user"), 1);
	stamp_free(stamp);
	free(event);
}

/* A stack of which only a part was found tells others by nothing. */
static void test_stack_resolve__cut_is_not_known(void **state)
{
	struct abi_event *event = called_event(ABI_USER_FAULTED);
	bool is_lost;

	(void)state;
	write_maps(CODE_PID + 1, "00400000-00500000 r-xp 00000000 00:00 0 \n");
	event->ustack_len = 16;
	resolve(event);
	assert_null(stack_resolver_known(resolver, &is_lost));
	event->flags = ABI_USER_TRUNCATED; /* all that was copied tells them */
	resolve(event);
	assert_non_null(stack_resolver_known(resolver, &is_lost));
	free(event);
}

/* Function after function that calls by frame pointer, then a Python frame: as many as a profile's sample may have are kept. */
static void test_stack_resolve__no_more_than_fit(void **state)
{
	struct abi_event *event =
	        calloc(1, sizeof(*event) + USER_BYTES + 2 * sizeof(struct abi_python_frame));
	uint64_t *stack = (uint64_t *)(event + 1);
	struct profile_location_view view;
	struct fake_tracer fake;
	struct python_processes *pythons;

	(void)state;
	write_maps(CODE_PID, "00400000-00500000 r-xp 00000000 00:00 0 \n");
	fake_tracer_init(&fake);
	pythons = python_processes_new(&fake.tracer);
	stack_resolver_free(resolver);
	resolver = stack_resolver_new(symbolizer, processes, pythons);
	*event = (struct abi_event){ .kind = ABI_EVENT_WAIT,
		                     .flags = ABI_PYTHON_CUT,
		                     .tgid = CODE_PID,
		                     .tid = CODE_PID,
		                     .ustack_len = USER_BYTES,
		                     .n_python = 1 };
	event->regs.ip = CODE;
	event->regs.sp = event->regs.bp = STACK;
	for (uint64_t i = 0; i < MANY; i++) {
		stack[2 * i] = STACK + 16 * (i + 1);
		stack[2 * i + 1] = CODE + 16 * (i + 1);
	}
	resolve(event);
	assert_int_equal(n, STACK_FRAMES_MAX);
	profile_get_location(profile, ids[n - 1], &view);
	assert_string_equal(view.frames[0].function, "[unwind truncated]");
	profile_get_location(profile, ids[n - 2], &view);
	assert_int_equal(view.address, CODE + 16 * (STACK_FRAMES_MAX - 2) - 1);
	event->ustack_len = 32;
	memset(stack + 4, 0, sizeof(struct abi_python_frame));
	resolve(event);
	assert_int_equal(n, 5); /* three pcs, and where each of both rows was cut */
	python_processes_free(pythons);
	free(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stack_resolve__sleeping, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__running, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__interrupted, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__no_stack, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__what_is_missing_is_named, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__by_registers, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__as_sent, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__cut_is_not_known, begin, end),
		cmocka_unit_test_setup_teardown(test_stack_resolve__no_more_than_fit, begin, end),
	};

	return cmocka_run_group_tests_name("stack_resolve", tests, NULL, NULL);
}
