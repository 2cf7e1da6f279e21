/*
 * What an executable file has for a reader of tags: stalltag's USDT probes, and the thread-local pointers
 * of OTEP 4947 with the facts by which they are found in a running process (context_locate.h does that).
 *
 * Called once for each distinct file that is mapped on the host, so the usual file, which has nothing,
 * costs its header tables: notes are read only from a section of that name, symbols only of files with
 * thread-local storage, relocations only of files that define one of the two symbols.
 *
 * How a thread-local variable is reached, and what gives its place
 *	program		Its block comes first in the static area, right below the thread pointer, so the
 *			distance follows from PT_TLS alone (psABI, thread-local storage, variant II).
 *	TLSDESC		Two words filled by the loader: a function of the loader, and either the (negative)
 *			distance from the thread pointer or the address of {module, offset, generation}.
 *	TPOFF64		One word: the distance from the thread pointer.
 *	DTPMOD64	Two words: the module's number and the offset in its block.
 *	A relocation without a symbol is about the start of the file's own block plus its addend.
 */
#ifndef STALLPROF_PROFILER_TAG_FILE_H
#define STALLPROF_PROFILER_TAG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAG_FILE_STALLTAG_SYMBOL "stalltag_thread_ctx_v1"
#define TAG_FILE_OTEL_SYMBOL     "otel_thread_ctx_v1"

enum tag_file_slot_name { TAG_FILE_STALLTAG, TAG_FILE_OTEL, TAG_FILE_SLOTS };

/* Bits of `probes`. */
enum tag_file_probe {
	TAG_FILE_PROBE_CHANGE = 1,  /* stalltag:change */
	TAG_FILE_PROBE_PROCESS = 2, /* stalltag:process */
	TAG_FILE_PROBE_LOG = 4,     /* stalltag:log, beside stalltag:change */
	TAG_FILE_PROBE_LOST = 8,    /* stalltag:lost */
};

enum tag_file_access {
	TAG_FILE_ABSENT,  /* not defined here */
	TAG_FILE_UNKNOWN, /* defined, and nothing in the file gives the place */
	TAG_FILE_TLSDESC,
	TAG_FILE_TPOFF,
	TAG_FILE_MODULE,
};

struct tag_file_slot {
	enum tag_file_access access; /* how to find it if the file was loaded as a library */
	bool exported;               /* in .dynsym, else in .symtab only */
	bool own;                    /* the relocation is about the file's own block, not about the symbol */
	uint64_t value;              /* offset in the file's block of thread-local storage */
	uint64_t got;                /* ELF address of the first word */
	int64_t adjust;              /* to be added to the offset in the words */
};

struct tag_file_text {
	uint64_t offset, bytes, address; /* an executable PT_LOAD: in the file, and as an ELF address */
};

#define TAG_FILE_TEXTS_MAX 8

struct tag_file {
	uint32_t probes;
	uint32_t libraries;      /* as library_calls_of() says; tag_file_read() knows none */
	bool program;            /* not a shared library: ET_EXEC, or a PIE that says so */
	bool musl;               /* a program that asks for musl's loader */
	int64_t block_tp_offset; /* start of the block from the thread pointer, if this is the program */
	uint64_t block_bytes;    /* PT_TLS; 0: no thread-local storage */
	uint64_t low, high;      /* ELF addresses of all that is loaded */
	struct tag_file_text texts[TAG_FILE_TEXTS_MAX];
	size_t n_texts;
	struct tag_file_slot slots[TAG_FILE_SLOTS];
};

/*
 * Reads the file open at `fd`, which stays open. -ENOEXEC: not an ELF program or library for x86-64;
 * -EBADMSG: corrupt; -ENOMEM; -errno of reading. On failure *out has nothing.
 */
int tag_file_read(int fd, struct tag_file *out);

/* -errno of opening, else the same, and `libraries` by the last part of the path. */
int tag_file_read_path(const char *path, struct tag_file *out);

/* Whether it has probes or slots, or is one of those libraries. */
bool tag_file_interesting(const struct tag_file *file);

/* Whether it is a program that sets the tag of its process and then may execute another one, as `stallprof tag` does. */
bool tag_file_tags_process(const struct tag_file *file);

/*
 * The difference between run-time and ELF addresses of a mapping of the file that begins at `start` with file
 * offset `offset`. False: no executable segment lies there.
 */
bool tag_file_bias(const struct tag_file *file, uint64_t start, uint64_t offset, uint64_t *bias);

#endif
