/*
 * What a thread waited for, beyond cause and device, as labels of its sample: a fence's driver, timeline, context and number; an NVMe
 * command's queue and the state of its controller; the pool and the hardware queue of a tag; who ended a long wait that is no stall.
 *
 * Texts become series at Pyroscope: few different ones only. Numbers are numeric labels of unit DETAIL_UNIT, which it drops.
 */
#ifndef STALLPROF_PROFILER_DETAIL_LABELS_H
#define STALLPROF_PROFILER_DETAIL_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

struct profile_label;
struct symbolizer;

#define DETAIL_UNIT "detail"

#define DETAIL_LABELS_MAX (ABI_DETAIL_TEXTS + ABI_DETAIL_NUMBERS)

/* Takes the detail behind the event, which must have one: what is known in a form of which two can be compared byte by byte, and with the
 * name of what the kernel's side could only tell by an address (`symbolizer` NULL: such names are left out). False: it is not of the
 * event's cause, or that cause has none. */
bool detail_of_event(const struct abi_event *event, struct symbolizer *symbolizer, struct abi_detail *detail);

/* The class of the tag with that key. */
typedef const char *(*detail_class_fn)(void *context, uint64_t tag);

/* The same of a wait that is no stall: the class of the tag of the thread that ended it, or its program's name where it holds none. */
bool detail_of_wait(const struct abi_event *event, detail_class_fn class_of, void *context,
                    struct abi_detail *detail);

/* The thread that ended that wait. */
struct detail_waker {
	uint32_t tid;
	uint64_t tag;     /* 0: it held none */
	uint32_t creator; /* the thread that made it during the wait, at born_ns; 0: it was there before */
	uint64_t born_ns;
};

/* False: it is not known. */
bool detail_waker(const struct abi_event *event, struct detail_waker *waker);

/* Writes the labels of such a detail to labels[0 …], which has room for DETAIL_LABELS_MAX; returns how many. Their texts live as long as
 * `detail`. */
size_t detail_labels(const struct abi_detail *detail, struct profile_label *labels);

/* Whether a label of some detail has that name. */
bool detail_has_label(const char *name);

#endif
