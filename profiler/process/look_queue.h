/*
 * Queue of the processes to look at, and when. The cost of a look grows with the process's mappings, and a process
 * may give cause for looks without end. So after a look it rests for LOOK_QUEUE_REST times as long as the look
 * took.
 *
 *	look_queue_ask(q, pid, at_ns, first);		as often as there is cause; they become one look
 *	look_queue_mapped(q, pid, mapped_ns);		where the cause is a file that it has mapped
 *	while (… && look_queue_take(q, now_ns, &look)) {
 *		look at look.pid
 *		look_queue_looked(q, look.pid, began_ns, ended_ns);
 *	}
 *	look_queue_forget(q, pid);			it is gone
 *
 * Times are of one clock. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_LOOK_QUEUE_H
#define STALLPROF_PROFILER_LOOK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look_queue;

#define LOOK_QUEUE_REST 20
#define LOOK_QUEUE_MAX  131072 /* processes */

struct look {
	uint32_t pid;
	bool first;         /* set by a call of look_queue_ask() for it */
	uint64_t mapped_ns; /* the earliest of look_queue_mapped(); 0: nobody has said */
};

/* NULL with errno ENOMEM. */
struct look_queue *look_queue_new(void);
void look_queue_free(struct look_queue *queue);

/* Asks for a look at `at_ns`, or earlier if another call asks for that, but not while the process rests. 0,
 * -ENOMEM, -ENOSPC. */
int look_queue_ask(struct look_queue *queue, uint32_t pid, uint64_t at_ns, bool first);

/* What the process is to be looked at for was mapped then. For those that are asked for; 0 says nothing. */
void look_queue_mapped(struct look_queue *queue, uint32_t pid, uint64_t at_ns);

/* It runs another program by now: what it had mapped before is not looked for any more. */
void look_queue_executed(struct look_queue *queue, uint32_t pid);

/* The process rests no more: it is another program than the one that was looked at. */
void look_queue_rouse(struct look_queue *queue, uint32_t pid);

/* Takes the process that has been due for longest; false: none is due at `now_ns`. Call look_queue_looked() after
 * the look. */
bool look_queue_take(struct look_queue *queue, uint64_t now_ns, struct look *out);
void look_queue_looked(struct look_queue *queue, uint32_t pid, uint64_t began_ns, uint64_t ended_ns);

/* Whether a look is due or the process rests after one: then what was asked for since. A child whose beginning is told only then may hold
 * a tag since before the look at its parent. */
bool look_queue_waits(const struct look_queue *queue, uint32_t pid, struct look *out);

void look_queue_forget(struct look_queue *queue, uint32_t pid);

/* When to call look_queue_take() next; UINT64_MAX: not before somebody asks. */
uint64_t look_queue_next_ns(const struct look_queue *queue);

#endif
