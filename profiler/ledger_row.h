/*
 * The ledger in user space: where every nanosecond of every tagged thread went.
 *
 * A row says how long threads of one process, under one tag, were in one state. For a tag the rows of all
 * states add up to its wall time (the sum over its threads). Rows of equal key are summed; the key is (tag,
 * id, pid, start_ns, state, cause, device). comm is not part of it (exec changes it): the last one given
 * stands. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_LEDGER_ROW_H
#define STALLPROF_PROFILER_LEDGER_ROW_H

#include <stddef.h>
#include <stdint.h>

struct profile;

#define LEDGER_ROWS_MAX (1u << 20)

enum ledger_state {
	LEDGER_ONCPU,
	LEDGER_RUNQUEUE,
	LEDGER_STALL,
	LEDGER_BLOCKED,    /* waiting, for nothing that a cause names */
	LEDGER_UNOBSERVED, /* tagged, but the profiler could not see it */
	LEDGER_STATES
};

struct ledger_row {
	char *tag;
	uint64_t id;
	uint32_t pid;
	uint64_t start_ns; /* when the process began; (pid, start_ns) is the process */
	char *comm;
	enum ledger_state state;
	char *cause;  /* "" unless state is LEDGER_STALL, else for example "block_io" */
	char *device; /* for example "vda"; "" when unknown */
	uint64_t ns;
	uint64_t count; /* intervals that ended */
};

struct ledger;

/* The state's name in comments and JSON: oncpu, runqueue, stall, blocked, unobserved. */
const char *ledger_state_name(enum ledger_state state);

/* NULL with errno ENOMEM. */
struct ledger *ledger_new(void);
void ledger_free(struct ledger *ledger);

/* Adds a copy of row; NULL strings count as "". 0; -ENOMEM; -ENOSPC at LEDGER_ROWS_MAX; -EINVAL for a state
 * out of range. ns and count saturate at UINT64_MAX. */
int ledger_add(struct ledger *ledger, const struct ledger_row *row);

/* Rows sorted by tag, id, pid, start_ns, state, cause, device: ledger_at(ledger, 0 … ledger_count - 1).
 * The pointers stand until the next ledger_add. The first call after an add sorts. */
size_t ledger_count(const struct ledger *ledger);
const struct ledger_row *ledger_at(struct ledger *ledger, size_t index);

/* Sum of ns over the rows of a tag, over all rows with tag NULL. */
uint64_t ledger_wall_ns(const struct ledger *ledger, const char *tag);

/*
 * One comment a row, in sorted order, in the form of comment_line.h:
 *
 *     stallprof.ledger tag="a b" id=00000000000000ff pid=12 start=5 comm="python3" state=stall \
 *         cause=block_io device=vda ns=123 count=4 at=1700000000000000000
 *
 * at is the profile's own time: merging tools drop comments that are equal, and rows of two windows must not
 * be. 0, -ENOMEM, or what profile_add_comment says.
 */
int ledger_to_comments(struct ledger *ledger, struct profile *profile);

/* Adds every ledger row found in the profile's comments. Lines that are not as above are skipped and counted
 * in *malformed (added to it; may be NULL). 0, or as ledger_add. */
int ledger_from_comments(struct ledger *ledger, const struct profile *profile, size_t *malformed);

#endif
