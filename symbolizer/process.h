/* A process's executable mappings over time, and which object each belongs to. */
#ifndef SYMBOLIZER_PROCESS_H
#define SYMBOLIZER_PROCESS_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "symbolizer/jit_names.h"
#include "symbolizer/object/object_cache.h"
#include "symbolizer/symbolizer.h"

struct mapping {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	const char *path; /* interned; "" for anonymous memory; INTERN_FULL: can't be told */
	struct sym_module module;
	bool module_given; /* `module` is filled in */
	struct object *object;
	uint64_t generation;  /* of the cache when `object` was last known to be in it */
	bool tried;           /* `object` was looked for: NULL means that there is none */
	int64_t try_again_ns; /* CLOCK_MONOTONIC; 0: the answer will not change */
	uint64_t seen;        /* the process's `clock` when it was last reported; no two are equal */
};

struct process_key {
	uint32_t pid;
	uint32_t zero;
	uint64_t start;
};

/* What all processes of a symbolizer share. */
struct process_environment {
	const char *proc;       /* where /proc is */
	struct intern *strings; /* paths and build-ids: a table without names, which one file can fill */
	struct object_cache *objects;
	struct symbolizer_stats *stats;
	uint64_t versions; /* the last number given to a `version` */
};

struct sym_process {
	struct process_key key;
	UT_hash_handle hh;
	struct process_environment *env;
	struct symbolizer *owner; /* for functions that get only the process */
	bool exited, replaced;
	bool stale;                /* see symbolizer_process_is_stale() */
	uint64_t started;          /* as PROC/PID/stat has it; 0: not looked yet */
	struct mapping **mappings; /* by start, none overlapping another */
	size_t n_mappings, max_mappings;
	uint64_t clock;           /* counts reports of mappings */
	uint64_t version;         /* of the mappings: unique among those of all processes; never 0 */
	int64_t refresh_after_ns; /* CLOCK_MONOTONIC; an address in no mapping has them read then */

	struct jit_names jit;
};

struct process_location {
	struct mapping *mapping;
	struct object *object; /* NULL: anonymous memory, or a file that can't be used */
	uint64_t address;      /* ELF address in the object; run-time address without one */
};

void process_free(struct sym_process *p);

/*
 * Finds the mapping of a run-time address. When a living process has none there, its maps are read again (at most ten
 * times a second, and in a twentieth of the time). False: in no mapping.
 */
bool process_locate(struct sym_process *p, uint64_t pc, struct process_location *out);

/* Call after each use of a located object. */
void process_object_used(struct sym_process *p, struct object *o);

/* Opens the mapped file itself, be it deleted, replaced or in a container. Negative: it can't be opened. */
int process_open_mapped(const struct sym_process *p, const struct mapping *m);

/* The pprof view of a located mapping. */
const struct sym_module *process_module(struct sym_process *p, const struct process_location *at);

#endif
