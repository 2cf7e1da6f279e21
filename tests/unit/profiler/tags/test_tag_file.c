/* Tests of tag_file.h: probes and slots found in ELF files, also in corrupt ones. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "profiler/tags/tag_file.h"
#include "tests/unit/compile_program.h"

#define SLOTS "tests/unit/data/tls/slots.c"

static struct tag_file read_built(const char *flags)
{
	struct tag_file file;
	char path[128];

	snprintf(path, sizeof(path), "%s/file", program_dir);
	assert_true(compile_into("%s -o %s %s", flags, path, SLOTS));
	assert_int_equal(tag_file_read_path(path, &file), 0);
	return file;
}

static void test_tag_file__nothing_of_interest(void **state)
{
	static const char *const paths[] = { "/bin/true", "/bin/sh", "/lib/x86_64-linux-gnu/libc.so.6" };
	struct tag_file file;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(tag_file_read_path(paths[i], &file), 0);
		assert_false(tag_file_interesting(&file));
		assert_true(file.n_texts > 0);
	}
}

static void test_tag_file__probes(void **state)
{
	struct tag_file with = read_built("-shared -fPIC -DPROBES");
	struct tag_file without = read_built("-shared -fPIC");

	(void)state;
	assert_int_equal(with.probes, TAG_FILE_PROBE_CHANGE | TAG_FILE_PROBE_PROCESS);
	assert_int_equal(without.probes, 0);
	assert_true(tag_file_interesting(&without));
}

/* The notes of another provider, and another probe of ours, are nothing. */
static void test_tag_file__other_probes(void **state)
{
	struct tag_file file;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/file", program_dir);
	assert_true(compile_into(
	        "-shared -fPIC -Dstalltag_note=1 -o %s -x c - <<'END'\n"
	        "#include \"stalltag/usdt.h\"\n"
	        "USDT_SEMAPHORE uint16_t s;\n"
	        "void f(void) { USDT_1(\"stalltags\", \"change\", \"s\", 0);\n"
	        "USDT_1(\"python\", \"change\", \"s\", 0); USDT_1(\"stalltag\", \"changed\", \"s\", 0); }\n"
	        "END",
	        path));
	assert_int_equal(tag_file_read_path(path, &file), 0);
	assert_int_equal(file.probes, 0);
	assert_false(tag_file_interesting(&file));
}

struct expected {
	const char *flags;
	enum tag_file_access access;
	bool exported, own, program;
};

static void check_slots(const struct expected *expected)
{
	struct tag_file file = read_built(expected->flags);

	if (file.program != expected->program)
		fail_msg("%s: program is %d", expected->flags, file.program);
	for (int i = 0; i < TAG_FILE_SLOTS; i++) {
		const struct tag_file_slot *slot = &file.slots[i];

		if (slot->access != expected->access || slot->exported != expected->exported)
			fail_msg("%s: slot %d is reached by %d, exported %d", expected->flags, i,
			         slot->access, slot->exported);
		if (slot->access > TAG_FILE_UNKNOWN && slot->own != expected->own)
			fail_msg("%s: slot %d: own is %d", expected->flags, i, slot->own);
		assert_true(slot->value + 8 <= file.block_bytes);
	}
}

static void test_tag_file__slots_by_dialect(void **state)
{
	static const struct expected table[] = {
		{ "-shared -fPIC -mtls-dialect=gnu2", TAG_FILE_TLSDESC, true, false, false },
		{ "-shared -fPIC -mtls-dialect=gnu2 -Wl,-z,lazy", TAG_FILE_TLSDESC, true, false, false },
		{ "-shared -fPIC -mtls-dialect=gnu", TAG_FILE_MODULE, true, false, false },
		{ "-shared -fPIC -ftls-model=initial-exec", TAG_FILE_TPOFF, true, false, false },
		{ "-shared -fPIC -mtls-dialect=gnu2 -Wl,-Bsymbolic", TAG_FILE_TLSDESC, true, false, false },
		{ "-shared -fPIC -mtls-dialect=gnu -Wl,-Bsymbolic", TAG_FILE_MODULE, true, false, false },
		{ "-shared -fPIC -mtls-dialect=gnu -DHIDDEN -DPROBES", TAG_FILE_MODULE, false, true, false },
		{ "-shared -fPIC -mtls-dialect=gnu2 -DHIDDEN -DPROBES", TAG_FILE_TLSDESC, false, true,
		  false },
		{ "-shared -fPIC -mtls-dialect=gnu2 -DHIDDEN", TAG_FILE_ABSENT, false, false, false },
		{ "-pie -fPIE -Dset_slots=main -rdynamic -s", TAG_FILE_UNKNOWN, true, false, true },
		{ "-no-pie -Dset_slots=main", TAG_FILE_UNKNOWN, false, false, true },
		{ "-static-pie -fPIE -Dset_slots=main", TAG_FILE_UNKNOWN, false, false, true },
		{ "-static -Dset_slots=main -s", TAG_FILE_ABSENT, false, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		check_slots(&table[i]);
}

static void test_tag_file__one_slot(void **state)
{
	struct tag_file file = read_built("-shared -fPIC -DONLY_OTEL");

	(void)state;
	assert_int_equal(file.slots[TAG_FILE_STALLTAG].access, TAG_FILE_ABSENT);
	assert_int_not_equal(file.slots[TAG_FILE_OTEL].access, TAG_FILE_ABSENT);
}

static void test_tag_file__musl(void **state)
{
	(void)state;
	assert_false(read_built("-pie -fPIE -Dset_slots=main").musl);
	assert_true(
	        read_built("-pie -fPIE -Dset_slots=main -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1").musl);
	assert_false(read_built("-static -Dset_slots=main").musl);
}

static void test_tag_file__bias(void **state)
{
	struct tag_file file = { .n_texts = 2,
		                 .texts = { { 0x1000, 0x500, 0x1000 }, { 0x2010, 0x800, 0x7010 } } };
	uint64_t bias;

	(void)state;
	assert_true(tag_file_bias(&file, 0x555000001000, 0x1000, &bias));
	assert_true(bias == 0x555000000000);
	assert_true(tag_file_bias(&file, 0x555000007000, 0x2000, &bias));
	assert_true(bias == 0x555000000000);
	assert_false(tag_file_bias(&file, 0x555000007000, 0x9000, &bias));
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static void test_tag_file__no_elf(void **state)
{
	struct tag_file file;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/text", program_dir);
	write_file(path, "#!/bin/sh\n", 10);
	assert_int_equal(tag_file_read_path(path, &file), -ENOEXEC);
	write_file(path, "", 0);
	assert_int_equal(tag_file_read_path(path, &file), -ENOEXEC);
	assert_int_equal(tag_file_read_path(program_dir, &file), -ENOEXEC);
	assert_int_equal(tag_file_read_path("/nonexistent", &file), -ENOENT);
	assert_int_equal(tag_file_read_path("/dev/zero", &file), -ENOEXEC);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(tag_file_read_path(path, &file), -ENOEXEC);
	unlink(path);
}

static unsigned char *load_file(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY);
	unsigned char *bytes;
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st));
	*n = (size_t)st.st_size;
	bytes = malloc(*n);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, *n), *n);
	close(fd);
	return bytes;
}

static int read_bytes(const void *bytes, size_t n, struct tag_file *out)
{
	int fd = memfd_create("elf", MFD_CLOEXEC), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	err = tag_file_read(fd, out);
	close(fd);
	return err;
}

static bool is_one_of(int err)
{
	return err == 0 || err == -EBADMSG || err == -ENOEXEC;
}

/* Cut at any length, and with any one byte of a header table changed, it ends with an answer. */
static void test_tag_file__corrupt(void **state)
{
	struct tag_file file = read_built("-shared -fPIC -DPROBES");
	unsigned char *bytes;
	Elf64_Ehdr *header;
	char path[128];
	size_t n;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", program_dir);
	bytes = load_file(path, &n);
	for (size_t cut = 0; cut < n; cut += cut < 1024 ? 1 : 257)
		assert_true(is_one_of(read_bytes(bytes, cut, &file)));
	assert_int_equal(read_bytes(bytes, n / 2, &file), -EBADMSG);
	assert_false(tag_file_interesting(&file));
	header = (Elf64_Ehdr *)bytes;
	for (size_t i = 0; i < 1024; i++) {
		size_t at = i < 512 ? i : header->e_shoff + (i - 512) * 3 % (n - header->e_shoff);

		bytes[at] ^= 0xff;
		assert_true(is_one_of(read_bytes(bytes, n, &file)));
		bytes[at] ^= 0xff;
	}
	header->e_machine = EM_386;
	assert_int_equal(read_bytes(bytes, n, &file), -ENOEXEC);
	header->e_machine = EM_X86_64;
	header->e_shnum = 0xffff;
	assert_int_equal(read_bytes(bytes, n, &file), -EBADMSG);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tag_file__nothing_of_interest),
		cmocka_unit_test(test_tag_file__probes),
		cmocka_unit_test(test_tag_file__other_probes),
		cmocka_unit_test(test_tag_file__slots_by_dialect),
		cmocka_unit_test(test_tag_file__one_slot),
		cmocka_unit_test(test_tag_file__musl),
		cmocka_unit_test(test_tag_file__bias),
		cmocka_unit_test(test_tag_file__no_elf),
		cmocka_unit_test(test_tag_file__corrupt),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
