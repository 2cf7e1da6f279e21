/*
 * symbolizer: addresses -> frames, and a copied stack -> addresses.
 *
 * A stand-alone library for Linux x86-64 (of aarch64, unwind_walk.h walks stacks, too; that is not public yet). It
 * prints nothing, starts no thread, touches no signal handler and never goes to the network. One `struct symbolizer`
 * belongs to one thread at a time.
 *
 * Order of calls
 *	s = symbolizer_new(NULL);
 *	p = symbolizer_process(s, pid, start);		finds or makes the process
 *	symbolizer_process_refresh(p);			or symbolizer_process_map() for each MMAP2 event
 *	symbolizer_unwind(p, &stack, pcs, max, &n, &end);
 *	for each i: symbolizer_user(p, pcs[i], is_caller[i], &result);
 *	symbolizer_process_exit(p);			when it has exited: what is known is kept
 *	symbolizer_process_drop(p);			when its samples have been resolved: p is gone
 *	symbolizer_free(s);
 *
 * Who owns what
 *	`frames` of a result, and the strings in them, live until the next call on the same symbolizer: there are
 *	endlessly many names, so none is kept longer than the tables that it came from.
 *	`module` of a user result lives until the next call for the same process (any may find that something
 *	else is mapped there now), of a kernel result until symbolizer_free().
 *
 * Bounds: tables, with the names of their answers, by max_memory_bytes; names of code compiled at run time by a quarter of
 * that, but those of the process asked last, of up to 230 MiB, stay in any case; paths and build-ids of mapped files 64 MiB, names
 * and build-ids of kernel modules 4 MiB, after which new ones all read "[too many names]" (names_refused counts them);
 * 16 KiB of a name; 65536 mappings a process, after which those not heard of for longest are dropped.
 *
 * Trust: nothing that a profiled process can influence is trusted. Of the files that its mappings and ELF files name,
 * only regular ones are opened, and only those in debug_dir that nobody but root or we may write to are mapped into
 * memory, if they are on this machine.
 *
 * Errors: 0 or -errno. A lookup that finds nothing is no error: it yields a frame that says so.
 */
#ifndef SYMBOLIZER_SYMBOLIZER_H
#define SYMBOLIZER_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/types.h"

struct symbolizer;
struct sym_process;
struct sym_file;

struct symbolizer_opts {
	size_t max_memory_bytes; /* of symbol, line and unwind tables; 0: 512 MiB. Over it the least recently
	                            used go; those of JIT names over a quarter of it */
	const char *debug_dir;   /* where separate debug files lie; NULL: /usr/lib/debug */
	const char *fetched_dir; /* another folder like it, of .build-id/ab/cdef.debug alone; NULL: none */

	/*
	 * Called with the build-id, in hex, of each file whose debug information was looked for and not found,
	 * possibly several times for one file. See symbolizer_debug_arrived(). NULL: not called.
	 */
	void (*debug_missing)(const char *build_id, void *context);
	void *missing_context;

	const char *proc;           /* NULL: /proc */
	const char *sys;            /* NULL: /sys */
	const char *root;           /* put before /boot and /lib/modules; NULL: nothing */
	const char *kernel_release; /* NULL: that of the running kernel */
	bool keep_mangled;          /* don't demangle names */
	enum sym_names names;

	/*
	 * Directory of the on-disk symbol index, keyed by build-id; see symbolizer_save(). Made when it is missing.
	 * NULL or "": no index on disk.
	 */
	const char *cache_dir;
	uint64_t max_cache_bytes;        /* of the whole folder; 0: 256 MiB */
	const struct sym_beside *beside; /* what writes there; NULL: symbolizer_save() itself. Outlives it */
};

struct sym_result {
	/*
	 * The address that was looked up (pc, or pc - 1 for a caller) as an ELF address, which addr2line on the
	 * module's file understands. The run-time address where no file is known: outside every mapping, in anonymous
	 * memory, in a file that can't be read.
	 */
	uint64_t address;
	const struct sym_module *module; /* NULL for an address outside every mapping */
	const struct sym_frame *frames;  /* innermost first, at least one */
	size_t n_frames;
	enum sym_source source;
};

/* "dwarf", "symtab", "kallsyms", "jitdump", "perf-map" or "none". */
const char *sym_source_name(enum sym_source source);

/* NULL `opts`: defaults. Returns NULL with errno set. */
struct symbolizer *symbolizer_new(const struct symbolizer_opts *opts);
void symbolizer_free(struct symbolizer *s);

/*
 * Kernel address. Names from kallsyms (modules and BPF programs included); of several names at one address the rules
 * in kallsyms.h choose one. `is_caller`: pc is a return address, so pc - 1 is looked up. The result's address is the
 * linked one, or the run-time one when that is not known; for a module, the offset from its start. With kallsyms
 * hidden (kptr_restrict) the frame reads "[no symbols: kernel+0x...]". Always yields a frame.
 */
int symbolizer_kernel(struct symbolizer *s, uint64_t pc, bool is_caller, struct sym_result *out);

/*
 * The kernel has made code there (a BPF program, a trampoline) that bears this name; NULL: that code has gone. For those who hear
 * of it (PERF_RECORD_KSYMBOL): the kernel's names are read once, and what is made after that would bear a neighbour's.
 */
void symbolizer_kernel_code(struct symbolizer *s, uint64_t start, uint64_t bytes, const char *name);

/* Some of that may not have been heard of: the kernel's names are read again, when they are needed next. */
void symbolizer_kernel_code_lost(struct symbolizer *s);

/* Reads the kernel's names now instead of at the first kernel address. That takes a tenth of a second. */
void symbolizer_kernel_prepare(struct symbolizer *s);

/*
 * Did an interrupt or exception enter the kernel at this frame? Then the next pc outwards is that of the interrupted
 * instruction, not a return address.
 */
bool symbolizer_kernel_entry(const struct sym_result *result);

/*
 * Finds or makes a process. `start` is its start time, in any unit, as long as that is always the same; for one that has been
 * replaced, the time of that. NULL: no memory.
 */
struct sym_process *symbolizer_process(struct symbolizer *s, uint32_t pid, uint64_t start);

/*
 * Reads PROC/PID/maps. Mappings that have gone are kept for addresses that no newer one covers.
 * -ESRCH: there is no such process (any more), it has no memory any more, or another one has its pid now; what was known is kept.
 */
int symbolizer_process_refresh(struct sym_process *p);

/* One executable mapping, as PERF_RECORD_MMAP2 tells it. -EINVAL: empty range; -ENOMEM. */
int symbolizer_process_map(struct sym_process *p, uint64_t start, uint64_t end, uint64_t pgoff,
                           uint32_t dev_major, uint32_t dev_minor, uint64_t inode, const char *path);

/*
 * The process has mapped this just now, or not long ago, over what was there: PERF_RECORD_MMAP2 says so, with numbers that may not be those of
 * PROC/PID/maps (overlayfs). The file is looked at anew, and where the range, offset or inode (0: no file) is another than that of before,
 * symbolizer_process_is_stale() until the next symbolizer_process_refresh(). A file of another path is taken as it is told meanwhile.
 * 0 or -ENOMEM.
 */
int symbolizer_process_mapped(struct sym_process *p, uint64_t start, uint64_t end, uint64_t pgoff,
                              uint32_t dev_major, uint32_t dev_minor, uint64_t inode, const char *path);
bool symbolizer_process_is_stale(const struct sym_process *p);

/* The process has another program now: its mappings are forgotten, its perf map too. */
void symbolizer_process_exec(struct sym_process *p);

/* The process has another program now, and `p` stands for the former one: symbolizer_process_map() alone tells of its mappings, whose
 * files are still looked for in PROC/PID/root. Its code that was compiled at run time has no names any more. */
void symbolizer_process_replaced(struct sym_process *p);

/* No more reads of PROC/PID; all that is known is kept until symbolizer_process_drop(). */
void symbolizer_process_exit(struct sym_process *p);
void symbolizer_process_drop(struct sym_process *p);

/*
 * User address. Always yields a name: "[no symbols: libfoo.so+0x12]" for a file without a symbol there (an ELF
 * address, or a file offset when the file can't be read; no address for code that has a line, but no name), "[unknown
 * 0x...]" for an address outside every file.
 */
int symbolizer_user(struct sym_process *p, uint64_t pc, bool is_caller, struct sym_result *out);

/*
 * Opens a file that no process needs to have mapped, as addr2line does: an executable, a library, vmlinux, a kernel
 * module (.ko, .ko.xz, .ko.zst, .ko.gz). *out lives until symbolizer_free(). -EBADMSG: not an ELF file, or a broken
 * one; -EFBIG, -ENOTSUP: for compressed files; -errno of opening.
 */
int symbolizer_file(struct symbolizer *s, const char *path, struct sym_file **out);

/*
 * `address` is an ELF address, or an offset in `section` when that is given. In relocatable files, which have no
 * addresses, NULL stands for ".text". No module in the result; else as symbolizer_user(). -ENOENT: the file has no
 * such section in memory.
 */
int symbolizer_file_find(struct sym_file *f, const char *section, uint64_t address, struct sym_result *out);

/*
 * Writes new answers to the symbol index in cache_dir, for the next start and for other processes: about once a
 * minute a file, however often it is called; all of them when this is the `last` time. Takes milliseconds, so call it
 * where nobody waits. Several processes may use one directory; each file in it is complete at every moment, and
 * checked when it is read. Nothing is written for files without a build-id, files that others than their owner may
 * write to, and files with split DWARF in files of its own. Returns 0, also without a cache_dir, or why that can't be
 * used: -EPERM: it belongs to someone else, or others may write to it; -errno of making and opening it.
 */
int symbolizer_save(struct symbolizer *s, bool last);

/*
 * Call about once a second, with the time of any clock that does not go back: closes the files that have not been needed
 * for five minutes, or that were opened through a process which has been dropped, so that their file systems can be
 * unmounted. They are opened anew when needed.
 */
void symbolizer_let_go(struct symbolizer *s, uint64_t now_ns);

/*
 * Call when the debug file of that build-id may have arrived: it is looked for again. Answers found without it, for
 * the file or the kernel, are dropped, and the modules of earlier user results become invalid.
 */
void symbolizer_debug_arrived(struct symbolizer *s, const char *build_id);

/*
 * pcs[0] is regs.ip, the others are its callers, outwards. Returns 0 whenever there is at least that one,
 * and *end says why it ended; -EINVAL: max_pcs is 0.
 */
int symbolizer_unwind(struct sym_process *p, const struct sym_stack *stack, uint64_t *pcs, size_t max_pcs,
                      size_t *n_pcs, enum sym_unwind_end *end);

void symbolizer_stats(const struct symbolizer *s, struct symbolizer_stats *out);

#endif
