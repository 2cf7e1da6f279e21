/*
 * Whose fault it is that a server answers a window with 5xx each time: mostly the server's, and the window waits until that works again.
 * But one window may be what it cannot take, and all behind that would wait for ever. So, when the first window that waits was
 * refused WINDOW_REFUSALS times in a row, and for WINDOW_REFUSALS_NS, one behind it is tried with each further try (outbox.h says which).
 * If the server takes all of that one, the first has one more try, as the server may have come back just then; if that is refused, too,
 * the window is set aside. While the server takes none of them it is down, and all keep waiting.
 *
 * What the server's sums lack then is what that window's requests hold (push_debts.h), until they are sent after all.
 */
#ifndef STALLPROF_PROFILER_WINDOW_REFUSALS_H
#define STALLPROF_PROFILER_WINDOW_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

/* With the delays of sink_push.c the seventh refusal is the first after that time. */
#define WINDOW_REFUSALS    5
#define WINDOW_REFUSALS_NS (60 * UINT64_C(1000000000))

/* Of a window, while it is the first that waits. All 0: it was not refused since the server took, or said, something else. */
struct window_refusals {
	unsigned int n;    /* in a row */
	uint64_t since_ns; /* the first of them, of CLOCK_MONOTONIC */
	uint64_t taken;    /* as of the last of them */
	bool next_tried;   /* after the last of them */
};

enum window_verdict {
	WINDOW_WAITS,
	WINDOW_TRY_NEXT, /* one behind it, and then this one again */
	WINDOW_SET_ASIDE
};

/* The first window is refused. `taken`: windows that the server has taken whole so far. */
enum window_verdict window_refusals_add(struct window_refusals *refusals, uint64_t now_ns, uint64_t taken);

#endif
