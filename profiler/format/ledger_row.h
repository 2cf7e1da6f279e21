/*
 * The ledger in user space: where every nanosecond of every tagged thread went.
 *
 * A row says how long threads of one process, under one tag, were in one state. For a tag the rows of all states
 * add up to its wall time (the sum over its threads). Rows of equal key are summed; the key is (tag, id, pid,
 * start_ns, state, cause, device). comm is not part of it (exec changes it), nor are class and base: the last
 * values given are kept. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_LEDGER_ROW_H
#define STALLPROF_PROFILER_LEDGER_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define LEDGER_ROWS_MAX   (1u << 20)
#define LEDGER_FOLDED_MAX (1u << 16) /* beside those: rows of classes */

enum ledger_state {
	LEDGER_ONCPU,
	LEDGER_RUNQUEUE,
	LEDGER_STALL,
	LEDGER_BLOCKED,    /* waiting, for what is no stall */
	LEDGER_UNOBSERVED, /* tagged, but the profiler could not see it */
	LEDGER_STATES
};

struct ledger_row {
	char *tag;
	uint64_t id;
	char *class; /* the value of ai_tag; not part of the key */
	bool base;   /* the tag of a process, which pushed ones refine; not part of the key */
	bool folded; /* sum of a class's tags that came when the ledger was full */
	uint32_t pid;
	uint64_t start_ns; /* when the process began; (pid, start_ns) is the process */
	char *comm;
	uint32_t rank_and_1; /* of a distributed job (process_ranks.h); 0: none. Not part of the key */
	enum ledger_state state;
	char *cause; /* LEDGER_STALL: e.g. "block_io"; LEDGER_BLOCKED: the kind, e.g. "pipe", if known; else "" */
	char *device;   /* for example "vda"; "" when unknown */
	int64_t ns;     /* negative: an earlier window counted provisionally what belongs to another row */
	uint64_t count; /* intervals that ended */
};

struct ledger;

/* Enough for ledger_row_process(). */
#define LEDGER_PROCESS_BYTES 96

/* The row's process: "python3[4711]", or "rank 3 python3[4711]". Returns text. */
const char *ledger_row_process(const struct ledger_row *row, char text[LEDGER_PROCESS_BYTES]);

/* The state's name in comments and JSON: oncpu, runqueue, stall, blocked, unobserved. */
const char *ledger_state_name(enum ledger_state state);

/* `rows_max`: how many rows of exact tags it holds; 0: LEDGER_ROWS_MAX. NULL with errno ENOMEM. */
struct ledger *ledger_new(size_t rows_max);
void ledger_free(struct ledger *ledger);

/* Adds a copy of row; NULL strings count as "". When the ledger is full, what is new is summed by class, with the
 * class for a tag and no id. 0; -ENOMEM; -ENOSPC beyond LEDGER_FOLDED_MAX of those; -EINVAL for a state out of
 * range. ns and count saturate at UINT64_MAX. */
int ledger_add(struct ledger *ledger, const struct ledger_row *row);

/* Rows sorted by tag, id, pid, start_ns, state, cause, device: ledger_at(ledger, 0 … ledger_count - 1). The
 * pointers are valid until the next ledger_add. The first call after an add sorts. */
size_t ledger_count(const struct ledger *ledger);
/* How many times ledger_add() summed a row by class. */
uint64_t ledger_folded(const struct ledger *ledger);
const struct ledger_row *ledger_at(struct ledger *ledger, size_t index);

/* Sum of ns over the rows of a tag, over all rows with tag NULL. */
int64_t ledger_wall_ns(const struct ledger *ledger, const char *tag);

/*
 * Adds one note per row, in sorted order, in the form of note_line.h:
 *
 *     stallprof.ledger tag="a b" id=00000000000000ff pid=12 start=5 state=stall cause=block_io device=vda \
 *         class="a b" base=1 comm=python3 ns=123 count=4
 *
 * base is left out where it is 0. 0, -ENOMEM, or what profile_add_note says.
 */
int ledger_to_notes(struct ledger *ledger, struct profile *profile);

/* Calls `take` for each ledger row found in the profile's notes; its texts live until it returns. What it returns, if not 0, ends this
 * and is returned, but for -EINVAL: the line counts as malformed. Lines that are not as above are skipped and counted in *malformed
 * (added to it; may be NULL). 0, -ENOMEM, or as `take`. */
int ledger_each_note(const struct profile *profile, int (*take)(void *ctx, const struct ledger_row *row),
                     void *ctx, size_t *malformed);

/* Adds every ledger row found in the profile's notes. Lines that are not as above are skipped and counted
 * in *malformed (added to it; may be NULL). 0, or as ledger_add. */
int ledger_from_notes(struct ledger *ledger, const struct profile *profile, size_t *malformed);

#endif
