/* Tests of entries whose length is hostile: no more is read of the file, and kept, than a real entry may have. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/cfi/cfi_entry.h"

#define FRAMES   sizeof(Elf64_Ehdr) /* where .eh_frame is in the file, and in memory */
#define CIE      0u
#define FDE      256u
#define CODE     0x100000
#define MAX_FILE INT64_MAX
#define MAX_HELD ((size_t)4 << 20)

static struct {
	int fd;
	struct elf_file *file;
	struct cfi_section section;
} at;

static void put(uint64_t offset, const void *bytes, size_t len)
{
	assert_int_equal(pwrite(at.fd, bytes, len, (off_t)(FRAMES + offset)), len);
}

/* A length of 64 bits and what follows it in .eh_frame. */
static void put_header(uint64_t offset, uint64_t len, uint32_t cie_pointer)
{
	static const uint32_t is_64 = UINT32_MAX;

	put(offset, &is_64, sizeof(is_64));
	put(offset + 4, &len, sizeof(len));
	put(offset + 12, &cie_pointer, sizeof(cie_pointer));
}

static void put_cie(uint64_t len)
{
	put_header(CIE, len, 0);
	put(CIE + 16, "\1zR\0\1\x78\x10\1\0\x0c\7\x08\x90\1", 14);
}

static void put_fde(uint64_t len)
{
	static const uint64_t range[] = { CODE, 16 };

	put_header(FDE, len, FDE + 12 - CIE);
	put(FDE + 16, range, sizeof(range));
}

/* Nearly all of it is a hole, so that its size bounds nothing. */
static int make_file(void **state)
{
	const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
		                                 ELFDATA2LSB },
		                    .e_machine = EM_X86_64 };

	(void)state;
	at.fd = memfd_create("frames", MFD_CLOEXEC);
	return ftruncate(at.fd, MAX_FILE) || pwrite(at.fd, &header, sizeof(header), 0) != sizeof(header);
}

static int close_file(void **state)
{
	(void)state;
	return close(at.fd);
}

/* The file has what it is to have: its first bytes are read now. */
static void open_section(void)
{
	const struct elf_section place = { .len = MAX_FILE - FRAMES, .address = FRAMES };

	at.section = (struct cfi_section){ .arch = &cfi_arch_x86_64 };
	assert_int_equal(elf_file_open(dup(at.fd), false, MAX_HELD, &at.file), 0);
	cfi_section_open_at(&at.section, at.file, &place, FRAMES);
}

static void close_section(void)
{
	cfi_section_close(&at.section);
	elf_file_close(at.file);
}

static void assert_read(bool expected)
{
	struct cfi_known_cie known = { 0 };
	struct cfi_fde fde;

	assert_int_equal(cfi_entry_read(&at.section, FDE, &known, &fde, NULL), expected);
}

static void test_cfi_entry__sound_ones(void **state)
{
	static const uint64_t lengths[] = { 100, 5000, CFI_MAX_FDE_BYTES - 16 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		put_cie(i ? 3000 : 100);
		put_fde(lengths[i]);
		open_section();
		assert_read(true);
		assert_true(cfi_section_memory(&at.section) <= MAX_HELD);
		close_section();
	}
}

/* Nothing is read, twice, and no room is made. */
static void assert_refused(void)
{
	size_t before;

	open_section();
	before = cfi_section_memory(&at.section);
	assert_read(false);
	assert_int_equal(cfi_section_memory(&at.section), before);
	assert_read(false);
	close_section();
}

static void test_cfi_entry__long_cie(void **state)
{
	(void)state;
	put_fde(100);
	put_cie(MAX_HELD * 4);
	assert_refused();
}

static void test_cfi_entry__long_fde(void **state)
{
	static const uint64_t lengths[] = { MAX_HELD * 4, (uint64_t)1 << 62, MAX_FILE - FRAMES - 1,
		                            UINT64_MAX };
	size_t i;

	(void)state;
	put_cie(100);
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		put_fde(lengths[i]);
		assert_refused();
	}
}

/* What comes behind an entry that is too long is found nevertheless. */
static void test_cfi_entry__behind_a_long_one(void **state)
{
	static const uint64_t lengths[] = { CFI_MAX_FDE_BYTES, (uint64_t)1 << 32, MAX_FILE - FRAMES };
	struct cfi_known_cie known = { 0 };
	struct cfi_fde fde;
	size_t i, next;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		put_cie(100);
		put_fde(lengths[i]);
		open_section();
		assert_false(cfi_entry_read(&at.section, FDE, &known, &fde, &next));
		assert_int_equal(next, i < 2 ? FDE + 12 + lengths[i] : MAX_FILE - FRAMES);
		close_section();
	}
}

/* The room of FDEs and two CIEs of that length is 64 bytes as a size_t. */
static void test_cfi_entry__long_cie_wraps(void **state)
{
	size_t of_fdes;

	(void)state;
	open_section();
	of_fdes = at.section.have[0].room;
	close_section();
	put_fde(100);
	put_cie(((uint64_t)1 << 63) - of_fdes / 2 + 32 - 12);
	assert_refused();
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, close_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(test_cfi_entry__sound_ones),     WITH_FILE(test_cfi_entry__long_cie),
		WITH_FILE(test_cfi_entry__long_fde),       WITH_FILE(test_cfi_entry__behind_a_long_one),
		WITH_FILE(test_cfi_entry__long_cie_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
