/* Tests of elf_file.h, symtab.h and debug_file.h, with hostile and truncated files. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/elf/debug_file.h"
#include "symbolizer/base/regular_file.h"
#include "symbolizer/elf/symtab.h"
#include "tests/unit/compile_program.h"

#define MAX_BYTES ((size_t)64 << 20)

static struct elf_file *open_file(const char *name, bool trusted)
{
	struct elf_file *f = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), trusted, MAX_BYTES, &f), 0);
	return f;
}

static int make_library(void **state)
{
	if (program_dir_make(state) || shell("echo 'static int __attribute__((noinline,noclone)) hidden(int "
	                                     "n) { return n * 3; } int __attribute__((used)) "
	                                     "shown(int n) { return hidden(n) + 1; }' > '%s/x.c' && for i in "
	                                     "$(seq 99); do echo \"int a_long_name_$i;\"; done >> "
	                                     "'%s/x.c'",
	                                     program_dir, program_dir))
		return -1;
	return !compile_into("-shared -fPIC -Wl,--build-id=0x0123456789abcdef -o '%s/plain.so' '%s/x.c'",
	                     program_dir, program_dir) ||
	       shell("cd '%s' && objcopy --compress-debug-sections=zlib plain.so zlib.so && "
	             "objcopy --compress-debug-sections=zlib-gnu plain.so zdebug.so && "
	             "objcopy --compress-debug-sections=zstd plain.so zstd.so && "
	             "objcopy --only-keep-debug plain.so plain.debug && "
	             "objcopy --strip-all --add-gnu-debuglink=plain.debug plain.so stripped.so && "
	             "objcopy --remove-section=.note.gnu.build-id stripped.so nameless.so && mkdir -p .debug "
	             "debug/.build-id/01 && cp plain.debug debug/.build-id/01/23456789abcdef.debug",
	             program_dir);
}

static void test_elf_file__sections(void **state)
{
	struct elf_file *mapped = open_file("plain.so", true), *read = open_file("plain.so", false);
	struct elf_section a, b;

	(void)state;
	assert_int_equal(elf_file_type(read), ET_DYN);
	assert_int_equal(elf_file_machine(read), EM_X86_64);
	assert_int_equal(elf_file_section(mapped, ".debug_info", &a), 0);
	assert_int_equal(elf_file_section(read, ".debug_info", &b), 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	assert_int_equal(elf_file_section(read, ".nothing", &b), -ENOENT);
	assert_int_equal(elf_file_section(read, ".bss", &b), -ENOENT);
	assert_true(elf_file_memory(read) > elf_file_memory(mapped));
	elf_file_close(mapped);
	elf_file_close(read);
}

/* Bytes that .debug_str or .zdebug_str takes in the file. */
static size_t packed_size(const char *name)
{
	char command[512], line[64] = "";
	FILE *readelf;

	snprintf(command, sizeof(command),
	         "readelf -SW '%s/%s' | sed -n 's/.*debug_str *PROGBITS *[^ ]* [^ ]* \\([^ ]*\\).*/\\1/p'",
	         program_dir, name);
	readelf = popen(command, "r");
	assert_non_null(fgets(line, sizeof(line), readelf));
	pclose(readelf);
	return strtoul(line, NULL, 16);
}

static void test_elf_file__compressed_sections(void **state)
{
	static const char *const names[] = { "zlib.so", "zdebug.so", "zstd.so" };
	struct elf_file *plain = open_file("plain.so", false), *f;
	struct elf_section a, b;
	size_t i;

	(void)state;
	assert_int_equal(elf_file_section(plain, ".debug_str", &a), 0);
	for (i = 0; i < 3; i++) {
		assert_true(packed_size(names[i]) < a.len);
		f = open_file(names[i], false);
		assert_int_equal(elf_file_section(f, ".debug_str", &b), 0);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
		elf_file_close(f);
	}
	elf_file_close(plain);
}

static void test_elf_file__addresses(void **state)
{
	struct elf_file *f = open_file("plain.so", false);
	uint64_t start, end, address;
	const struct elf_segment *segments;
	size_t n, i, executable = 0;

	(void)state;
	segments = elf_file_segments(f, &n);
	for (i = 0; i < n; i++) {
		if (!segments[i].executable)
			continue;
		executable++;
		assert_true(elf_file_address(f, segments[i].offset + 16, &address));
		assert_true(address == segments[i].vaddr + 16);
		assert_true(elf_file_executable(f, address));
		assert_false(elf_file_executable(f, segments[i].vaddr + segments[i].memory_size));
	}
	assert_int_equal(executable, 1);
	assert_false(elf_file_address(f, 1ull << 40, &address));
	assert_false(elf_file_section_range(f, 0, &start, &end));
	assert_true(elf_file_section_range(f, 1, &start, &end));
	elf_file_close(f);
}

static void test_elf_file__symbols(void **state)
{
	struct elf_file *f = open_file("plain.so", false), *stripped = open_file("stripped.so", false);
	struct elf_file *debug = open_file("plain.debug", true);
	struct symtab *whole, *dynamic, *with_debug;
	struct symtab_hit hit;
	uint64_t hidden = 0, address;

	(void)state;
	assert_int_equal(symtab_new(f, NULL, &whole), 0);
	assert_int_equal(symtab_new(stripped, NULL, &dynamic), 0);
	assert_int_equal(symtab_new(stripped, debug, &with_debug), 0);
	for (address = 0x1000; address < 0x8000 && !hidden; address++)
		if (symtab_find(whole, address, &hit) && strcmp(hit.name, "hidden") == 0)
			hidden = address;
	assert_true(hidden);
	assert_true(hit.start == hidden && hit.end > hidden);
	assert_true(!symtab_find(dynamic, hidden, &hit) || strcmp(hit.name, "hidden") != 0);
	assert_true(symtab_find(with_debug, hidden, &hit));
	assert_string_equal(hit.name, "hidden");
	assert_false(symtab_find(whole, 1, &hit));
	assert_true(symtab_find(whole, hidden, &hit));
	for (address = hidden; symtab_find(whole, address, &hit); address = hit.end)
		assert_true(hit.start <= address && address < hit.end);
	assert_true(address < hidden + 4096);
	symtab_free(whole);
	symtab_free(dynamic);
	symtab_free(with_debug);
	elf_file_close(f);
	elf_file_close(stripped);
	elf_file_close(debug);
}

/* Finds it there, and not when the folder has another file of that name. */
static void assert_debug_file_is(const char *file, const char *debug_dir, int expected)
{
	struct elf_file *f = open_file(file, false), *debug;
	char path[256], dir[256];
	struct debug_file_place place = { .debug_dir = dir, .root = "", .path = path };
	int err;

	snprintf(path, sizeof(path), "%s/%s", program_dir, file);
	snprintf(dir, sizeof(dir), "%s/%s", program_dir, debug_dir);
	err = debug_file_open(f, &place, MAX_BYTES, &debug);
	assert_int_equal(err, expected);
	elf_file_close(debug);
	elf_file_close(f);
}

static void assert_debug_file(const char *file, const char *debug_dir, bool expected)
{
	assert_debug_file_is(file, debug_dir, expected ? 0 : -ENOENT);
}

static void test_elf_file__debug_files(void **state)
{
	char hex[BUILD_ID_HEX_SIZE];
	struct elf_file *f = open_file("plain.so", false);

	(void)state;
	debug_file_build_id(f, hex);
	assert_string_equal(hex, "0123456789abcdef");
	elf_file_close(f);
	assert_debug_file("stripped.so", "debug", true);
	assert_debug_file("stripped.so", "none", true); /* by the link, beside it */
	assert_debug_file("nameless.so", "none", true); /* by the link's CRC */
	assert_int_equal(
	        shell("cd '%s' && cc -shared -g -fPIC -Wl,--build-id=0x99 -o wrong.so x.c && mkdir -p "
	              "wrong/.build-id/01 && mv wrong.so wrong/.build-id/01/23456789abcdef.debug && objcopy "
	              "--remove-section=.gnu_debuglink stripped.so unlinked.so",
	              program_dir),
	        0);
	assert_debug_file("unlinked.so", "debug", true);
	assert_debug_file("unlinked.so", "wrong", false);
	assert_int_equal(shell("cd '%s' && echo >> plain.debug", program_dir), 0);
	assert_debug_file("nameless.so", "none", false);
	assert_int_equal(shell("cd '%s' && mv plain.debug .debug/", program_dir), 0);
	assert_debug_file("stripped.so", "none", true);
	assert_int_equal(
	        shell("cd '%s' && cp stripped.so .debug/plain.debug && printf x >> .debug/plain.debug",
	              program_dir),
	        0);
	assert_debug_file("nameless.so", "none", false);
}

/* Most of it is a hole. */
static void test_elf_file__large_debug_files(void **state)
{
	(void)state;
	assert_int_equal(shell("cd '%s' && cp debug/.build-id/01/23456789abcdef.debug plain.debug && "
	                       "truncate -s 6G plain.debug debug/.build-id/01/23456789abcdef.debug",
	                       program_dir),
	                 0);
	assert_debug_file("unlinked.so", "debug", true);
	assert_debug_file_is("nameless.so", "none", -EFBIG);
}

/* --- what a hostile program may put beside itself ---------------------------------------------------- */

/* Opening one of these hung, for ever or for hours. */
static void test_elf_file__debug_link_to_no_end(void **state)
{
	static const char *const evil[] = { "ln -s /dev/zero plain.debug", "mkfifo plain.debug",
		                            "truncate -s 8T plain.debug" };
	size_t i;

	(void)state;
	alarm(20);
	for (i = 0; i < 3; i++) {
		assert_int_equal(
		        shell("cd '%s' && rm -rf evil && mkdir evil && cp nameless.so stripped.so evil "
		              "&& cd evil && { %s; }",
		              program_dir, evil[i]),
		        0);
		assert_debug_file_is("evil/nameless.so", "none", i < 2 ? -ENOENT : -EFBIG);
		assert_debug_file("evil/stripped.so", "none", false);
	}
	alarm(0);
}

/* Writes alt.so with a .gnu_debugaltlink of build-id 0123456789abcdef; says how opening what it names ends. */
static int open_alt(const char *name, const char *root, const char *debug_dir, struct elf_file **alt)
{
	char path[256], dir[256], own_root[256];
	struct debug_file_place place = { .debug_dir = dir, .root = own_root, .path = path };
	struct elf_file *f;
	int err;

	assert_int_equal(shell("cd '%s' && printf '%s\\000\\001\\043\\105\\147\\211\\253\\315\\357' > "
	                       "link && rm -f alt.so && objcopy --add-section .gnu_debugaltlink=link "
	                       "nameless.so alt.so",
	                       program_dir, name),
	                 0);
	snprintf(path, sizeof(path), "%s/alt.so", *root ? "" : program_dir);
	snprintf(own_root, sizeof(own_root), "%s%s", *root ? program_dir : "", root);
	snprintf(dir, sizeof(dir), "%s/%s", program_dir, debug_dir);
	f = open_file("alt.so", false);
	err = debug_file_open_alt(f, &place, MAX_BYTES, alt);
	elf_file_close(f);
	return err;
}

/* Of the folder "none", beside which lies plain.so, the wanted file. */
static void test_elf_file__alt_link(void **state)
{
	char name[256];
	struct elf_file *alt;

	(void)state;
	assert_int_equal(shell("cd '%s' && mkdir -p none/sub && cp plain.so none/sub/right.so && mkfifo fifo",
	                       program_dir),
	                 0);
	alarm(20);
	/* In the debug folder, by both kinds of name, and in the process's own root. */
	assert_int_equal(open_alt("../../sub/right.so", "", "none", &alt), 0);
	elf_file_close(alt);
	snprintf(name, sizeof(name), "%s/none/sub/right.so", program_dir);
	assert_int_equal(open_alt(name, "", "none", &alt), 0);
	elf_file_close(alt);
	assert_int_equal(open_alt("/sub/right.so", "/none", "other", &alt), 0);
	elf_file_close(alt);
	/* Anywhere else, or nothing that may be opened. */
	assert_int_equal(open_alt("./../plain.so", "", "none", &alt), -ENOENT);
	assert_int_equal(open_alt("../sub/../../plain.so", "", "none", &alt), -ENOENT);
	snprintf(name, sizeof(name), "%s/plain.so", program_dir);
	assert_int_equal(open_alt(name, "", "none", &alt), -ENOENT);
	snprintf(name, sizeof(name), "%s/none/../plain.so", program_dir);
	assert_int_equal(open_alt(name, "", "none", &alt), -ENOENT);
	assert_int_not_equal(open_alt("fifo", "", "none", &alt), 0);
	alarm(0);
}

/* A file in the debug folder that others may cut short must not be mapped: cut short, it is wrong, not SIGBUS. */
/* As dwz -5 -m leaves them: the shared file has no build-id, but both have the same bytes in .debug_sup. */
static void test_elf_file__sup_link(void **state)
{
	struct debug_file_place place = { .debug_dir = "/nonexistent", .root = "" };
	static const struct {
		const char *user, *shared;
		int err;
	} cases[] = {
		{ "\\005\\000\\000sup.so\\000\\002ab", "\\005\\000\\001\\000\\002ab", 0 },
		{ "\\005\\000\\000sup.so\\000\\002ab", "\\005\\000\\001\\000\\002ac", -ENOENT },
		{ "\\005\\000\\000sup.so\\000\\002ab", "\\005\\000\\000sup.so\\000\\002ab", -ENOENT },
		{ "\\005\\000\\000sup.so\\000\\000", "\\005\\000\\001\\000\\000", -EBADMSG },
		{ "\\005\\000\\000sup.so\\000\\003ab", "\\005\\000\\001\\000\\003ab", -EBADMSG },
	};
	struct elf_file *f, *alt;
	char path[256];
	size_t i;

	(void)state;
	snprintf(path, sizeof(path), "%s/user.so", program_dir);
	place.path = path;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(shell("cd '%s' && printf '%s' > user && printf '%s' > shared && "
		                       "objcopy --add-section .debug_sup=user nameless.so user.so && "
		                       "objcopy --add-section .debug_sup=shared nameless.so sup.so",
		                       program_dir, cases[i].user, cases[i].shared),
		                 0);
		f = open_file("user.so", false);
		assert_int_equal(debug_file_open_alt(f, &place, MAX_BYTES, &alt), cases[i].err);
		elf_file_close(alt);
		elf_file_close(f);
	}
}

static void test_elf_file__debug_file_cut_short(void **state)
{
	static const char *const ways[] = { "cp plain.so safe/sub/right.so && chmod 666 safe/sub/right.so",
		                            "cp plain.so out.so && ln -s ../../out.so safe/sub/right.so",
		                            "cp plain.so safe/sub/right.so && chown 1 safe/sub/right.so" };
	const size_t n_ways = geteuid() ? 2 : 3; /* root alone gives files away */
	struct elf_section section;
	struct elf_file *alt;
	size_t i;

	(void)state;
	for (i = 0; i < n_ways; i++) {
		assert_int_equal(
		        shell("cd '%s' && rm -rf safe && mkdir -p safe/sub && %s", program_dir, ways[i]), 0);
		assert_int_equal(open_alt("../sub/right.so", "", "safe", &alt), 0);
		assert_int_equal(shell("cd '%s' && truncate -s 64 safe/sub/right.so", program_dir), 0);
		assert_int_equal(elf_file_section(alt, ".symtab", &section), -EBADMSG);
		elf_file_close(alt);
	}
}

static void test_elf_file__regular_file_open(void **state)
{
	char path[256];
	int fd;

	(void)state;
	assert_int_equal(regular_file_open("/dev/null", 0), -EBADMSG);
	assert_int_equal(regular_file_open("/", 0), -EBADMSG);
	assert_int_equal(regular_file_open("/nonexistent", 0), -ENOENT);
	assert_int_equal(shell("ln -sf plain.so '%s/link.so'", program_dir), 0);
	snprintf(path, sizeof(path), "%s/link.so", program_dir);
	assert_int_equal(regular_file_open(path, O_NOFOLLOW), -EBADMSG);
	fd = regular_file_open(path, 0);
	assert_true(fd >= 0);
	assert_true(regular_file_is_safe_in(fd, path, program_dir));
	assert_false(regular_file_is_safe_in(fd, path, "/usr"));
	/* As from a container, whose path of that name is another file. */
	assert_false(regular_file_is_safe_in(fd, "/etc/passwd", "/etc"));
	close(fd);
	assert_true(path_has_dotdot("a/../b") && path_has_dotdot("..") && path_has_dotdot("/a/.."));
	assert_false(path_has_dotdot("/a/..b/c../.../.") || path_has_dotdot(""));
}

/* Every shorter version of a file: an error or a file that answers, never a crash. */
static void test_elf_file__truncated(void **state)
{
	struct elf_file *f = open_file("plain.so", true);
	struct elf_section section;
	struct symtab *symbols;
	struct stat st;
	char path[256];
	uint8_t *image;
	size_t len;
	int fd;

	(void)state;
	elf_file_close(f);
	snprintf(path, sizeof(path), "%s/plain.so", program_dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	for (len = 0; len < (size_t)st.st_size; len += 1 + len / 64) {
		image = malloc(len + 1);
		assert_int_equal(pread(fd, image, len, 0), len);
		if (!elf_file_open_image(image, len, MAX_BYTES, &f)) {
			elf_file_section(f, ".debug_info", &section);
			if (!symtab_new(f, NULL, &symbols))
				symtab_free(symbols);
			elf_file_close(f);
		}
		free(image);
	}
	close(fd);
}

static void test_elf_file__refused(void **state)
{
	struct elf_section section;
	struct elf_file *f;
	char path[256];

	(void)state;
	assert_int_equal(elf_file_open(open("/dev/null", O_RDONLY), false, MAX_BYTES, &f), -EBADMSG);
	assert_int_equal(elf_file_open(open("/etc/services", O_RDONLY), false, MAX_BYTES, &f), -EBADMSG);
	assert_int_equal(elf_file_open(-1, false, MAX_BYTES, &f), -EBADF);
	assert_int_equal(elf_file_open_image("\177ELF", 4, MAX_BYTES, &f), -EBADMSG);
	snprintf(path, sizeof(path), "%s/plain.so", program_dir);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, 64, &f), 0);
	assert_int_equal(elf_file_section_of_type(f, SHT_SYMTAB, &section), -EFBIG);
	elf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf_file__sections),
		cmocka_unit_test(test_elf_file__compressed_sections),
		cmocka_unit_test(test_elf_file__addresses),
		cmocka_unit_test(test_elf_file__symbols),
		cmocka_unit_test(test_elf_file__debug_files),
		cmocka_unit_test(test_elf_file__large_debug_files),
		cmocka_unit_test(test_elf_file__debug_link_to_no_end),
		cmocka_unit_test(test_elf_file__alt_link),
		cmocka_unit_test(test_elf_file__sup_link),
		cmocka_unit_test(test_elf_file__debug_file_cut_short),
		cmocka_unit_test(test_elf_file__regular_file_open),
		cmocka_unit_test(test_elf_file__truncated),
		cmocka_unit_test(test_elf_file__refused),
	};

	return cmocka_run_group_tests(tests, make_library, program_dir_remove);
}
