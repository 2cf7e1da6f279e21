/* Finds the calls of tail-call handlers in a Python's code, which tell copies of its evaluator. */

#include "symbolizer/python/python_tail_calls.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVALUATOR_BYTES 4096 /* seen: 282 and 657 bytes */
#define MAX_CODE_BYTES      ((uint64_t)128 << 20)
#define CHUNK_BYTES         ((size_t)1 << 20)
#define LOOK_BACK_BYTES     64 /* for where a register gets the table's address */
#define LOOK_AHEAD_BYTES    8  /* no instruction looked for is longer */
#define OPCODES             256

struct search {
	uint64_t table; /* 0: not known yet */
	uint64_t handlers[OPCODES];
	uint64_t *out;
	size_t n;
};

/* Some code, at `address`. The instructions that begin in bytes[from..to) are wanted, LOOK_AHEAD_BYTES follow. */
struct code {
	const uint8_t *bytes;
	uint64_t address;
	size_t from, to;
};

static int64_t displacement_at(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void note_call(struct search *search, uint64_t return_address)
{
	if (search->n < SYM_PYTHON_EVALUATOR_CALLS)
		search->out[search->n++] = return_address;
}

/* --- calls by the table -------------------------------------------------------------------------- */

/* lea TABLE(%rip), %base: the last one before bytes[at]. 0: none. */
static uint64_t loaded_table(const struct code *code, size_t at, uint8_t base)
{
	size_t back;

	for (back = 7; back <= LOOK_BACK_BYTES && back <= at; back++) {
		const uint8_t *lea = code->bytes + at - back;

		/* REX.W with or without REX.R, which is the register's upper bit; mod 0 and r/m 5: of rip. */
		if ((lea[0] & 0xfb) == 0x48 && lea[1] == 0x8d && (lea[2] & 0xc7) == 0x05 &&
		    (lea[2] >> 3 & 7) == base)
			return code->address + at - back + 7 + (uint64_t)displacement_at(lea + 3);
	}
	return 0;
}

/* call *TABLE(, %index, 8) or call *(%base, %index, 8) at bytes[at], a 0xff. Its length; 0: neither. */
static size_t table_call(const struct code *code, size_t at, uint64_t *table)
{
	uint8_t modrm = code->bytes[at + 1], sib = code->bytes[at + 2];

	if (modrm != 0x14 || sib >> 6 != 3)
		return 0;
	if ((sib & 7) == 5) { /* no base: in a program that is not position-independent */
		*table = (uint64_t)displacement_at(code->bytes + at + 3);
		return 7;
	}
	*table = loaded_table(code, at, sib & 7);
	return *table ? 3 : 0;
}

/* The first one found tells the table, if it is not known. */
static void find_table_calls(struct search *search, const struct code *code)
{
	const uint8_t *at = code->bytes + code->from, *end = code->bytes + code->to;
	size_t offset, length;
	uint64_t table;

	for (; at < end && (at = memchr(at, 0xff, (size_t)(end - at))); at++) {
		offset = (size_t)(at - code->bytes);
		length = table_call(code, offset, &table);
		if (!length || (search->table && table != search->table))
			continue;
		search->table = table;
		note_call(search, code->address + offset + length);
	}
}

/* --- the handlers -------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What the dynamic linker will write into the table. */
static void relocate_handlers(struct elf_file *f, struct search *search)
{
	struct elf_section section;
	Elf64_Rela rela;
	size_t i;

	if (elf_file_section(f, ".rela.dyn", &section))
		return;
	for (i = 0; i + sizeof(rela) <= section.len; i += sizeof(rela)) {
		memcpy(&rela, section.data + i, sizeof(rela));
		if (ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE &&
		    rela.r_offset - search->table < sizeof(search->handlers))
			search->handlers[(rela.r_offset - search->table) / sizeof(uint64_t)] =
			        (uint64_t)rela.r_addend;
	}
}

/* False: it is a table of something else. */
static bool read_handlers(struct elf_file *f, struct search *search)
{
	size_t i;

	if (elf_file_read_at(f, search->table, search->handlers, sizeof(search->handlers)))
		return false;
	relocate_handlers(f, search);
	for (i = 0; i < OPCODES; i++)
		if (!elf_file_executable(f, search->handlers[i]))
			return false;
	qsort(search->handlers, OPCODES, sizeof(search->handlers[0]), by_address);
	return true;
}

static void find_direct_calls(struct search *search, const struct code *code)
{
	const uint8_t *at = code->bytes + code->from, *end = code->bytes + code->to;
	uint64_t behind, target;

	for (; at < end && (at = memchr(at, 0xe8, (size_t)(end - at))); at++) {
		behind = code->address + (uint64_t)(at - code->bytes) + 5;
		target = behind + (uint64_t)displacement_at(at + 1);
		if (target >= search->handlers[0] && target <= search->handlers[OPCODES - 1] &&
		    bsearch(&target, search->handlers, OPCODES, sizeof(target), by_address))
			note_call(search, behind);
	}
}

/* --- the file ------------------------------------------------------------------------------------ */

static void look_at_evaluator(struct elf_file *f, const struct sym_python_range *evaluator,
                              struct search *search)
{
	uint8_t bytes[MAX_EVALUATOR_BYTES + LOOK_AHEAD_BYTES] = { 0 };
	struct code code = { bytes, evaluator->start, 0, (size_t)(evaluator->end - evaluator->start) };

	if (!elf_file_read_at(f, evaluator->start, bytes, code.to))
		find_table_calls(search, &code);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* In chunks, each with what stands before and behind it. `bytes` has room for that. */
static void look_at_segment(struct elf_file *f, const struct elf_segment *segment, uint8_t *bytes,
                            struct search *search)
{
	uint64_t at, before, size, behind;
	struct code code = { .bytes = bytes };

	for (at = 0; at < segment->file_size; at += CHUNK_BYTES) {
		before = least(at, LOOK_BACK_BYTES);
		size = least(segment->file_size - at, CHUNK_BYTES);
		behind = least(segment->file_size - at - size, LOOK_AHEAD_BYTES);
		memset(bytes + before + size, 0, LOOK_AHEAD_BYTES);
		if (elf_file_read(f, segment->offset + at - before, bytes, before + size + behind))
			return;
		code.address = segment->vaddr + at - before;
		code.from = before;
		code.to = before + size;
		find_table_calls(search, &code);
		find_direct_calls(search, &code);
	}
}

static void look_everywhere(struct elf_file *f, struct search *search)
{
	size_t n, i;
	const struct elf_segment *segments = elf_file_segments(f, &n);
	uint64_t left = MAX_CODE_BYTES;
	uint8_t *bytes = malloc(LOOK_BACK_BYTES + CHUNK_BYTES + LOOK_AHEAD_BYTES);

	for (i = 0; i < n && bytes; i++) {
		if (!segments[i].executable || segments[i].file_size > left)
			continue;
		left -= segments[i].file_size;
		look_at_segment(f, &segments[i], bytes, search);
	}
	free(bytes);
}

void python_tail_calls(struct elf_file *f, const struct sym_python_range *evaluator,
                       uint64_t out[SYM_PYTHON_EVALUATOR_CALLS])
{
	struct search search = { .out = out };

	if (evaluator->end - evaluator->start <= MAX_EVALUATOR_BYTES)
		look_at_evaluator(f, evaluator, &search);
	search.n = 0;
	if (search.table && read_handlers(f, &search))
		look_everywhere(f, &search);
	memset(out + search.n, 0, (SYM_PYTHON_EVALUATOR_CALLS - search.n) * sizeof(*out));
}
