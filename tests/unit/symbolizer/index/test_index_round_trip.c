/* Compares the answers with and without an index on disk, for every address. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbolizer/elf/elf_file.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

#include <fcntl.h>

#define ADDRESSES 6000
#define MAX_TEXT  512

static const char source[] =
        "#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
        "namespace box { template <class T> struct sorted { std::vector<T> v; void add(T t) { "
        "v.push_back(t); "
        "std::sort(v.begin(), v.end()); } }; }\n"
        "static int collatz(int n)\n{\n\tint steps = 0;\n\tfor (; n > 1; steps++)\n\t\tn = n % 2 ? 3 * n + 1 "
        ": n / 2;\n"
        "\treturn steps;\n}\n"
        "extern \"C\" int shown(int n)\n{\n\tstd::map<std::string, int> m;\n\tbox::sorted<int> s;\n"
        "\tfor (int i = 0; i < n; i++) {\n\t\tm[std::to_string(i)] += "
        "collatz(i);\n\t\ts.add(m.size());\n\t}\n"
        "\treturn s.v.back();\n}\n"
        "__attribute__((weak)) int main(int argc, char **argv) { return shown(argc); }\n";

static char cache[256];
static size_t max_memory_bytes; /* 0: as usual */

/* What is said of one address, as a text. */
static void describe(struct sym_file *file, uint64_t address, char *out)
{
	struct sym_result r;
	size_t i, len;

	assert_int_equal(symbolizer_file_find(file, NULL, address, &r), 0);
	len = (size_t)snprintf(out, MAX_TEXT, "%s", sym_source_name(r.source));
	for (i = 0; i < r.n_frames && len < MAX_TEXT; i++)
		len += (size_t)snprintf(out + len, MAX_TEXT - len, "|%s %s:%u %d", r.frames[i].function,
		                        r.frames[i].file ? r.frames[i].file : "?", r.frames[i].line,
		                        r.frames[i].inlined);
}

/* Describes all addresses, or compares them to what was said before. Returns the counters. */
static struct symbolizer_stats look_at_all(const char *name, uint64_t start, const char *cache_dir,
                                           char (*said)[MAX_TEXT], bool compare)
{
	struct symbolizer_opts opts = { .cache_dir = cache_dir,
		                        .debug_dir = program_dir,
		                        .max_memory_bytes = max_memory_bytes };
	struct symbolizer *s = symbolizer_new(&opts);
	struct symbolizer_stats stats;
	struct sym_file *file;
	char now[MAX_TEXT];
	uint64_t i;

	assert_non_null(s);
	assert_int_equal(symbolizer_file(s, name, &file), 0);
	for (i = 0; i < ADDRESSES; i++) {
		/* Not in order, so that blocks are made around others. */
		describe(file, start + i * 7 % ADDRESSES, compare ? now : said[i]);
		if (compare)
			assert_string_equal(now, said[i]);
	}
	assert_int_equal(symbolizer_save(s, true), 0);
	symbolizer_stats(s, &stats);
	symbolizer_free(s);
	return stats;
}

static void assert_round_trip(const char *name, uint64_t start)
{
	char(*said)[MAX_TEXT] = calloc(ADDRESSES, sizeof(*said));
	struct symbolizer_stats stats;
	size_t i, inlined = 0;

	look_at_all(name, start, NULL, said, false);
	for (i = 0; i < ADDRESSES; i++)
		inlined += strncmp(said[i], "dwarf|", 6) == 0 && strchr(said[i] + 6, '|');
	assert_true(inlined > 100);
	stats = look_at_all(name, start, cache, said, true);
	assert_true(stats.index_blocks_saved > 5);
	assert_int_equal(stats.index_blocks_used, 0);
	stats = look_at_all(name, start, cache, said, true);
	assert_true(stats.index_blocks_used > 5);
	assert_int_equal(stats.index_files_loaded, 1);
	assert_int_equal(stats.index_blocks_saved + stats.index_blocks_refused + stats.index_errors, 0);
	free(said);
}

static uint64_t text_start(const char *name)
{
	struct elf_section text;
	struct elf_file *f;

	assert_int_equal(elf_file_open(open(name, O_RDONLY), false, 1 << 28, &f), 0);
	assert_int_equal(elf_file_section(f, ".text", &text), 0);
	elf_file_close(f);
	return text.address;
}

static void build(const char *flags, char *name)
{
	snprintf(name, 256, "%s/program", program_dir);
	assert_int_equal(shell("rm -rf '%s' '%s'; g++ -w -O2 -g %s -Wl,--build-id -o '%s' '%s/x.cc'", cache,
	                       name, flags, name, program_dir),
	                 0);
}

static void test_index_round_trip__programs(void **state)
{
	static const char *const flags[] = { "-gdwarf-5", "-gdwarf-4 -ffunction-sections", "-gdwarf-5 -O1" };
	char name[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		build(flags[i], name);
		assert_round_trip(name, text_start(name));
	}
}

/* No .debug_aranges, no siblings. */
static void test_index_round_trip__clang(void **state)
{
	char name[256];

	(void)state;
	if (shell("command -v clang++ > /dev/null")) {
		print_message("no clang++ here\n");
		skip();
	}
	build("", name);
	assert_int_equal(shell("clang++ -w -O2 -g -Wl,--build-id -o '%s' '%s/x.cc'", name, program_dir), 0);
	assert_round_trip(name, text_start(name));
}

/* As kernel modules are: addresses count from sections. */
static void test_index_round_trip__relocatable(void **state)
{
	char name[256];

	(void)state;
	build("-c", name);
	/* A note with a build-id, which the linker makes also for such files. */
	assert_int_equal(
	        shell("cd '%s' && ld -r --build-id -o linked.o program && mv linked.o program", program_dir),
	        0);
	assert_round_trip(name, 0);
}

static void test_index_round_trip__whose_file(void **state)
{
	char(*said)[MAX_TEXT] = calloc(ADDRESSES, sizeof(*said));
	char name[256];
	uint64_t start;

	(void)state;
	build("", name);
	start = text_start(name);
	assert_true(look_at_all(name, start, cache, said, false).index_blocks_saved > 5);
	/* Others could have written it: neither put there nor believed. */
	assert_int_equal(shell("chmod 666 '%s'", name), 0);
	assert_int_equal(look_at_all(name, start, cache, said, true).index_files_loaded, 0);
	assert_int_equal(shell("chmod 644 '%s'", name), 0);
	assert_int_equal(look_at_all(name, start, cache, said, true).index_files_loaded, 1);
	/* One user's file does not answer for another's of the same build-id. */
	if (!shell("chown 1 '%s' 2> /dev/null", name))
		assert_int_equal(look_at_all(name, start, cache, said, true).index_files_loaded, 0);
	/* Nor one without debug information for one that has it now. */
	assert_int_equal(
	        shell("chown %d '%s'; cp '%s' '%s.full'; strip -g '%s'", getuid(), name, name, name, name),
	        0);
	look_at_all(name, start, cache, said, false);
	assert_int_equal(
	        shell("mkdir -p '%s/.build-id/' && id=$(readelf -n '%s' | sed -n 's/.*Build ID: //p') && "
	              "mkdir -p '%s/.build-id/'${id%%${id#??}} && "
	              "cp '%s.full' '%s/.build-id/'${id%%${id#??}}/${id#??}.debug",
	              program_dir, name, program_dir, name, program_dir),
	        0);
	assert_int_equal(look_at_all(name, start, cache, said, false).index_files_loaded, 0);
	assert_non_null(strstr(said[ADDRESSES / 2], "dwarf|"));
	free(said);
}

/* What one found out for want of memory is not what the next one has to believe. */
static void test_index_round_trip__not_all_read(void **state)
{
	char(*said)[MAX_TEXT] = calloc(ADDRESSES, sizeof(*said));
	struct symbolizer_stats stats;
	char name[256];
	uint64_t start;

	(void)state;
	build("-gz=zlib", name);
	start = text_start(name);
	max_memory_bytes = 20000;
	stats = look_at_all(name, start, cache, said, false);
	max_memory_bytes = 0;
	assert_true(stats.files_too_large > 0);
	assert_int_equal(stats.index_blocks_saved, 0);
	stats = look_at_all(name, start, cache, said, false);
	assert_int_equal(stats.files_too_large, 0);
	assert_true(stats.index_blocks_saved > 5);
	assert_non_null(strstr(said[ADDRESSES / 2], "dwarf|"));
	free(said);
}

static int make_source(void **state)
{
	int err = program_dir_make_with(state, "x.cc", source);

	snprintf(cache, sizeof(cache), "%s/cache", program_dir);
	return err;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_round_trip__programs),
		cmocka_unit_test(test_index_round_trip__clang),
		cmocka_unit_test(test_index_round_trip__relocatable),
		cmocka_unit_test(test_index_round_trip__whose_file),
		cmocka_unit_test(test_index_round_trip__not_all_read),
	};

	return cmocka_run_group_tests(tests, make_source, program_dir_remove);
}
