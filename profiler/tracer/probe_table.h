/*
 * The probe table: one row a BPF program, with the hook it wants and the cause it serves.
 *
 * A cause is available when all of its rows can be attached. Without one of its rows a cause is not recorded; the
 * other causes are, unless the row is of the core: without the scheduler's hooks there is no ledger. What BTF shows
 * is known at once (probe_host_new()); whether the kernel accepts the program, only when it was loaded
 * (profiler/tracer/tracer_load.h).
 */
#ifndef STALLPROF_PROFILER_PROBE_TABLE_H
#define STALLPROF_PROFILER_PROBE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum probe_kind {
	PROBE_TP_BTF, /* a tracepoint by its BTF type */
	PROBE_FENTRY, /* the call of a kernel function, where there is no tracepoint */
	PROBE_FEXIT,  /* … its return */
	PROBE_TRACEPOINT, /* a tracepoint's record, folder/name in tracefs: dearer, and skipped while another program runs */
	PROBE_USDT,       /* a static probe of the tag library, attached file by file */
	PROBE_LIBRARY,    /* functions of a library (library_calls.h), attached file by file */
	PROBE_PERF_EVENT, /* a clock on each CPU */
	PROBE_ITERATOR,   /* run by us, not attached to a hook */
	PROBE_UNTOLD,     /* no program: documents a cause that is counted under others */
};

struct probe {
	const char *cause;   /* "core", "tags", "tag_log", or the stall it serves */
	const char *program; /* its name in the BPF object */
	enum probe_kind kind;
	const char *hook;   /* the tracepoint or function, provider:probe, or library */
	bool hot;           /* attached only while something is tagged */
	const char *unless; /* program that makes this one needless where it can be had; NULL */
	const char *
	        advice; /* what would make it available; see probe_advice(). NULL: a kernel without does without */
	const char *filesystem; /* of no use where none of that type is mounted; NULL: of use anywhere */
	const char *module;     /* … where that module is not loaded; NULL likewise */
};

#define PROBE_ROWS_MAX 256

extern const struct probe probe_table[]; /* probe_rows.c */
extern const size_t probe_table_len;

/* What stands before the names of a kind's hooks in stamps and doctor's report, for example "tp_btf/". */
const char *probe_kind_prefix(enum probe_kind kind);

/* Whether rows of that kind are attached by their program's section alone. */
bool probe_is_hook(enum probe_kind kind);

/* Which hooks this kernel has. */
struct kernel_places;
struct probe_host;

/* Reads the BTF of the kernel and its modules, and tries what BTF does not show: whether functions can be hooked.
 * `modules`: whether hooks of modules can be used, which needs a privilege. NULL with errno set: ENOENT when the
 * kernel has no BTF. */
struct probe_host *probe_host_new(bool modules);
void probe_host_free(struct probe_host *host);

/* What the hooks were found in, some 10 MB, read again when it was let go of. NULL with errno. */
const struct kernel_types *probe_host_types(struct probe_host *host);
void probe_host_let_types_go(struct probe_host *host);

/* Where the running kernel has what CO-RE cannot find. Lives as long as the host. */
const struct kernel_places *probe_host_places(const struct probe_host *host);

/* Notes that the kernel refuses the row's program: `reason` is one line, `log` the verifier's last lines, which may
 * be "". */
void probe_host_refuse(struct probe_host *host, const struct probe *probe, const char *reason,
                       const char *log);

/* The verifier's last lines about a row that was refused; "" for any other. */
const char *probe_log(const struct probe_host *host, const struct probe *probe);

/* What would make a row available that is not, see `advice`; "" where nothing is known to. */
const char *probe_advice(const struct probe_host *host, const struct probe *probe);

/* NULL when the rows of that name in the table can be switched off, else why not: of a name that is in no row, those most like
 * it. The text lives until the next call. */
const char *probe_cause_stays(const char *cause);

/* Switches the rows of a cause off, and those of causes that are named after it (journal_xfs of journal); to be called
 * before programs are loaded. Returns what probe_cause_stays() does. */
const char *probe_host_switch_off(struct probe_host *host, const char *cause);

/* … as nothing is asked of them: then they are no loss. */
void probe_host_leave_out(struct probe_host *host, const char *cause);

/* Whether the row is off by probe_host_switch_off(). */
bool probe_is_off(const struct probe_host *host, const struct probe *probe);

/* What probe_missing() says of such rows. */
#define PROBE_OFF "off by configuration"
/* How its reasons begin where there is nothing for the row to do. */
#define PROBE_NOT_NEEDED "not needed"
/* The reason of a row that nothing else is wrong with. */
#define PROBE_OTHER_MISSING "another hook of the same cause is missing"
/* The reason of a library's row which nobody maps: nothing is missing. */
#define PROBE_UNSEEN "no program with it was seen"

/* NULL when the row can be attached here, as far as is known, else why not (as long as the host). Rows whose cause
 * lacks another row, and rows in whose place others serve, are not attached either; that is said too. */
const char *probe_missing(const struct probe_host *host, const struct probe *probe);

/* Whether the row's absence is no loss: other hooks serve in its place, or its file system is not mounted. */
bool probe_replaced(const struct probe_host *host, const struct probe *probe);

/* Whether all rows of the cause can be attached. */
bool probe_cause_available(const struct probe_host *host, const char *cause);

#endif
