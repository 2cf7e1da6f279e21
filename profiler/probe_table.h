/*
 * The probe table: one row a BPF program, with the hook it wants and the cause it serves.
 *
 * A cause is available when all of its rows can be attached. A row that cannot costs its cause, never the
 * run, unless the row is of the core: without the scheduler's hooks there is no ledger.
 */
#ifndef STALLPROF_PROFILER_PROBE_TABLE_H
#define STALLPROF_PROFILER_PROBE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum probe_kind {
	PROBE_TP_BTF,     /* a tracepoint by its BTF type */
	PROBE_FEXIT,      /* the return of a kernel function, for kernels that lack a tracepoint */
	PROBE_USDT,       /* a static probe of the tag library, attached file by file */
	PROBE_PERF_EVENT, /* a clock on each CPU */
	PROBE_ITERATOR,   /* run by us, attached to nothing */
};

struct probe {
	const char *cause;   /* "core", "tags", or the stall it serves */
	const char *program; /* its name in the BPF object */
	enum probe_kind kind;
	const char *hook;   /* the tracepoint or function, or provider:probe */
	bool hot;           /* attached only while something is tagged */
	const char *unless; /* program that makes this one needless where it can be had; NULL */
	const char *advice; /* what would make it available */
};

extern const struct probe probe_table[];
extern const size_t probe_table_len;

/* How a kind's hooks are written in stamps and by doctor, for example "tp_btf/". */
const char *probe_kind_prefix(enum probe_kind kind);

/* Which hooks this kernel has. */
struct probe_host;

/* Reads the BTF of the kernel and its modules, and tries what BTF does not tell: whether functions can be hooked.
 * NULL with errno set: -ENOENT when the kernel has none. */
struct probe_host *probe_host_new(void);
void probe_host_free(struct probe_host *host);

/* NULL when the row can be attached here, else why not (static storage). Rows whose cause lacks another row,
 * and rows in whose place others serve, are not attached either; that is said too. */
const char *probe_missing(const struct probe_host *host, const struct probe *probe);

/* Other hooks serve in place of this row, so that its absence is no loss. */
bool probe_replaced(const struct probe_host *host, const struct probe *probe);

/* Whether all rows of the cause can be attached. */
bool probe_cause_available(const struct probe_host *host, const char *cause);

#endif
