/* Tests of dwarf_block.h: a block gives every address the same frames as a lookup in DWARF. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/index/dwarf_block.h"
#include "tests/unit/compile_program.h"

#define MAX_TEXT 1024

static const char source[] =
        "#include <algorithm>\n#include <string>\n#include <vector>\nstatic volatile int sink;\n"
        "static inline __attribute__((always_inline)) int inner(int n) { return sink + n; }\n"
        "static inline __attribute__((always_inline)) int outer(int n) { return inner(n) * inner(n + 1); }\n"
        "extern \"C\" int shown(int n)\n{\n\tstd::vector<std::string> v;\n\tsink = outer(n);\n"
        "\tfor (int i = 0; i < n; i++)\n\t\tv.push_back(std::to_string(outer(i)));\n"
        "\tstd::sort(v.begin(), v.end());\n\treturn v.size() + outer(sink);\n}\n"
        "int main(int argc, char **argv) { return shown(argc); }\n";

struct program {
	struct elf_file *elf;
	struct dwarf_index *dwarf;
	uint64_t start, end;
};

static void open_program(struct program *p, size_t max_unit_bytes)
{
	struct elf_section text;
	char path[256];

	snprintf(path, sizeof(path), "%s/program", program_dir);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, 1 << 28, &p->elf), 0);
	assert_int_equal(elf_file_section(p->elf, ".text", &text), 0);
	assert_int_equal(dwarf_index_new(p->elf, p->elf, NULL, max_unit_bytes, NULL, &p->dwarf), 0);
	p->start = text.address;
	p->end = text.address + text.len;
}

static void close_program(struct program *p)
{
	assert_int_equal(dwarf_index_errors(p->dwarf), 0);
	dwarf_index_free(p->dwarf);
	elf_file_close(p->elf);
}

static void add(char *out, const char *name, const char *file, uint32_t line, bool inlined)
{
	size_t len = strlen(out);

	snprintf(out + len, MAX_TEXT - len, "|%s %s:%u %d", name ? name : "?", file ? file : "?", line,
	         inlined);
}

/* The plain way. */
static void by_itself(struct program *p, uint64_t address, char *out)
{
	struct dwarf_frame frames[INDEX_MAX_FRAMES];
	char name[512], path[PATH_MAX];
	struct dwarf_place place;
	size_t n = 0, i;

	*out = 0;
	if (dwarf_index_locate(p->dwarf, address, &place))
		n = dwarf_index_frames(&place, address, frames, INDEX_MAX_FRAMES);
	for (i = 0; i < n; i++) {
		bool has_name = dwarf_index_name(p->dwarf, frames[i].die, name, sizeof(name));
		bool has_path = frames[i].lines &&
		                dwarf_lines_path(frames[i].lines, frames[i].file, path, sizeof(path));

		add(out, has_name ? name : NULL, has_path ? path : NULL, frames[i].line, frames[i].inlined);
	}
}

static void by_block(const struct index_block *b, uint64_t address, char *out)
{
	struct index_frame frames[INDEX_MAX_FRAMES];
	size_t n = index_block_find(b, address, frames, INDEX_MAX_FRAMES), i;

	*out = 0;
	for (i = 0; i < n; i++)
		add(out, frames[i].name, frames[i].file, frames[i].line, frames[i].inlined);
}

static const char *no_symbol(uint64_t address, void *context)
{
	(void)address;
	(void)context;
	return NULL;
}

/* Makes blocks from all over the program, each without regard to the others; returns how many frames were inlined. */
static size_t compare_all(struct program *p, uint64_t step, const struct dwarf_interval *room)
{
	char alone[MAX_TEXT], together[MAX_TEXT];
	struct index_block *b;
	uint64_t from, at;
	size_t inlined = 0;

	for (from = p->start; from < p->end; from += step) {
		struct dwarf_block_wanted wanted = {
			.address = from, .room = { 0, UINT64_MAX }, .shift = 0x100, .symbol_at = no_symbol
		};

		if (room)
			wanted.room = (struct dwarf_interval){ from - room->low, from + room->high };
		if (dwarf_block_make(p->dwarf, &wanted, &b)) {
			by_itself(p, from, alone);
			assert_string_equal(alone, "");
			continue;
		}
		assert_true(index_block_is_valid(b, index_block_size(b)));
		assert_true(b->low <= from + 0x100 && from + 0x100 < b->high);
		assert_true(!room ||
		            (b->low >= wanted.room.low + 0x100 && b->high <= wanted.room.high + 0x100));
		for (at = b->low; at < b->high; at++) {
			by_itself(p, at - 0x100, alone);
			by_block(b, at, together);
			assert_string_equal(together, alone);
			inlined += strchr(alone + 1, '|') != NULL;
		}
		free(b);
	}
	return inlined;
}

static void build(const char *flags, const char *then)
{
	assert_int_equal(shell("cd '%s' && g++ -w -O2 -g %s -o program x.cc && %s", program_dir, flags, then),
	                 0);
}

static void test_dwarf_block__every_address(void **state)
{
	struct dwarf_interval room = { 5, 9 };
	struct program p;

	(void)state;
	build("-gdwarf-5", "true");
	open_program(&p, 1 << 24);
	assert_true(compare_all(&p, 37, NULL) > 1000);
	assert_true(compare_all(&p, 7, &room) > 1000);
	close_program(&p);
	/* Units are dropped and read again all the time. */
	build("-gdwarf-4 -ffunction-sections", "true");
	open_program(&p, 1);
	assert_true(compare_all(&p, 211, NULL) > 100);
	close_program(&p);
}

/* There the inlined functions alone say where the frames change. */
static void test_dwarf_block__without_lines(void **state)
{
	struct program p;

	(void)state;
	build("-gdwarf-5", "objcopy --remove-section .debug_line program");
	open_program(&p, 1 << 24);
	assert_true(compare_all(&p, 37, NULL) > 1000);
	close_program(&p);
}

/* What .debug_aranges says is what the units say. */
static void test_dwarf_block__without_aranges(void **state)
{
	char(*with)[MAX_TEXT], without[MAX_TEXT];
	struct program p;
	size_t i, n;

	(void)state;
	build("-gdwarf-5", "true");
	open_program(&p, 1 << 24);
	n = p.end - p.start;
	with = calloc(n, sizeof(*with));
	for (i = 0; i < n; i++)
		by_itself(&p, p.start + i, with[i]);
	close_program(&p);
	build("-gdwarf-5", "objcopy --remove-section .debug_aranges program");
	open_program(&p, 1 << 24);
	for (i = 0; i < n; i++) {
		by_itself(&p, p.start + i, without);
		assert_string_equal(without, with[i]);
	}
	close_program(&p);
	free(with);
}

/* A function of 64 KiB at 0x10000 into which a million calls were inlined side by side, each at an even address, of one byte. */
static const char flat_inlines[] =
        ".text\n.globl _start\n_start: .skip 0x10000, 0x90\n.section .note.GNU-stack\n.section "
        ".debug_abbrev\n"
        ".uleb128 1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0\n"             /* unit: low and high pc */
        ".uleb128 2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0\n" /* function: name, low and high pc */
        ".uleb128 3, 0x1d, 0, 0x11, 0x01, 0x12, 0x0b, 0, 0\n"             /* inlined: low and high pc */
        ".uleb128 0\n"
        ".section .debug_info\n.long end - version\nversion: .short 4\n.long .debug_abbrev\n.byte 8\n"
        ".uleb128 1\n.quad _start\n.long 0x10000\n"
        ".uleb128 2\n.string \"f\"\n.quad _start\n.long 0x10000\n.incbin \"dies\"\n.byte 0, 0\nend:\n";

static void write_flat_inlines(void)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/flat.s", program_dir);
	file = fopen(path, "w");
	fputs(flat_inlines, file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/dies", program_dir);
	file = fopen(path, "w");
	for (uint64_t i = 0, pc; i < 1 << 20; i++) {
		pc = 0x10000 + i * 2 % 0x10000;
		putc(3, file);
		fwrite(&pc, sizeof(pc), 1, file);
		putc(1, file);
	}
	fclose(file);
	assert_int_equal(
	        shell("cd '%s' && gcc -nostdlib -static -no-pie -Wl,-Ttext=0x10000 -o program flat.s",
	              program_dir),
	        0);
}

/* To go through them for each address of a block took seconds, and for each block again. */
static void test_dwarf_block__flat_inlines(void **state)
{
	struct dwarf_block_wanted wanted = { .room = { 0, UINT64_MAX }, .symbol_at = no_symbol };
	clock_t began = clock();
	struct index_block *b;
	struct program p;
	size_t n = 0;

	(void)state;
	write_flat_inlines();
	open_program(&p, 1 << 28);
	for (wanted.address = 0x10000; wanted.address < 0x20000; wanted.address += 128) {
		if (dwarf_block_make(p.dwarf, &wanted, &b))
			continue;
		n++;
		assert_true(b->low <= wanted.address && wanted.address < b->high && b->high - b->low < 10);
		free(b);
	}
	print_message("%zu blocks in %.2f s of CPU\n", n, (double)(clock() - began) / CLOCKS_PER_SEC);
	assert_true(n > 20 && n < 400);
	assert_true(dwarf_index_is_partial(p.dwarf));
	dwarf_index_free(p.dwarf);
	elf_file_close(p.elf);
}

static int make_source(void **state)
{
	return program_dir_make_with(state, "x.cc", source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf_block__every_address),
		cmocka_unit_test(test_dwarf_block__without_lines),
		cmocka_unit_test(test_dwarf_block__without_aranges),
		cmocka_unit_test(test_dwarf_block__flat_inlines),
	};

	return cmocka_run_group_tests(tests, make_source, program_dir_remove);
}
