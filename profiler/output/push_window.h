/*
 * A window ready to be pushed: its series (series.h), cut into parts that a server takes at once, encoded and
 * compressed; one request each. So a window that waits for a server takes little memory, and its profile can be
 * freed. One that is in a spool (spool.h) need not have its requests in memory.
 */
#ifndef STALLPROF_PROFILER_PUSH_WINDOW_H
#define STALLPROF_PROFILER_PUSH_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/output/window_refusals.h"

struct profile;
struct push_debts;
struct series;
struct series_labels;

struct push_request {
	const struct series *series;
	void *body;
	size_t len;
};

struct push_window {
	struct series_labels *labels; /* as of the time of recording */
	struct push_request *request; /* those of one series follow each other */
	size_t n, room;               /* 0: they are in the spool, or there are none */
	/* The progress, which outlasts push_window_unload(): */
	size_t at;               /* the next to send; of those before it nothing is to be sent any more */
	unsigned int unanswered; /* tries of that one which the server may have taken, 408 and 504 included */
	bool failed;             /* a part of it was not, or will not be, pushed */
	uint64_t number;         /* in the spool; 0: it is not there */
	uint64_t file_bytes;     /* which it takes there */
	bool not_spooled;        /* it could not be put there, which was counted */
	struct window_refusals refusals;
};

/* `labels`: copied, by series_labels_now(). `debts`: of the windows before; may be NULL (series.h). NULL: no memory. What
 * can't be made is left out: `failed` is set, and `err` has a line that says why. */
struct push_window *push_window_new(const struct profile *profile, const struct series_labels *labels,
                                    uint64_t clock_hz, struct push_debts *debts, char *err, size_t err_len);
/* Takes NULL; so does the next. */
void push_window_free(struct push_window *window);
/* Frees labels and requests. */
void push_window_unload(struct push_window *window);

/* Appends a request and takes over its body. 0; -ENOMEM: the body is still the caller's. */
int push_window_add(struct push_window *window, const struct series *series, void *body, size_t len);

/* Bytes of memory that it holds. */
size_t push_window_bytes(const struct push_window *window);

/* The next request needs no more tries. */
void push_window_advance(struct push_window *window);
/* Skips the next request and those after it that are of the same series. */
void push_window_skip_series(struct push_window *window);

#endif
