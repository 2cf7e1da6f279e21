/*
 * The completeness stamp: what a profile could not see, so that "no stall" never looks like "not measured".
 *
 * It holds the hooks wanted and what became of them, named counters of losses (ring drops, slots exhausted, stacks
 * cut …; a counter that is there with 0 says "measured, none lost"), the seconds covered, and the sampling
 * threshold T. It is stored in a profile's notes (form: note_line.h):
 *
 *     stallprof.format 2
 *     stallprof.covered first_ns=… last_ns=… covered_ns=… windows=1 booted_ns=…
 *     stallprof.sampling threshold_ns=10000000 blocked_threshold_ns=100000
 *     stallprof.hook cause=block_io hook=tp_btf/block_rq_complete state=attached
 *     stallprof.hook cause=tag_wait hook=tp_btf/block_rq_tag_wait state=missing reason="not in this kernel"
 *     stallprof.kernel_symbols state=kallsyms modules_without_debug=1 advice="this kernel's debug information: …"
 *     stallprof.counter name=ring_full value=0
 *
 * Stamps of several profiles are summed: counters and covered time add, hooks are united (one that was missing once
 * is missing, one that was attached once is not unused), the largest T and the worst kernel symbols are kept. Not
 * thread-safe.
 */
#ifndef STALLPROF_PROFILER_STAMP_H
#define STALLPROF_PROFILER_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define STAMP_FORMAT 2
#define STAMP_CLOCKS_DRIFT_NS                                                                                \
	100000000ULL /* by which the clocks of one machine may differ between two windows */
#define STAMP_HOOKS_MAX    1024
#define STAMP_COUNTERS_MAX 1024

/* In order of badness. */
enum hook_state {
	HOOK_UNUSED, /* switched off, or there was nothing to attach it to: nothing is lost without it */
	HOOK_ATTACHED,
	HOOK_MISSING,
	HOOK_STATES
};

/* unused, attached, missing */
const char *hook_state_name(enum hook_state state);

struct stamp_hook {
	const char *cause; /* what it is needed for, for example "block_io" */
	const char *hook;  /* for example "tp_btf/block_rq_complete"; with cause the key */
	enum hook_state state;
	const char *reason; /* "" when attached */
};

struct stamp_counter {
	const char *name;
	uint64_t value;
};

struct stamp_coverage {
	uint64_t first_ns;   /* Unix time of the first moment covered; 0: nothing was */
	uint64_t last_ns;    /* and of the last */
	uint64_t covered_ns; /* sum over windows, which may leave gaps or (of several hosts) overlap */
	uint64_t windows;
	/* T: stalls, and other waits, from that length on always have a stack; the largest in use; 0: not said, and none have. */
	uint64_t threshold_ns, blocked_threshold_ns;
	/* The Unix time from which on the starts of processes count (ledger_row.h); 0: not said, or of several hosts. */
	uint64_t booted_ns;
};

/* What is known of kernel frames, in order of badness: lines; names alone; neither. */
enum kernel_symbols {
	KERNEL_SYMBOLS_UNSAID,
	KERNEL_SYMBOLS_DWARF,
	KERNEL_SYMBOLS_KALLSYMS,
	KERNEL_SYMBOLS_HIDDEN
};

/* "", dwarf, kallsyms, hidden */
const char *kernel_symbols_name(enum kernel_symbols state);

struct stamp_kernel {
	enum kernel_symbols state;      /* UNSAID: there were no kernel frames, or nobody set it */
	uint64_t modules_without_debug; /* modules in stacks that have names alone */
	const char *advice;             /* what would help; "" where nothing is missing */
};

struct stamp;

/* NULL with errno ENOMEM. */
struct stamp *stamp_new(void);
void stamp_free(struct stamp *stamp);

/* Each: 0, -ENOMEM, -ENOSPC at its maximum. Texts are copied; a NULL reason is "". */
int stamp_add_hook(struct stamp *stamp, const char *cause, const char *hook, enum hook_state state,
                   const char *reason);
/* Adds to what the counter has; of cpus_not_covered, which says how many there are, the larger one counts. */
int stamp_add_counter(struct stamp *stamp, const char *name, uint64_t value);

/* Of a counter that only grows, what stamps have been told already. Zeroed at first, or set to where to count from. */
struct stamp_growth {
	uint64_t told;
};

/*
 * Adds by how much the counter has grown to `now` since it was last told; 0 where it seems to have shrunk, as one that
 * could not be read does. As stamp_add_counter(); what could not be added is told the next time.
 */
int stamp_add_growth(struct stamp *stamp, const char *name, struct stamp_growth *growth, uint64_t now);

/* Adds one window that was covered; -EINVAL when it ends before it begins. */
int stamp_add_window(struct stamp *stamp, uint64_t first_ns, uint64_t last_ns);
/* Adds what another stamp covered, except its threshold; -EINVAL as above. When the machine was booted is known of the
 * sum if all say the same, but for STAMP_CLOCKS_DRIFT_NS. */
int stamp_add_coverage(struct stamp *stamp, const struct stamp_coverage *part);
void stamp_set_booted(struct stamp *stamp, uint64_t booted_ns);
void stamp_set_threshold(struct stamp *stamp, uint64_t threshold_ns);
void stamp_set_blocked_threshold(struct stamp *stamp, uint64_t threshold_ns);

/* Of several calls the worst state is kept, with its advice. `advice` is copied; NULL is "". 0, -ENOMEM. */
int stamp_set_kernel(struct stamp *stamp, const struct stamp_kernel *kernel);
struct stamp_kernel stamp_kernel(const struct stamp *stamp);

/* In the order of their first addition; what is handed out lives until the next call that adds. */
size_t stamp_hook_count(const struct stamp *stamp);
struct stamp_hook stamp_hook_at(const struct stamp *stamp, size_t index);
size_t stamp_counter_count(const struct stamp *stamp);
struct stamp_counter stamp_counter_at(const struct stamp *stamp, size_t index);
struct stamp_coverage stamp_coverage(const struct stamp *stamp);
/* How long something was covered: recordings of several hosts or ranks at the same time count once. */
uint64_t stamp_span_ns(const struct stamp_coverage *coverage);
/* The value of a counter, 0 when there is none. */
uint64_t stamp_counter(const struct stamp *stamp, const char *name);

/* 0, -ENOMEM, or what profile_add_note says. */
int stamp_to_notes(const struct stamp *stamp, struct profile *profile);

/*
 * Adds what the notes say. Lines of these records that are malformed are skipped and counted in *malformed
 * (added to it; may be NULL). 0; -ENODATA when no line says stallprof.format (a profile of someone else);
 * -EPROTONOSUPPORT when it says another format than STAMP_FORMAT; -ENOMEM; -ENOSPC.
 */
int stamp_from_notes(struct stamp *stamp, const struct profile *profile, size_t *malformed);

/* What a profile covers, by its notes alone; no windows: they do not say, or it is of another format. 0 or -ENOMEM. */
int stamp_coverage_from_notes(const struct profile *profile, struct stamp_coverage *coverage);

#endif
