/*
 * A block: the answers for a range of addresses that has been looked up, with the same layout on disk and in memory.
 *
 * It is one piece of memory without pointers. Numbers are in the machine's own order; a text is its offset in the
 * block's texts, where 0 is "": not known.
 *
 *	header		low, high, and how many there are of what follows
 *	segments	by start: from there (counted from low) to the next one the frames are the same
 *	scopes		functions, and functions inlined into them: the frame of a segment is its scope's name at
 *			the segment's file and line; the next frame is the outer scope's name at the file and line
 *			where the scope was called
 *	texts		each ended by a NUL
 *
 *	segment start 16, scope 2, x.h:4	->	b at x.h:4
 *	scope 2: b, outer 1, called x.h:8	->	a at x.h:8
 *	scope 1: a, outer 0, called f.c:13	->	f at f.c:13
 *	scope 0: f, no outer
 */
#ifndef SYMBOLIZER_INDEX_BLOCK_H
#define SYMBOLIZER_INDEX_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_NO_SCOPE   UINT32_MAX
#define INDEX_MAX_BLOCK  ((size_t)1 << 20) /* bytes */
#define INDEX_MAX_FRAMES 129

enum index_source { INDEX_NONE, INDEX_SYMTAB, INDEX_DWARF };

struct index_block {
	uint64_t low, high; /* high is not in it */
	uint32_t source;    /* enum index_source */
	uint32_t n_segments, n_scopes, text_len;
};

struct index_segment {
	uint32_t start, scope, file, line;
};

struct index_scope {
	uint32_t name, outer; /* outer < its own index, or INDEX_NO_SCOPE */
	uint32_t call_file, call_line;
};

/* A frame of an answer; the texts are in the block. */
struct index_frame {
	const char *name; /* as the file has it, mangled or not; NULL: not known */
	const char *file; /* NULL: not known */
	uint32_t line;
	bool inlined;
};

/*
 * Is this a complete block, whose offsets and indexes all stay inside it? Check each block once that was not made
 * here.
 */
bool index_block_is_valid(const void *bytes, size_t len);

/* Size of a valid block, in bytes. */
size_t index_block_size(const struct index_block *b);

/*
 * The frames of an address in [low, high), innermost first; returns how many of at most `max`; 0 for a block
 * whose source is INDEX_NONE.
 */
size_t index_block_find(const struct index_block *b, uint64_t address, struct index_frame *frames,
                        size_t max);

/*
 * Making one:
 *
 *	index_builder_start(&w, low, INDEX_DWARF);
 *	inner = index_builder_scope(&w, outer, "name", "file", line);	outer ones first
 *	index_builder_segment(&w, start, inner, "file", line);		in the order of their start, the first is low
 *	err = index_builder_finish(&w, high, &block);			the caller's to free
 *
 * Errors are kept until index_builder_finish(): -ENOMEM, -EFBIG. A started builder must be finished or
 * released; a NULL text is one that is not known. A segment equal to the one before it is left out.
 */
struct index_builder {
	struct index_block block;
	struct index_segment *segments;
	struct index_scope *scopes;
	char *texts;
	uint32_t *text_buckets; /* hash of where texts are */
	size_t max_segments, max_scopes, max_text, n_buckets, n_texts;
	int err;
};

void index_builder_start(struct index_builder *w, uint64_t low, enum index_source source);
uint32_t index_builder_scope(struct index_builder *w, uint32_t outer, const char *name, const char *call_file,
                             uint32_t call_line);
void index_builder_segment(struct index_builder *w, uint64_t start, uint32_t scope, const char *file,
                           uint32_t line);
int index_builder_finish(struct index_builder *w, uint64_t high, struct index_block **out);

/* Checksum of a block, or of anything else on disk; differs whenever a single byte was changed. */
uint64_t index_checksum(const void *bytes, size_t len);

#endif
