/*
 * Types that the parts of the symbolizer and its users share: a frame, a stack, the counters. symbolizer.h includes
 * it and says how they are used; the symbolizer's own parts need only this header.
 */
#ifndef SYMBOLIZER_TYPES_H
#define SYMBOLIZER_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of a C++ or Rust name is given: demangle.h has the rules. */
enum sym_names {
	SYM_NAMES_TEMPLATES,  /* ns::f<int>, without parameters */
	SYM_NAMES_FULL,       /* void ns::f<int>(int) const */
	SYM_NAMES_SIMPLIFIED, /* ns::f */
};

/*
 * Work for another thread, which none of the symbolizer's callers waits for: take() has work() called there some time, one job
 * after the other, or drop() when that will never be. Both may be called after symbolizer_free().
 */
struct sym_job {
	void (*work)(struct sym_job *job);
	void (*drop)(struct sym_job *job);
	size_t bytes; /* of memory that it holds */
};

struct sym_beside {
	void (*take)(void *context, struct sym_job *job);
	void *context;
};

/* One source-level frame. `file` is NULL and `line` 0 where unknown. */
struct sym_frame {
	const char *function;
	const char *file;
	uint32_t line;
	bool inlined; /* was inlined into the frame after it */
};

/* The mapping that an address belongs to, as pprof wants it. */
struct sym_module {
	const char *path;     /* as the process sees it; "[kernel.kallsyms]_stext" for the kernel */
	const char *build_id; /* lower-case hex; "" when there is none */
	/*
	 * Run-time addresses: of the one executable mapping that the address is in (a file has more than one,
	 * and so more than one module); of all the kernel's text, a kernel module's symbols.
	 */
	uint64_t start, end;
	/* Of `start`, as in results: where it was linked, or `start` where that cannot be told. */
	uint64_t address;
	uint64_t offset; /* file offset of `start`; of the kernel its linked address, of a kernel module 0 */
	bool has_functions, has_lines; /* as far as its tables have been loaded */
	bool is_kernel;
};

/* Where a result's frames come from. */
enum sym_source {
	SYM_SOURCE_NONE, /* nothing is known: one frame says so, with the address */
	SYM_SOURCE_DWARF,
	SYM_SOURCE_SYMTAB,
	SYM_SOURCE_KALLSYMS,
	SYM_SOURCE_JITDUMP,
	SYM_SOURCE_PERF_MAP,
	SYM_SOURCES
};

struct sym_regs {
	uint64_t ip, sp, bp, bx, r12, r13, r14, r15, ax, cx, dx, si, di, r8, r9, r10, r11;
};

struct sym_stack {
	struct sym_regs regs;
	const void *copy;
	size_t copy_len;
	uint64_t copy_start; /* address of copy[0]: regs.sp, or lower to have the red zone in it */
	bool *is_caller; /* out: NULL, or room for max_pcs: set for each pc that is a return address; it is not for
	                    pcs[0], nor for the pc at which a signal interrupted a function */
	uint64_t *sps; /* out: NULL, or room for max_pcs: each frame's stack pointer; 0: not known */
	/*
	 * NULL, or asked for what lies outside the copy (another stack when a signal handler runs on an
	 * alternate one). Returns 0 when all of `len` bytes were read.
	 */
	int (*read)(void *context, uint64_t address, void *buffer, size_t len);
	void *read_context;
};

enum sym_unwind_end {
	SYM_UNWIND_COMPLETE, /* reached the thread's start: undefined or zero return address */
	SYM_UNWIND_TRUNCATED, /* left the copied bytes, max_pcs were not enough, or a file cannot be read now */
	SYM_UNWIND_NO_CFI,    /* came to code without unwind tables that keeps no frame pointer either */
	SYM_UNWIND_BAD        /* unwind tables or stack make no sense here */
};

/* What kernel frames can show. */
enum sym_kernel {
	SYM_KERNEL_UNUSED, /* no kernel address was looked up yet */
	SYM_KERNEL_DWARF,  /* functions, lines and inlined functions */
	SYM_KERNEL_NAMES,  /* functions from kallsyms: there is no vmlinux with debug information here */
	SYM_KERNEL_HIDDEN  /* nothing: kallsyms is missing, or hides its addresses (kptr_restrict) */
};

/* Counts since symbolizer_new(), except the last group, which are current values. */
struct symbolizer_stats {
	uint64_t results[SYM_SOURCES];
	uint64_t unwind_ends[4];        /* by enum sym_unwind_end */
	uint64_t unwind_frame_pointers; /* steps made by frame pointer for want of tables */

	uint64_t files_opened, debug_files_opened;
	uint64_t files_missing; /* could not be opened, or are not the mapped ones */
	uint64_t files_corrupt; /* not ELF, or has structures that lie outside the file */
	/*
	 * Tables over max_memory_bytes, or dropped for that just after they were loaded; perf maps over 64 MiB; debug
	 * files over 1 GiB that only a CRC tells.
	 */
	uint64_t files_too_large;
	uint64_t split_files_opened,
	        split_files_missing; /* of -gsplit-dwarf: .dwo and .dwp files; units whose one
	                                                     is missing, so that only their lines are known */
	uint64_t dwarf_errors;       /* units of debug information that could not be read to their end */
	uint64_t cache_evictions;    /* tables dropped for max_memory_bytes: of files, and of JIT names */
	uint64_t mappings_dropped;   /* the oldest ones, of processes with too many */
	uint64_t names_refused;      /* strings that came out as "[too many names]" */

	/* Of the indexes in cache_dir. */
	uint64_t index_files_loaded;
	uint64_t index_blocks_used;    /* read from disk for an answer */
	uint64_t index_blocks_refused; /* damaged, so made anew. A whole file counts as one */
	uint64_t index_blocks_saved;
	uint64_t index_files_evicted; /* for max_cache_bytes */
	uint64_t index_errors;        /* could not be read or written, or too much was new at once */

	size_t memory_bytes; /* tables and strings */
	size_t files_cached, processes;
	size_t kernel_symbols; /* 0: kallsyms hidden or unreadable */
	enum sym_kernel kernel;
	size_t kernel_modules_without_debug; /* modules whose debug information was looked for and not found */
};

#endif
