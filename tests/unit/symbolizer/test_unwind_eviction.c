/*
 * Tests of symbolizer_unwind() where a lookup within the walk opens one file too many, so that the least recently used
 * one is closed: rules of its that were kept for the walk must not be used any more.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

#define FILES       512 /* as many as are open at a time, which the program itself is one of */
#define FILE_BYTES  4096
#define RETURN_AT   0x205 /* behind a call, in each file */
#define BASE        ((uint64_t)1 << 40)
#define DISTANCE    0x10000
#define STACK_START 0x7000000000
#define STACK_WORDS 64

static struct symbolizer *s;
static struct sym_process *self;

/* Where a file's bytes are mapped. The last file has, behind that, pages which no segment of it leads to. */
static uint64_t start_of(int i)
{
	return BASE + DISTANCE * (uint64_t)i;
}

#define LAST_WITHOUT_ADDRESS (start_of(FILES - 1) + FILE_BYTES)

/* A program without tables, with a call of the last file. */
static int write_file(const char *path)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		uint8_t code[FILE_BYTES - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr)];
	} file = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
		            .e_machine = EM_X86_64,
		            .e_phoff = sizeof(Elf64_Ehdr),
		            .e_phentsize = sizeof(Elf64_Phdr),
		            .e_phnum = 1 },
		.segment = { .p_type = PT_LOAD,
		             .p_flags = PF_R | PF_X,
		             .p_filesz = FILE_BYTES,
		             .p_memsz = FILE_BYTES },
	};
	int32_t distance = DISTANCE * (FILES - 1) - RETURN_AT;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t written;

	memcpy((char *)&file + RETURN_AT - 5, "\xe8", 1);
	memcpy((char *)&file + RETURN_AT - 4, &distance, sizeof(distance));
	written = write(fd, &file, sizeof(file));
	close(fd);
	return written == sizeof(file) ? 0 : -1;
}

static int make_files(void **state)
{
	char path[128];
	int i, err = program_dir_make(state);

	for (i = 0; !err && i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%d", program_dir, i);
		err = write_file(path);
	}
	return err;
}

static int map_files(void **state)
{
	char path[128];
	int i, err;

	(void)state;
	s = symbolizer_new(NULL);
	self = symbolizer_process(s, (uint32_t)getpid(), 1);
	err = symbolizer_process_refresh(self);
	for (i = 0; !err && i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%d", program_dir, i);
		err = symbolizer_process_map(self, start_of(i), start_of(i) + FILE_BYTES, 0, 0, 0, 0, path);
	}
	return err ? err
	           : symbolizer_process_map(self, LAST_WITHOUT_ADDRESS, LAST_WITHOUT_ADDRESS + FILE_BYTES,
	                                    1 << 20, 0, 0, 0, path);
}

static int free_symbolizer(void **state)
{
	(void)state;
	symbolizer_free(s);
	return 0;
}

static struct symbolizer_stats stats(void)
{
	struct symbolizer_stats st;

	symbolizer_stats(s, &st);
	return st;
}

static __attribute__((noinline)) uint64_t return_address(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

/* A return address in this program, which has rules, and a call before it. */
static uint64_t known(void)
{
	static uint64_t address;

	if (!address)
		address = return_address();
	return address;
}

static size_t unwind(uint64_t ip, const uint64_t *words, uint64_t *pcs)
{
	const struct sym_stack stack = { .regs = { .ip = ip, .sp = STACK_START, .bp = STACK_START + 64 },
		                         .copy = words,
		                         .copy_len = STACK_WORDS * sizeof(*words),
		                         .copy_start = STACK_START };
	enum sym_unwind_end end;
	size_t n;

	assert_int_equal(symbolizer_unwind(self, &stack, pcs, STACK_WORDS, &n, &end), 0);
	return n;
}

/* The program's rules are kept, and it is the file used least recently, when all but the last file are open. */
static void open_all_but_last(void)
{
	uint64_t words[STACK_WORDS] = { 0 }, pcs[STACK_WORDS];
	struct sym_result r;
	int i;

	assert_true(unwind(known() - 1, words, pcs) >= 1);
	assert_int_equal(stats().files_cached, 1);
	for (i = 0; i < FILES - 1; i++)
		symbolizer_user(self, start_of(i), false, &r);
	assert_int_equal(stats().files_cached, FILES);
	assert_int_equal(stats().cache_evictions, 0);
}

/* From `ip`, without rules, by a frame pointer to the program, which the step closes and has to open again. */
static void assert_opened_again(uint64_t ip, uint64_t top)
{
	uint64_t words[STACK_WORDS] = { top }, pcs[STACK_WORDS];
	uint64_t opened = stats().files_opened;

	words[9] = known(); /* at bp + 8 */
	assert_true(unwind(ip, words, pcs) >= 2);
	assert_int_equal(pcs[1], known());
	assert_int_equal(stats().files_opened, opened + 2);
	assert_int_equal(stats().cache_evictions, 2);
}

static void test_unwind_eviction__by_a_file_without_the_address(void **state)
{
	(void)state;
	open_all_but_last();
	assert_opened_again(LAST_WITHOUT_ADDRESS, 0);
}

static void test_unwind_eviction__by_what_is_called(void **state)
{
	(void)state;
	open_all_but_last();
	assert_opened_again(start_of(0) + 0x100, start_of(0) + RETURN_AT);
}

#define WITH_FILES_MAPPED(test) cmocka_unit_test_setup_teardown(test, map_files, free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILES_MAPPED(test_unwind_eviction__by_a_file_without_the_address),
		WITH_FILES_MAPPED(test_unwind_eviction__by_what_is_called),
	};

	return cmocka_run_group_tests(tests, make_files, program_dir_remove);
}
