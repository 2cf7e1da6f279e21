/* Tracks CPython processes: tells the BPF side their layout, and names their frames. */

#include "profiler/process/python_processes.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "bpf/abi.h"
#include "profiler/format/stamp.h"
#include "profiler/process/process_life.h"
#include "profiler/process/python_abi.h"
#include "profiler/tracer/tracer.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/process_stat.h"
#include "symbolizer/symbolizer.h"

#define KEPT_NS     30000000000ULL /* after its exit: its last stacks come within a second or so */
#define GENERATIONS 4
#define TICK_NS     100000000
#define ASKS_A_TICK 32 /* each costs some 100 us: 3 % of a CPU at the worst */

struct entry {
	uint32_t pid;
	uint64_t start_ticks; /* 0: it was gone when it was added */
	struct sym_python_layout layout;
	struct sym_python *python; /* NULL until a frame needs a name */
	bool absent;               /* it is not Python's, or of a version that is not known */
	bool unknown, counted;     /* the latter; and that was counted */
	uint32_t parent;           /* that forked it, with all its code objects; 0: none */
	uint64_t ended_ns;         /* CLOCK_MONOTONIC; 0: it lives */
	struct entry *prev, *next; /* of those that have ended, in that order */
	UT_hash_handle hh;
};

struct python_processes {
	struct tracer *tracer;
	struct entry *by_pid, *swept;    /* `swept`: the next one to look at; NULL: the first */
	struct entry *ended;             /* the first that has, and has an entry still */
	uint64_t gone, refused, unknown; /* since the beginning */
	struct stamp_growth gone_told, refused_told, unknown_told;
	uint64_t tick_ns;
};

struct python_processes *python_processes_new(struct tracer *tracer)
{
	struct python_processes *p = calloc(1, sizeof(*p));

	if (p) {
		p->tracer = tracer;
		tracer_allow_python(tracer, ASKS_A_TICK);
	}
	return p;
}

static struct entry *find(const struct python_processes *p, uint32_t pid)
{
	struct entry *entry = NULL;

	if (p)
		HASH_FIND(hh, p->by_pid, &pid, sizeof(pid), entry);
	return entry;
}

/* The entry of a process that is Python's, or was. */
static struct entry *find_python(const struct python_processes *p, uint32_t pid)
{
	struct entry *entry = find(p, pid);

	return entry && !entry->absent ? entry : NULL;
}

static void drop(struct python_processes *p, struct entry *entry)
{
	if (p->swept == entry)
		p->swept = entry->hh.next;
	if (entry->ended_ns)
		DL_DELETE(p->ended, entry);
	HASH_DEL(p->by_pid, entry);
	sym_python_close(entry->python);
	free(entry);
}

void python_processes_free(struct python_processes *p)
{
	struct entry *entry, *next;

	if (!p)
		return;
	HASH_ITER (hh, p->by_pid, entry, next)
		drop(p, entry);
	free(p);
}

/* It is no error if the process is gone. */
static int tell(struct python_processes *p, uint32_t pid, struct abi_python *layout)
{
	struct process_stat stat;

	if (process_stat_read("/proc", pid, &stat))
		return 0;
	layout->start_ticks = stat.start_ticks;
	return tracer_set_python(p->tracer, pid, layout);
}

/* `layout` NULL: the process is not Python's. Returns NULL when there is no room. */
static struct entry *add(struct python_processes *p, uint32_t pid, const struct sym_python_layout *layout)
{
	struct abi_python told = { 0 };
	struct entry *entry;

	if (HASH_COUNT(p->by_pid) >= PYTHON_PROCESSES_MAX && p->ended)
		drop(p, p->ended);
	entry = HASH_COUNT(p->by_pid) < PYTHON_PROCESSES_MAX ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry) {
		p->refused++;
		return NULL;
	}
	entry->pid = pid;
	entry->absent = !layout;
	if (layout)
		entry->layout = *layout;
	if ((layout && !python_abi_layout(layout, &told)) || tell(p, pid, &told)) {
		p->refused++;
		free(entry);
		return NULL;
	}
	entry->start_ticks = told.start_ticks;
	HASH_ADD(hh, p->by_pid, pid, sizeof(entry->pid), entry);
	if (entry->hh.tbl)
		return entry;
	tracer_forget_python(p->tracer, pid);
	p->refused++;
	free(entry);
	return NULL;
}

static void count_unknown(struct python_processes *p, struct entry *entry)
{
	if (!entry)
		return;
	p->unknown += !entry->counted;
	entry->unknown = entry->counted = true;
}

/* `may_come`: what is not there yet. Of a version that is not known no other comes, unless another interpreter is mapped. */
static void look(struct python_processes *p, uint32_t pid, bool may_come)
{
	struct sym_python_layout layout;
	struct entry *entry = find(p, pid);
	int err = sym_python_find((pid_t)pid, NULL, &layout);

	if (err && err != -ENOTSUP && (may_come || entry || err != -ENOENT))
		return;
	if (!err || !entry || !entry->absent) {
		if (entry)
			drop(p, entry);
		entry = add(p, pid, err ? NULL : &layout);
	}
	if (err == -ENOTSUP)
		count_unknown(p, entry);
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t len)
{
	const struct entry *entry = context;
	struct iovec local = { .iov_base = buffer, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)address, .iov_len = len };
	ssize_t n = process_vm_readv((pid_t)entry->pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

/* Returns NULL for a process that is gone, as nothing can be read any more. */
static struct sym_python *opened(struct entry *entry)
{
	if (entry && !entry->python && !entry->ended_ns &&
	    sym_python_open(&entry->layout, read_memory, entry, &entry->python))
		entry->python = NULL;
	return entry ? entry->python : NULL;
}

static bool is_known(const struct python_processes *p, uint32_t pid)
{
	const struct entry *entry = find_python(p, pid);

	return entry && !entry->ended_ns;
}

void python_processes_look(struct python_processes *p, uint32_t pid)
{
	struct entry *entry = find(p, pid);

	if (entry && entry->unknown)
		count_unknown(p, entry);
	else if (p && !is_known(p, pid))
		look(p, pid, true);
}

void python_processes_mapped(struct python_processes *p, uint32_t pid, const char *path)
{
	if (p && sym_python_may_be(path) && !is_known(p, pid))
		look(p, pid, true);
}

/* Whether its program may be Python by its name, so that it has mapped an interpreter or will. */
static bool program_may_be(uint32_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return sym_python_may_be(path);
}

static void step_of(struct sym_python_step *to, const struct abi_python_frame *from)
{
	*to = (struct sym_python_step){
		.code = from->code,
		.instr = from->instr,
		.fingerprint = from->fingerprint,
		.is_entry = from->flags & ABI_PYTHON_ENTRY,
	};
}

void python_processes_asked(struct python_processes *p, const struct abi_python_ask *ask)
{
	struct sym_python_step step;
	struct sym_python *python;
	struct sym_frame frame;
	struct entry *entry;
	uint32_t i;

	if (!p)
		return;
	if (!is_known(p, ask->tgid) && ask->n)
		python_processes_forked(p, ask->tgid, ask->parent); /* the record of it is on its way */
	entry = find(p, ask->tgid);
	if (!is_known(p, ask->tgid) && !(entry && entry->unknown))
		look(p, ask->tgid, program_may_be(ask->tgid));
	python = opened(find_python(p, ask->tgid));
	for (i = 0; python && i < ask->n; i++) {
		step_of(&step, &ask->frames[i]);
		sym_python_frame(python, &step, &frame);
	}
}

void python_processes_tick(struct python_processes *p, uint64_t now_ns)
{
	if (!p || now_ns - p->tick_ns < TICK_NS)
		return;
	p->tick_ns = now_ns;
	tracer_allow_python(p->tracer, ASKS_A_TICK);
	while (p->ended && p->ended->ended_ns + KEPT_NS <= now_ns)
		drop(p, p->ended);
}

void python_processes_forked(struct python_processes *p, uint32_t child, uint32_t parent)
{
	struct entry *from = find(p, parent), *old = find(p, child);

	if (old && old->parent == parent && !old->ended_ns)
		return; /* it has been looked at already */
	if (old)
		drop(p, old);
	if (from && !from->ended_ns) {
		old = add(p, child, from->absent ? NULL : &from->layout);
		if (!old)
			return;
		old->parent = parent;
		/* It is counted when it is looked at: most children execute another program. */
		old->unknown = from->unknown;
	}
}

void python_processes_executed(struct python_processes *p, uint32_t pid)
{
	struct entry *entry = find(p, pid);

	if (!entry)
		return;
	tracer_forget_python(p->tracer, pid);
	drop(p, entry);
}

void python_processes_exited(struct python_processes *p, uint32_t pid)
{
	struct entry *entry = find(p, pid);

	if (!entry || entry->ended_ns)
		return;
	tracer_forget_python(p->tracer, pid);
	if (entry->python)
		sym_python_detach(entry->python);
	entry->ended_ns = monotonic_ns();
	DL_APPEND(p->ended, entry);
	if (entry->absent)
		drop(p, entry);
}

size_t python_processes_sweep(struct python_processes *p, size_t n, uint32_t *ended)
{
	struct entry *entry = p && !p->swept ? p->by_pid : p ? p->swept : NULL;
	size_t found = 0;

	for (; entry && n; n--, entry = p->swept) {
		enum process_life life =
		        entry->ended_ns ? PROCESS_RUNS : process_life(entry->pid, entry->start_ticks, 0);

		p->swept = entry->hh.next;
		if (life == PROCESS_GONE)
			ended[found++] = entry->pid;
		else if (life == PROCESS_ANOTHER)
			python_processes_executed(p, entry->pid);
	}
	return found;
}

enum sym_python_native python_processes_native_kind(const struct python_processes *p, uint32_t pid,
                                                    uint64_t address, const char *function)
{
	static const struct sym_python_layout unknown; /* by the name alone */
	const struct entry *entry = find_python(p, pid);

	if (!p)
		return SYM_PYTHON_NOT_EVALUATOR;
	return sym_python_native_kind(entry ? &entry->layout : &unknown, address, function);
}

/* Looks for the name in the process's own code objects, then in those it inherited. 0 or as sym_python_frame(). */
static int name(struct python_processes *p, uint32_t pid, const struct sym_python_step *step,
                struct sym_frame *out)
{
	struct entry *entry = find_python(p, pid);
	struct sym_python *python;
	int err = -ESRCH, i;

	for (i = 0; i < GENERATIONS && entry && err && err != -ENODATA; i++) {
		python = opened(entry);
		if (python)
			err = sym_python_frame(python, step, out);
		entry = entry->parent ? find_python(p, entry->parent) : NULL;
	}
	return err;
}

bool python_processes_frame(struct python_processes *p, uint32_t pid, const struct abi_python_frame *frame,
                            struct sym_frame *out)
{
	struct sym_python_step step;
	int err;

	*out = (struct sym_frame){ .function = "[python code gone]" };
	step_of(&step, frame);
	err = name(p, pid, &step, out);
	if (err && err != -ENODATA && p)
		p->gone++;
	return err != -ENODATA;
}

int python_processes_describe(struct python_processes *p, struct stamp *stamp)
{
	int err;

	if (!p)
		return 0;
	err = stamp_add_growth(stamp, "python_code_gone", &p->gone_told, p->gone);
	if (!err)
		err = stamp_add_growth(stamp, "python_processes_refused", &p->refused_told, p->refused);
	if (!err)
		err = stamp_add_growth(stamp, "python_versions_unknown", &p->unknown_told, p->unknown);
	return err;
}
