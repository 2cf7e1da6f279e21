/* Tests of elf_file.h, elf_relocate.h and symtab.h on files whose sections lead where none should. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/elf/elf_relocate.h"
#include "symbolizer/elf/symtab.h"

#define MAX_BYTES    ((size_t)1 << 20)
#define MAX_SECTIONS 16
#define BODY_BYTES   (1 << 20)

static struct {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[MAX_SECTIONS];
	uint8_t body[BODY_BYTES];
} image;

static size_t body_len;

static void begin(uint16_t type)
{
	memset(&image, 0, sizeof(image));
	body_len = 0;
	image.ehdr = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		                   .e_type = type,
		                   .e_machine = EM_X86_64,
		                   .e_phoff = offsetof(typeof(image), phdr),
		                   .e_phnum = 1,
		                   .e_phentsize = sizeof(Elf64_Phdr),
		                   .e_shoff = offsetof(typeof(image), shdrs),
		                   .e_shnum = 1,
		                   .e_shentsize = sizeof(Elf64_Shdr) };
	image.phdr = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x1000, .p_memsz = 0x1000 };
}

/* Returns the section, whose name and links are to be set; its content is copied. */
static Elf64_Shdr *add(uint32_t type, const void *content, size_t len)
{
	Elf64_Shdr *shdr = &image.shdrs[image.ehdr.e_shnum++];

	assert_true(image.ehdr.e_shnum <= MAX_SECTIONS && body_len + len <= BODY_BYTES);
	*shdr = (Elf64_Shdr){ .sh_type = type,
		              .sh_offset = offsetof(typeof(image), body) + body_len,
		              .sh_size = len };
	memcpy(image.body + body_len, content, len);
	body_len += len;
	return shdr;
}

/* As a file that is read, so that sections are in memory of their own. */
static struct elf_file *open_image(void)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	struct elf_file *f = NULL;

	assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
	assert_int_equal(elf_file_open(fd, false, MAX_BYTES, &f), 0);
	return f;
}

#define CHAIN 5

/* What would be relocated by what would be relocated by... is relocated by nothing, and only it is loaded. */
static void test_elf_links__relocations_of_relocations(void **state)
{
	const Elf64_Rela rela = { .r_info = ELF64_R_INFO(0, R_X86_64_64), .r_addend = 0x5555 };
	struct elf_section section;
	struct elf_file *f;
	const Elf64_Sym symbol = { .st_value = 0x1111 };
	uint64_t value;
	size_t before;
	uint32_t i;

	(void)state;
	begin(ET_REL);
	for (i = 0; i < CHAIN; i++)
		add(SHT_PROGBITS, &symbol, sizeof(symbol));
	for (i = 0; i + 1 < CHAIN; i++) {
		add(SHT_RELA, &rela, sizeof(rela))->sh_info = 1 + i;
		image.shdrs[image.ehdr.e_shnum - 1].sh_link = 2 + i;
	}
	add(SHT_RELA, &rela, sizeof(rela))->sh_info = CHAIN;
	image.shdrs[image.ehdr.e_shnum - 1].sh_link = image.ehdr.e_shnum;
	add(SHT_SYMTAB, &symbol, sizeof(symbol));
	f = open_image();
	assert_int_equal(elf_relocate_lay_out(f), 0);
	before = elf_file_memory(f);
	assert_int_equal(elf_file_section_at(f, 1, &section), 0);
	assert_memory_equal(section.data, &symbol, sizeof(symbol));
	assert_int_equal(elf_file_memory(f), before + sizeof(symbol));
	/* The last of them has a symbol table. */
	assert_int_equal(elf_file_section_at(f, CHAIN, &section), 0);
	memcpy(&value, section.data, sizeof(value));
	assert_int_equal(value, 0x1111 + 0x5555);
	elf_file_close(f);
}

/* One function, called "name". */
static struct elf_file *open_symbols(uint32_t strings_type, bool is_plt, bool links_to_itself)
{
	static const char strings[] = "\0name";
	static const char names[] = "\0.plt";
	const Elf64_Sym symbol = { .st_name = links_to_itself ? offsetof(Elf64_Sym, st_info) : 1,
		                   .st_info = STT_FUNC,
		                   .st_shndx = 2,
		                   .st_value = 0x1000,
		                   .st_size = 16 };
	Elf64_Shdr *table, *section;

	begin(ET_DYN);
	table = add(SHT_SYMTAB, &symbol, sizeof(symbol));
	table->sh_link = links_to_itself ? 1 : 2;
	section = add(strings_type, strings, sizeof(strings));
	section->sh_name = is_plt;
	image.ehdr.e_shstrndx = image.ehdr.e_shnum;
	add(SHT_STRTAB, names, sizeof(names));
	return open_image();
}

static void check_name(bool is_plt)
{
	struct elf_file *f = open_symbols(SHT_STRTAB, is_plt, false);
	struct elf_section strings;
	struct symtab_hit hit;
	struct symtab *t;
	size_t len;

	assert_int_equal(symtab_new(f, NULL, &t), 0);
	len = elf_file_memory(f);
	assert_true(symtab_find(t, 0x1008, &hit));
	assert_int_equal(elf_file_section_at(f, 2, &strings), 0);
	/* They still are where the name is. */
	assert_ptr_equal(hit.name, (const char *)strings.data + 1);
	assert_string_equal(hit.name, "name");
	assert_int_equal(elf_file_memory(f), len);
	symtab_free(t);
	elf_file_close(f);
}

/* Strings that the reading of the PLT gives back, too. */
static void test_elf_links__strings_in_the_plt(void **state)
{
	(void)state;
	check_name(false);
	check_name(true);
}

/* A table whose strings it is itself, and one whose strings are something else. */
static void test_elf_links__no_strings(void **state)
{
	struct elf_file *f;
	struct symtab *t;

	(void)state;
	f = open_symbols(SHT_STRTAB, false, true);
	assert_int_equal(symtab_new(f, NULL, &t), -ENOENT);
	elf_file_close(f);
	f = open_symbols(SHT_PROGBITS, false, false);
	assert_int_equal(symtab_new(f, NULL, &t), -ENOENT);
	elf_file_close(f);
}

/* Symbols at one address that all have one long name: with a million of them, seconds went by at one lookup. */
static void test_elf_links__one_long_name(void **state)
{
	static const struct {
		size_t len;
		int err;
	} cases[] = { { 200, 0 }, { 16000, -EFBIG } };
	static Elf64_Sym symbols[40000];
	static char strings[16002];
	struct elf_file *f;
	struct symtab *t;
	size_t i;

	(void)state;
	for (i = 0; i < 40000; i++)
		symbols[i] = (Elf64_Sym){
			.st_name = 1, .st_info = STT_FUNC, .st_shndx = 2, .st_value = 0x1000, .st_size = 16
		};
	for (i = 0; i < 2; i++) {
		memset(strings + 1, '_', cases[i].len);
		begin(ET_DYN);
		add(SHT_SYMTAB, symbols, sizeof(symbols))->sh_link = 2;
		add(SHT_STRTAB, strings, cases[i].len + 2);
		f = open_image();
		assert_int_equal(symtab_new(f, NULL, &t), cases[i].err);
		symtab_free(t);
		elf_file_close(f);
	}
}

/* Got twice under two names, it is freed when it is given back twice. */
static void test_elf_links__given_back(void **state)
{
	struct elf_file *f = open_symbols(SHT_STRTAB, true, false);
	struct elf_section by_name, by_index;
	size_t before;

	(void)state;
	assert_int_equal(elf_file_section(f, ".plt", &by_name), 0);
	before = elf_file_memory(f) - by_name.len;
	assert_int_equal(elf_file_section_at(f, 2, &by_index), 0);
	assert_ptr_equal(by_name.data, by_index.data);
	elf_file_release(f, by_index.index);
	assert_int_equal(elf_file_memory(f), before + by_name.len);
	assert_string_equal((const char *)by_name.data + 1, "name");
	elf_file_release(f, by_name.index);
	assert_int_equal(elf_file_memory(f), before);
	elf_file_release(f, by_name.index); /* nobody has it */
	assert_int_equal(elf_file_memory(f), before);
	elf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf_links__relocations_of_relocations),
		cmocka_unit_test(test_elf_links__strings_in_the_plt),
		cmocka_unit_test(test_elf_links__no_strings),
		cmocka_unit_test(test_elf_links__one_long_name),
		cmocka_unit_test(test_elf_links__given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
