/* Which requests of a thread are under way: asked of the requests themselves, as hooks on their ends would miss those that are merged, or
 * that end while another does on the same CPU. */
#ifndef STALLPROF_ISSUED_BPF_H
#define STALLPROF_ISSUED_BPF_H

#include "bpf/follow.bpf.h"

/* How long a request may lie between its start and the hook that tells who issues it: in a plug, or as its thread was preempted. */
#define REQUEST_WAITED_NS 100000000

struct issued_search {
	const struct thread *t;
	u32 dev, cause; /* cause 0: none is under way */
	struct request *worst;
};

ALWAYS bool request_in_use(struct request *rq)
{
	struct request___before_5_16 *old = (void *)rq;

	if (HAS_FIELD(rq, ref.counter))
		return BPF_CORE_READ(rq, ref.counter);
	return BPF_CORE_READ(old, ref.refs.counter);
}

/* Whether the i-th request is still the thread's, and not over; 1 ends the loop. */
ALWAYS long issued_look(u32 i, struct issued_search *s)
{
	struct request *rq;
	u64 start_ns;
	u32 cause;

	if (i >= REQUESTS_KEPT)
		return 1;
	rq = (struct request *)s->t->issued[i].request;
	if (!rq || !request_in_use(rq))
		return 0;
	/* 0, or of an earlier use: the queue keeps no statistics. */
	start_ns = BPF_CORE_READ(rq, start_time_ns);
	if (start_ns + REQUEST_WAITED_NS < s->t->issued[i].ns ||
	    start_ns > s->t->issued[i].ns + REQUEST_STARTS_NS || !BPF_CORE_READ(rq, bio))
		return 0; /* in use again, by whom does not matter, or all of its data has come */
	cause = request_cause(rq, request_known(rq), queue_reset_end(BPF_CORE_READ(rq, q)));
	if (cause > s->cause) {
		s->dev = s->t->issued[i].dev;
		s->cause = cause;
		s->worst = rq;
	}
	return 0;
}

LOOP_OF(issued_look, struct issued_search)

struct under_way {
	u64 worst; /* a request's address */
	u32 dev, cause;
};

/* A function of its own, so that the verifier walks through it once: that of Linux 5.15 would not come to an end. */
VERIFIED_ONCE int issued_worst(const struct thread *t, struct under_way *found)
{
	struct issued_search s = { .t = t };

	if (!t || !found)
		return 0;
	issued_look_loop(REQUESTS_KEPT, &s);
	found->worst = (u64)s.worst;
	found->dev = s.dev;
	found->cause = s.cause;
	return 0;
}

/* The worst that has befallen a request of the thread's that is under way, 0 when none is. */
ALWAYS u32 request_under_way(const struct thread *t, u32 *dev, struct request **worst)
{
	struct under_way found = {};

	issued_worst(t, &found);
	*dev = found.dev;
	*worst = (struct request *)found.worst;
	return found.cause;
}

/* What is half of the least hung_task_timeout_secs, less some ticks. */
#define HUNG_CHECK_NS 450000000

/* Whether the sleep that ends was cut by the kernel, which has who waits for a request wake up every half hung_task_timeout_secs, and sleep
 * on: the last request that the thread issued is under way still. */
ALWAYS bool own_under_way(const struct thread *t)
{
	u32 i = (t->n_issued - 1) & (REQUESTS_KEPT - 1);
	struct request *rq = (struct request *)t->issued[i].request;

	return rq && since(bpf_ktime_get_ns(), t->sleep_ns) > HUNG_CHECK_NS && request_in_use(rq) &&
	       BPF_CORE_READ(rq, bio) &&
	       BPF_CORE_READ(rq, start_time_ns) <= t->issued[i].ns + REQUEST_STARTS_NS;
}

/* The thread comes back to a CPU that was taken from it at `since_ns`. If it was issuing a request right then, which has not started since,
 * that starts now. */
ALWAYS void issued_later(struct thread *t, u64 since_ns, u64 now)
{
	u32 i = (t->n_issued - 1) & (REQUESTS_KEPT - 1);
	struct request *rq = (struct request *)t->issued[i].request;
	u64 issued_ns = t->issued[i].ns;

	if (t->has_issued && issued_ns + REQUEST_STARTS_NS > since_ns &&
	    BPF_CORE_READ(rq, start_time_ns) < issued_ns)
		t->issued[i].ns = now;
}

#endif
