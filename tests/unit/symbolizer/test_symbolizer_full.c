/* Tests of symbolizer.h when one process has filled a table of strings: the others have names, paths and stacks. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/symbolizer_state.h"
#include "tests/unit/need_root.h"

#define LONG  16000
#define MANY  30000 /* of that length fill any table */
#define OTHER 1     /* a pid */

static struct symbolizer *s;

static int make_symbolizer(void **state)
{
	struct symbolizer_opts opts = { .max_memory_bytes = 64 << 20 };

	(void)state;
	s = symbolizer_new(&opts);
	return s ? 0 : -1;
}

static int free_symbolizer(void **state)
{
	(void)state;
	symbolizer_free(s);
	return 0;
}

static const char *long_text(int i)
{
	static char text[LONG + 1];

	if (!i)
		memset(text, 'x', LONG);
	snprintf(text, 16, "/%d", i);
	text[strlen(text)] = 'x';
	return text;
}

/* --- names -------------------------------------------------------------------------------------------- */

#define NAME_BYTES 15000
#define NAMES      7000 /* that begin within one, each a byte later */
#define TEXTS      4
#define N_SYMBOLS  (TEXTS * NAMES)
#define CODE       0x10000
#define CODE_BYTES 16

/* A file of 1 MB whose functions have names of 320 MB, all different. */
static struct hostile {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[N_SYMBOLS];
	char strings[TEXTS][NAME_BYTES];
} hostile = {
	.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
	            .e_type = ET_DYN,
	            .e_machine = EM_X86_64,
	            .e_phoff = offsetof(struct hostile, segment),
	            .e_phentsize = sizeof(Elf64_Phdr),
	            .e_phnum = 1,
	            .e_shoff = offsetof(struct hostile, sections),
	            .e_shentsize = sizeof(Elf64_Shdr),
	            .e_shnum = 4 },
	.segment = { .p_type = PT_LOAD,
	             .p_flags = PF_X,
	             .p_vaddr = CODE,
	             .p_filesz = N_SYMBOLS * CODE_BYTES,
	             .p_memsz = N_SYMBOLS * CODE_BYTES },
	.sections = { { .sh_type = SHT_NULL },
	              { .sh_type = SHT_PROGBITS,
	                .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                .sh_addr = CODE,
	                .sh_size = N_SYMBOLS * CODE_BYTES },
	              { .sh_type = SHT_SYMTAB,
	                .sh_offset = offsetof(struct hostile, symbols),
	                .sh_size = sizeof(hostile.symbols),
	                .sh_link = 3,
	                .sh_entsize = sizeof(Elf64_Sym) },
	              { .sh_type = SHT_STRTAB,
	                .sh_offset = offsetof(struct hostile, strings),
	                .sh_size = sizeof(hostile.strings) } },
};

static void write_hostile_file(const char *path)
{
	FILE *file = fopen(path, "w");
	size_t i, j;

	for (i = 0; i < TEXTS; i++)
		for (j = 0; j < NAME_BYTES - 1; j++)
			hostile.strings[i][j] = (char)('a' + (i * NAME_BYTES + j) * 2654435761u / 65537 % 26);
	for (i = 0; i < N_SYMBOLS; i++)
		hostile.symbols[i] = (Elf64_Sym){ .st_name = (uint32_t)(i / NAMES * NAME_BYTES + i % NAMES),
			                          .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			                          .st_shndx = 1,
			                          .st_value = CODE + i * CODE_BYTES,
			                          .st_size = CODE_BYTES };
	assert_int_equal(fwrite(&hostile, sizeof(hostile), 1, file), 1);
	fclose(file);
}

/* Each name is told, and what was told before is not kept for that. */
static void ask_for_names(struct sym_file *f)
{
	struct symbolizer_stats st;
	struct sym_result r;
	size_t i;

	for (i = 0; i < N_SYMBOLS; i++) {
		assert_int_equal(symbolizer_file_find(f, NULL, CODE + i * CODE_BYTES, &r), 0);
		assert_string_equal(r.frames[0].function, &hostile.strings[i / NAMES][i % NAMES]);
	}
	symbolizer_stats(s, &st);
	assert_int_equal(st.names_refused, 0);
	assert_in_range(st.memory_bytes, 1, 100 << 20);
}

/* --- paths -------------------------------------------------------------------------------------------- */

/* As a process does that has many files mapped, one after the other. */
static void fill_paths(void)
{
	struct sym_process *p = symbolizer_process(s, OTHER, 1);
	struct symbolizer_stats st = { 0 };
	int i;

	symbolizer_process_exit(p);
	for (i = 0; i < MANY && !st.names_refused; i++) {
		assert_int_equal(symbolizer_process_map(p, 4096, 8192, 0, 0, 0, 1, long_text(i)), 0);
		symbolizer_stats(s, &st);
	}
	assert_in_range(i, 1000, MANY - 1);
}

static struct sym_result look_up(void)
{
	struct sym_process *self = symbolizer_process(s, (uint32_t)getpid(), 1);
	struct sym_result r;

	assert_int_equal(symbolizer_process_refresh(self), 0);
	assert_int_equal(symbolizer_user(self, (uintptr_t)fill_paths, false, &r), 0);
	return r;
}

static void test_symbolizer_full__names(void **state)
{
	char path[] = "/tmp/stallprof-test-XXXXXX";
	struct sym_file *f;
	struct sym_result r;

	(void)state;
	close(mkstemp(path));
	write_hostile_file(path);
	assert_int_equal(symbolizer_file(s, path, &f), 0);
	ask_for_names(f);
	unlink(path);
	r = look_up();
	assert_string_equal(r.frames[0].function, "fill_paths");
}

/* The file itself is opened, though nobody can say any more what it is called. */
static void test_symbolizer_full__paths(void **state)
{
	struct sym_result r;

	(void)state;
	need_user_root("opens files of /proc/PID/map_files");
	fill_paths();
	r = look_up();
	assert_string_equal(r.module->path, INTERN_FULL);
	assert_string_equal(r.frames[0].function, "fill_paths");
}

#define WITH_SYMBOLIZER(test) cmocka_unit_test_setup_teardown(test, make_symbolizer, free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SYMBOLIZER(test_symbolizer_full__names),
		WITH_SYMBOLIZER(test_symbolizer_full__paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
