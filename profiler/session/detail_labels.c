/* The table of what a cause's details are. */

#include "profiler/session/detail_labels.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "pprof/utf8.h"
#include "symbolizer/symbolizer.h"

/* A number that stands for one of these texts, from 1 on; or itself, without names. */
struct number {
	const char *label;
	const char *const *names;
	size_t n_names;
};

struct details {
	const char *text[ABI_DETAIL_TEXTS];
	struct number number[ABI_DETAIL_NUMBERS];
};

#define NAMED(label, names)                                                                                  \
	{                                                                                                    \
		label, names, sizeof(names) / sizeof(names[0])                                               \
	}

static const char *const nvme_states[] = {
	[ABI_NVME_NEW] = "new",
	[ABI_NVME_LIVE] = "live",
	[ABI_NVME_RESETTING] = "resetting",
	[ABI_NVME_CONNECTING] = "connecting",
	[ABI_NVME_DELETING] = "deleting",
	[ABI_NVME_DEAD] = "dead",
};

static const char *const tag_pools[] = {
	[ABI_POOL_HARDWARE] = "hardware",
	[ABI_POOL_SCHEDULER] = "scheduler",
	[ABI_POOL_RESERVED] = "reserved",
};

static const char *const gpu_drivers[] = {
	[ABI_GPU_VIRTIO] = "virtio_gpu", [ABI_GPU_I915] = "i915",     [ABI_GPU_XE] = "xe",
	[ABI_GPU_NOUVEAU] = "nouveau",   [ABI_GPU_AMDGPU] = "amdgpu",
};

static const struct details gpu = {
	.text = { "driver", "timeline" },
	.number = { [ABI_GPU_CONTEXT] = { .label = "context" }, [ABI_GPU_SEQNO] = { .label = "seqno" } },
};

static const struct details nvme = {
	.number = { [ABI_NVME_QID] = { .label = "qid" },
	            [ABI_NVME_STATE] = NAMED("controller_state", nvme_states) },
};

static const struct details tag_wait = {
	.number = { [ABI_TAG_HCTX] = { .label = "hctx" },
	            [ABI_TAG_POOL] = NAMED("pool", tag_pools),
	            [ABI_TAG_DEPTH] = { .label = "depth" } },
};

static const struct details wait = { .text = { "woken_by" } };

static const struct details *const by_cause[ABI_CAUSE_MAX] = {
	[ABI_CAUSE_TAG_WAIT] = &tag_wait, [ABI_CAUSE_GPU_RING] = &gpu,    [ABI_CAUSE_GPU_FENCE] = &gpu,
	[ABI_CAUSE_NVME_TIMEOUT] = &nvme, [ABI_CAUSE_NVME_ABORT] = &nvme, [ABI_CAUSE_NVME_RESET] = &nvme,
};

/* NULL: there are none. */
static const struct details *details_of(uint32_t cause)
{
	if (cause >= ABI_WAIT_OTHER && cause < ABI_WAIT_END)
		return &wait;
	return cause < ABI_CAUSE_MAX ? by_cause[cause] : NULL;
}

static bool known(const struct abi_detail *detail, unsigned int i)
{
	return detail->known & 1U << i;
}

static const char *name_of(const char *const *names, size_t n_names, uint64_t number)
{
	return number < n_names ? names[number] : NULL;
}

/* Whose function it is: "[vgem]" without its brackets, or of one that is built into the kernel, "[kernel.kallsyms]_stext", what stands
 * before "_get_driver_name". */
static void name_by_function(char *text, size_t size, const struct sym_result *function)
{
	const char *name = function->frames[0].function, *end = strstr(name, "_get_driver_name");
	const char *module = function->module ? function->module->path : "";
	size_t length = end ? (size_t)(end - name) : strlen(name);

	if (*module == '[' && strchr(module, 0)[-1] == ']') {
		name = module + 1;
		length = strcspn(name, "]");
	}
	if (*name != '[') /* the symbolizer's, of an address without a name */
		snprintf(text, size, "%.*s", (int)(length < size ? length : size - 1), name);
}

/* A driver that did not come by its name. */
static void name_driver(struct abi_detail *detail, struct symbolizer *symbolizer)
{
	uint64_t function = detail->number[ABI_GPU_FUNCTION];
	const char *name = name_of(gpu_drivers, sizeof(gpu_drivers) / sizeof(gpu_drivers[0]),
	                           detail->number[ABI_GPU_DRIVER]);
	struct sym_result result;

	if (detail->text[0][0])
		return;
	if (function && symbolizer && !symbolizer_kernel(symbolizer, function, false, &result))
		name_by_function(detail->text[0], sizeof(detail->text[0]), &result);
	if (!detail->text[0][0] && name)
		snprintf(detail->text[0], sizeof(detail->text[0]), "%s", name);
}

/* Without what is not known, or has no label. */
static void tidy(struct abi_detail *to, const struct abi_detail *from, const struct details *details)
{
	memset(to, 0, sizeof(*to));
	to->cause = from->cause;
	for (unsigned int i = 0; i < ABI_DETAIL_TEXTS; i++)
		if (details->text[i])
			snprintf(to->text[i], sizeof(to->text[i]), "%.*s", (int)sizeof(from->text[i]) - 1,
			         from->text[i]);
	for (unsigned int i = 0; i < ABI_DETAIL_NUMBERS; i++)
		if (known(from, i)) {
			to->known |= 1U << i;
			to->number[i] = from->number[i];
		}
}

/* What came behind the event; NULL: it is not of the event's cause, or that has no details. */
static const struct details *behind(const struct abi_event *event, struct abi_detail *came)
{
	memcpy(came, (const char *)(event + 1) + abi_detail_offset(event->ustack_len, event->n_python),
	       sizeof(*came));
	return came->cause == event->cause ? details_of(came->cause) : NULL;
}

/* The wait was cut short by a signal that we sent, at the end of a recording. */
static bool is_ended_by_us(const struct abi_detail *came)
{
	return known(came, ABI_WAKER_TID) && came->number[ABI_WAKER_TID] == (uint64_t)getpid();
}

bool detail_waker(const struct abi_event *event, struct detail_waker *waker)
{
	struct abi_detail came;

	if (!event->has_detail || behind(event, &came) != &wait || !known(&came, ABI_WAKER_TID) ||
	    is_ended_by_us(&came))
		return false;
	*waker = (struct detail_waker){ .tid = (uint32_t)came.number[ABI_WAKER_TID],
		                        .tag = came.number[ABI_WAKER_TAG],
		                        .creator = (uint32_t)came.number[ABI_WAKER_CREATOR],
		                        .born_ns = came.number[ABI_WAKER_BORN_NS] };
	return waker->tid;
}

bool detail_of_wait(const struct abi_event *event, detail_class_fn class_of, void *context,
                    struct abi_detail *detail)
{
	struct abi_detail came;
	const char *name;

	if (behind(event, &came) != &wait || is_ended_by_us(&came))
		return false;
	came.text[0][sizeof(came.text[0]) - 1] = '\0';
	name = came.number[ABI_WAKER_TAG] ? class_of(context, came.number[ABI_WAKER_TAG]) : came.text[0];
	memset(detail, 0, sizeof(*detail)); /* also between its members: two are compared byte by byte */
	detail->cause = came.cause;
	utf8_clean(detail->text[0], sizeof(detail->text[0]), name, strlen(name));
	return detail->text[0][0];
}

bool detail_of_event(const struct abi_event *event, struct symbolizer *symbolizer, struct abi_detail *detail)
{
	struct abi_detail came;
	const struct details *details = behind(event, &came);

	if (!details || details == &wait)
		return false;
	tidy(detail, &came, details);
	if (details == &gpu) {
		name_driver(detail, symbolizer);
		detail->number[ABI_GPU_FUNCTION] = detail->number[ABI_GPU_DRIVER] = 0;
		detail->known &= ~(1U << ABI_GPU_FUNCTION | 1U << ABI_GPU_DRIVER);
	}
	return true;
}

size_t detail_labels(const struct abi_detail *detail, struct profile_label *labels)
{
	const struct details *details = details_of(detail->cause);
	size_t n = 0;

	for (unsigned int i = 0; i < ABI_DETAIL_TEXTS; i++)
		if (details->text[i] && detail->text[i][0])
			labels[n++] =
			        (struct profile_label){ .key = details->text[i], .str = detail->text[i] };
	for (unsigned int i = 0; i < ABI_DETAIL_NUMBERS; i++) {
		const struct number *number = &details->number[i];
		const char *name = name_of(number->names, number->n_names, detail->number[i]);

		if (!number->label || !known(detail, i) || (number->names && !name))
			continue;
		labels[n++] = name ? (struct profile_label){ .key = number->label, .str = name }
		                   : (struct profile_label){ .key = number->label,
			                                     .num = (int64_t)detail->number[i],
			                                     .unit = DETAIL_UNIT };
	}
	return n;
}

bool detail_has_label(const char *name)
{
	for (uint32_t cause = 0; cause < ABI_WAIT_END; cause++) {
		const struct details *details = details_of(cause);

		for (size_t i = 0; details && i < ABI_DETAIL_TEXTS; i++)
			if (details->text[i] && !strcmp(details->text[i], name))
				return true;
		for (size_t i = 0; details && i < ABI_DETAIL_NUMBERS; i++)
			if (details->number[i].label && !strcmp(details->number[i].label, name))
				return true;
	}
	return false;
}
