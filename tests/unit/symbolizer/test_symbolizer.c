/* Tests of symbolizer.h: mappings, names, modules and bounds, over a made-up /proc. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/need_root.h"

static struct symbolizer *s;

static struct sym_process *self(void)
{
	struct sym_process *p = symbolizer_process(s, (uint32_t)getpid(), 1);

	assert_int_equal(symbolizer_process_refresh(p), 0);
	return p;
}

static struct symbolizer_stats stats(void)
{
	struct symbolizer_stats st;

	symbolizer_stats(s, &st);
	return st;
}

static int make_symbolizer(void **state)
{
	(void)state;
	s = symbolizer_new(NULL);
	return s ? 0 : -1;
}

static int free_symbolizer(void **state)
{
	(void)state;
	symbolizer_free(s);
	return 0;
}

__attribute__((noinline, noclone)) static int line_here(void)
{
	__asm__("");
	return __LINE__;
}

static void test_symbolizer__own_code(void **state)
{
	struct sym_result r;

	(void)state;
	assert_int_equal(symbolizer_user(self(), (uintptr_t)line_here, false, &r), 0);
	assert_string_equal(r.frames[0].function, "line_here");
	assert_int_equal(r.source, SYM_SOURCE_DWARF);
	assert_in_range(r.frames[0].line, line_here() - 4, line_here() + 1);
	assert_non_null(strstr(r.frames[0].file, "test_symbolizer.c"));
	assert_true(r.module->start <= (uintptr_t)line_here && (uintptr_t)line_here < r.module->end);
	assert_true(r.module->has_functions && r.module->has_lines && !r.module->is_kernel);
	/* A caller is looked up one byte before, but never in another function. */
	assert_int_equal(symbolizer_user(self(), (uintptr_t)line_here + 1, true, &r), 0);
	assert_string_equal(r.frames[0].function, "line_here");
}

static void test_symbolizer__libc_and_vdso(void **state)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR), offset;
	bool seen = false;
	struct sym_result r;

	(void)state;
	symbolizer_user(self(), (uintptr_t)qsort + 1, false, &r);
	assert_non_null(strstr(r.frames[r.n_frames - 1].function, "qsort"));
	assert_true(strlen(r.module->build_id) == 40);
	for (offset = 0; offset < 8192 && vdso && !seen; offset += 8) {
		symbolizer_user(self(), vdso + offset, false, &r);
		seen = strcmp(r.frames[0].function, "clock_gettime") == 0;
	}
	assert_true(seen || !vdso);
	assert_string_equal(r.module->path, "[vdso]");
}

static void test_symbolizer__nowhere(void **state)
{
	struct sym_result r;
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char expected[64];

	(void)state;
	assert_int_equal(symbolizer_user(self(), 0x10, false, &r), 0);
	assert_string_equal(r.frames[0].function, "[unknown 0x10]");
	assert_null(r.module);
	assert_int_equal(r.source, SYM_SOURCE_NONE);
	symbolizer_user(self(), (uintptr_t)memory + 16, false, &r);
	snprintf(expected, sizeof(expected), "[unknown 0x%lx]", (unsigned long)memory + 16);
	assert_string_equal(r.frames[0].function, expected);
	assert_non_null(r.module);
	munmap(memory, 4096);
}

static void test_symbolizer__perf_map(void **state)
{
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sym_result r;
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	fprintf(file, "%lx 40 py::made_up:/x.py\n", (unsigned long)memory + 64);
	fclose(file);
	symbolizer_user(self(), (uintptr_t)memory + 100, false, &r);
	unlink(path);
	assert_string_equal(r.frames[0].function, "py::made_up:/x.py");
	assert_int_equal(r.source, SYM_SOURCE_PERF_MAP);
	munmap(memory, 4096);
}

/* A compiler never ceases to name functions, so the names are not kept. */
static void test_symbolizer__perf_map_names_not_kept(void **state)
{
	char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sym_process *p = self();
	struct sym_result r;
	char path[64], expected[64];
	size_t before, i;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	for (i = 0; i < 1 << 14; i++)
		fprintf(file, "%lx 40 a_function_of_a_long_name_%zu\n", (unsigned long)memory + 64 * i, i);
	fclose(file);
	symbolizer_user(p, (uintptr_t)memory, false, &r);
	unlink(path);
	before = stats().memory_bytes;
	for (i = 0; i < 1 << 14; i++) {
		symbolizer_user(p, (uintptr_t)memory + 64 * i, false, &r);
		snprintf(expected, sizeof(expected), "a_function_of_a_long_name_%zu", i);
		assert_string_equal(r.frames[0].function, expected);
	}
	assert_int_equal(stats().memory_bytes, before);
	munmap(memory, 1 << 20);
}

static void test_symbolizer__kernel(void **state)
{
	struct sym_result r;
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long address = 0;
	char line[256];

	(void)state;
	while (!address && fgets(line, sizeof(line), file))
		if (strstr(line, " T schedule\n"))
			address = strtoull(line, NULL, 16);
	fclose(file);
	if (!address)
		skip_for("kallsyms is hidden here");
	symbolizer_kernel(s, address + 5, true, &r);
	assert_string_equal(r.frames[0].function, "schedule");
	assert_int_equal(r.source, SYM_SOURCE_KALLSYMS);
	assert_string_equal(r.module->path, "[kernel.kallsyms]_stext");
	assert_true(r.module->is_kernel && strlen(r.module->build_id) == 40);
	assert_true(r.module->start < address && address < r.module->end);
	symbolizer_kernel(s, 0x1000, false, &r);
	assert_string_equal(r.frames[0].function, "[no symbols: kernel+0x1000]");
	assert_true(stats().kernel_symbols > 1000);
}

/* A kernel that hides its addresses. */
static void test_symbolizer__kernel_hidden(void **state)
{
	struct symbolizer_opts opts = { .proc = program_dir };
	struct symbolizer *hidden;
	struct sym_result r;

	(void)state;
	assert_int_equal(shell("echo '0000000000000000 T schedule' > '%s/kallsyms'", program_dir), 0);
	hidden = symbolizer_new(&opts);
	symbolizer_kernel(hidden, 0xffffffff81234567, false, &r);
	assert_string_equal(r.frames[0].function, "[no symbols: kernel+0xffffffff81234567]");
	assert_string_equal(r.module->path, "[kernel.kallsyms]_stext");
	symbolizer_free(hidden);
}

static void test_symbolizer__reused_pid(void **state)
{
	struct sym_process *first = symbolizer_process(s, 4000000, 1),
	                   *second = symbolizer_process(s, 4000000, 2);
	struct sym_result r;

	(void)state;
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(symbolizer_process(s, 4000000, 1), first);
	assert_int_equal(symbolizer_process_map(first, 0x1000, 0x2000, 0, 0, 0, 0, "/first"), 0);
	assert_int_equal(symbolizer_process_map(second, 0x1000, 0x2000, 0, 0, 0, 0, "/second"), 0);
	symbolizer_user(first, 0x1800, false, &r);
	assert_string_equal(r.frames[0].function, "[no symbols: first+0x800]");
	symbolizer_user(second, 0x1800, false, &r);
	assert_string_equal(r.frames[0].function, "[no symbols: second+0x800]");
	assert_int_equal(stats().processes, 2);
	symbolizer_process_drop(first);
	symbolizer_process_drop(second);
	assert_int_equal(stats().processes, 0);
}

static const char *path_at(struct sym_process *p, uint64_t address)
{
	struct sym_result r;

	symbolizer_user(p, address, false, &r);
	return r.module ? r.module->path : "none";
}

static void test_symbolizer__mappings_over_time(void **state)
{
	struct sym_process *p = symbolizer_process(s, 4000000, 1);
	struct sym_result r;

	(void)state;
	symbolizer_process_exit(p);
	assert_int_equal(symbolizer_process_map(p, 0x5000, 0x5000, 0, 0, 0, 0, "/x"), -EINVAL);
	symbolizer_process_map(p, 0x1000, 0x9000, 0x10000, 0, 0, 0, "/old");
	assert_string_equal(path_at(p, 0x6000), "/old");
	symbolizer_process_map(p, 0x3000, 0x5000, 0, 0, 0, 0, "/middle");
	assert_string_equal(path_at(p, 0x2fff), "/old");
	assert_string_equal(path_at(p, 0x3000), "/middle");
	assert_string_equal(path_at(p, 0x4fff), "/middle");
	assert_string_equal(path_at(p, 0x5000), "/old");
	symbolizer_user(p, 0x5000, false, &r);
	assert_true(r.module->start == 0x5000 && r.module->end == 0x9000 && r.module->offset == 0x14000);
	symbolizer_process_map(p, 0x0, 0x8000, 0, 0, 0, 0, "/over");
	assert_string_equal(path_at(p, 0x3000), "/over");
	assert_string_equal(path_at(p, 0x8000), "/old");
	assert_string_equal(path_at(p, 0x9000), "none");
	symbolizer_process_map(p, 0x20000, 0x21000, 0, 0, 0, 0, "/gone (deleted)");
	assert_string_equal(path_at(p, 0x20000), "/gone");
	symbolizer_process_exec(p);
	assert_string_equal(path_at(p, 0x3000), "none");
	symbolizer_process_drop(p);
}

/* A process that lives long and maps without end: what is new is known, what is old goes. */
static void test_symbolizer__too_many_mappings(void **state)
{
	struct sym_process *p = symbolizer_process(s, 4000000, 1);
	uint64_t i;

	(void)state;
	symbolizer_process_exit(p);
	for (i = 1; i < 200000; i++)
		assert_int_equal(symbolizer_process_map(p, i << 13, (i << 13) + 4096, 0, 0, 0, 0, "/x"), 0);
	assert_string_equal(path_at(p, (i - 1) << 13), "/x");
	assert_string_equal(path_at(p, (i - 30000) << 13), "/x");
	assert_string_equal(path_at(p, 1 << 13), "none");
	assert_in_range(stats().mappings_dropped, 200000 - 65536, 200000 - 32768);
	symbolizer_process_drop(p);
}

/* Each was looked up, at one and the same address, and cut into by the next. */
static void test_symbolizer__many_changes(void **state)
{
	struct sym_process *p = symbolizer_process(s, 4000000, 1);
	uint64_t i;

	(void)state;
	symbolizer_process_exit(p);
	for (i = 0; i < 100000; i++) {
		assert_int_equal(symbolizer_process_map(p, 0x10000, 0x20000, 0, 0, 0, i + 1, "/x"), 0);
		assert_int_equal(symbolizer_process_map(p, 0x14000, 0x18000, 0, 0, 0, i + 1, "/y"), 0);
		assert_string_equal(path_at(p, 0x10000), "/x");
		assert_string_equal(path_at(p, 0x14000), "/y");
		assert_string_equal(path_at(p, 0x18000), "/x");
	}
	assert_int_equal(stats().mappings_dropped, 0);
	symbolizer_process_drop(p);
}

/* Addresses without a name take no memory that is never given back. */
static void test_symbolizer__many_unknown_addresses(void **state)
{
	struct sym_process *p = symbolizer_process(s, 4000000, 1);
	struct sym_result r;
	char expected[64];
	size_t before;
	uint64_t i;

	(void)state;
	symbolizer_process_exit(p);
	symbolizer_process_map(p, 0x1000000, 0x9000000, 0, 0, 0, 0, "/gone");
	symbolizer_user(p, 0x1000000, false, &r);
	before = stats().memory_bytes;
	for (i = 0; i < 100000; i++) {
		symbolizer_user(p, 0x10000000 + i, false, &r);
		snprintf(expected, sizeof(expected), "[unknown 0x%lx]", 0x10000000 + i);
		assert_string_equal(r.frames[0].function, expected);
		symbolizer_user(p, 0x1000000 + i, false, &r);
		snprintf(expected, sizeof(expected), "[no symbols: gone+0x%lx]", i);
		assert_string_equal(r.frames[0].function, expected);
	}
	assert_int_equal(stats().memory_bytes, before);
	symbolizer_process_drop(p);
}

static void test_symbolizer__gone_process(void **state)
{
	struct sym_process *p = symbolizer_process(s, 4194303, 1);

	(void)state;
	assert_int_equal(symbolizer_process_refresh(p), -ESRCH);
	symbolizer_process_drop(p);
	symbolizer_process_drop(NULL);
}

/* Writes PROC/77/stat and PROC/77/maps as they are for a process that began at `start`. */
static void write_process(const char *start, const char *path)
{
	assert_int_equal(shell("mkdir -p '%s/77' && echo '77 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 "
	                       "16 17 18 %s 20 21 22 "
	                       "23' > '%s/77/stat' && echo '1000-2000 r-xp 0 00:00 0 %s' > '%s/77/maps'",
	                       program_dir, start, program_dir, path, program_dir),
	                 0);
}

static void test_symbolizer__pid_taken_by_another(void **state)
{
	struct symbolizer_opts opts = { .proc = program_dir };
	struct sym_process *p;

	(void)state;
	symbolizer_free(s);
	s = symbolizer_new(&opts);
	p = symbolizer_process(s, 77, 1);
	write_process("1234", "/first");
	assert_int_equal(symbolizer_process_refresh(p), 0);
	assert_string_equal(path_at(p, 0x1000), "/first");
	write_process("1234", "/second");
	assert_int_equal(symbolizer_process_refresh(p), 0);
	assert_string_equal(path_at(p, 0x1000), "/second");
	write_process("5678", "/third");
	assert_int_equal(symbolizer_process_refresh(p), -ESRCH);
	assert_string_equal(path_at(p, 0x1000), "/second");
}

/* Maps a file of ours into a process that does not exist, as if it had exited. */
static struct sym_process *dead_with(const char *file, uint64_t inode)
{
	struct sym_process *p = symbolizer_process(s, 4000000, 1);
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, file);
	symbolizer_process_exit(p);
	symbolizer_process_map(p, 0x10000, 0x20000, 0, 0, 0, inode, path);
	return p;
}

/* A memfd may be called "x/../../etc/..." and is no way to other files. */
static void test_symbolizer__climbing_path(void **state)
{
	struct sym_process *p;
	struct sym_result r;

	(void)state;
	assert_int_equal(shell("cp /bin/true '%s/climbed'", program_dir), 0);
	p = dead_with("x/../climbed", 0);
	assert_int_equal(shell("mkdir -p '%s/x'", program_dir), 0);
	symbolizer_user(p, 0x11234, false, &r);
	assert_int_equal(r.source, SYM_SOURCE_NONE);
	assert_int_equal(stats().files_opened, 0);
	symbolizer_process_drop(p);
}

static void test_symbolizer__corrupt_file(void **state)
{
	struct sym_process *p;
	struct sym_result r;
	int i;

	(void)state;
	assert_int_equal(
	        shell("head -c 4096 /bin/true > '%s/short.so'; head -c 65536 /dev/urandom > '%s/noise.so'",
	              program_dir, program_dir),
	        0);
	p = dead_with("short.so", 0);
	for (i = 0; i < 3; i++) {
		symbolizer_user(p, 0x11234, false, &r);
		assert_string_equal(r.frames[0].function, "[no symbols: short.so+0x1234]");
	}
	assert_int_equal(stats().files_corrupt, 1);
	symbolizer_process_drop(p);
	p = dead_with("short.so", 0);
	symbolizer_user(p, 0x11234, false, &r);
	assert_int_equal(stats().files_corrupt, 1);
	symbolizer_process_drop(p);
	p = dead_with("noise.so", 0);
	symbolizer_user(p, 0x11234, false, &r);
	assert_string_equal(r.frames[0].function, "[no symbols: noise.so+0x1234]");
	assert_int_equal(stats().files_corrupt, 2);
	symbolizer_process_drop(p);
	/* Another file has taken the name of the one that was mapped. */
	p = dead_with("noise.so", 1);
	symbolizer_user(p, 0x11234, false, &r);
	assert_string_equal(r.frames[0].function, "[no symbols: noise.so+0x1234]");
	assert_int_equal(stats().files_missing, 1);
	symbolizer_process_drop(p);
}

static void test_symbolizer__deleted_file(void **state)
{
	struct sym_result r;
	char path[256];
	void *memory;
	int fd;

	(void)state;
	need_user_root("a file that is mapped and has no name any more is opened by /proc/PID/map_files");
	assert_int_equal(shell("echo 'int shown(int n) { return n + 1; }' > '%s/x.c'", program_dir), 0);
	assert_true(compile_into("-shared -fPIC -nostdlib -Wl,-z,noseparate-code -o '%s/gone.so' '%s/x.c'",
	                         program_dir, program_dir));
	snprintf(path, sizeof(path), "%s/gone.so", program_dir);
	fd = open(path, O_RDONLY);
	memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	unlink(path);
	symbolizer_user(self(), (uintptr_t)memory + 0x2f0, false, &r);
	munmap(memory, 4096);
	assert_non_null(strstr(r.module->path, "gone.so"));
	assert_int_equal(stats().files_missing, 0);
	assert_int_equal(stats().files_opened, 1);
}

static void test_symbolizer__bounded_memory(void **state)
{
	struct symbolizer_opts opts = { .max_memory_bytes = 1 << 20 };
	struct sym_process *p;
	struct sym_result r;
	char path[256];
	int i;

	(void)state;
	symbolizer_free(s);
	s = symbolizer_new(&opts);
	p = symbolizer_process(s, 4000000, 1);
	symbolizer_process_exit(p);
	for (i = 0; i < 12; i++) {
		assert_int_equal(shell("cp '%s/tests/test_symbolizer' '%s/copy%d' && printf %d | dd "
		                       "of='%s/copy%d' bs=1 "
		                       "seek=8 conv=notrunc status=none && objcopy "
		                       "--remove-section=.note.gnu.build-id "
		                       "'%s/copy%d'",
		                       build_dir(), program_dir, i, i, program_dir, i, program_dir, i),
		                 0);
		snprintf(path, sizeof(path), "%s/copy%d", program_dir, i);
		symbolizer_process_map(p, 0x10000000ull * (i + 1), 0x10000000ull * (i + 2), 0, 0, 0, 0, path);
	}
	for (i = 0; i < 24; i++) {
		symbolizer_user(p, 0x10000000ull * (i % 12 + 1) + 0x9000, false, &r);
		assert_true(r.n_frames >= 1 && *r.frames[0].function);
		assert_true(stats().memory_bytes < 12 << 20);
	}
	assert_true(stats().cache_evictions > 0);
	symbolizer_process_drop(p);
}

/* The outermost function at an offset of a library's symbol; `how` makes lib.so into what is asked. */
static void assert_function_after(const char *how, const char *function, enum sym_source source)
{
	struct sym_process *p = symbolizer_process(s, 4000000, 1);
	struct sym_result r;
	uint64_t address;
	char path[256], line[256];
	FILE *nm;

	assert_int_equal(shell("cd '%s' && cp whole.so lib.so && { %s; } 2> /dev/null", program_dir, how), 0);
	snprintf(path, sizeof(path), "nm '%s/whole.so' | grep ' %s$'", program_dir, function);
	nm = popen(path, "r");
	assert_non_null(fgets(line, sizeof(line), nm));
	pclose(nm);
	address = strtoull(line, NULL, 16);
	snprintf(path, sizeof(path), "%s/lib.so", program_dir);
	symbolizer_process_exit(p);
	symbolizer_process_map(p, 0x10000, 0x20000, 0, 0, 0, 0, path);
	symbolizer_user(p, 0x10000 + address + 1, false, &r);
	assert_int_equal(r.source, source);
	assert_string_equal(r.frames[r.n_frames - 1].function, function);
	symbolizer_process_drop(p);
}

static void make_whole_library(const char *options)
{
	/* As the C library's startup files have it, a function without a size stands before all others. */
	assert_int_equal(shell("echo '__asm__(\".text; .type unsized, @function; unsized: nop\"); "
	                       "__attribute__((noinline, noclone)) static int hidden(int *p); "
	                       "int shown(int *p) { return hidden(p) + 1; } "
	                       "static int hidden(int *p) { return *p * 3; }' > '%s/w.c'",
	                       program_dir),
	                 0);
	assert_true(compile_into("-fno-toplevel-reorder -shared -fPIC -nostdlib -Wl,-z,noseparate-code %s -o "
	                         "'%s/whole.so' '%s/w.c'",
	                         options, program_dir, program_dir));
}

static void test_symbolizer__stripped_in_every_way(void **state)
{
	(void)state;
	make_whole_library("");
	assert_function_after("true", "hidden", SYM_SOURCE_DWARF);
	assert_function_after("strip -g lib.so", "hidden", SYM_SOURCE_SYMTAB);
	assert_function_after("strip lib.so", "shown", SYM_SOURCE_SYMTAB);
	assert_function_after(
	        "strip lib.so && mkdir -p .debug && objcopy --only-keep-debug whole.so .debug/lib.debug "
	        "&& objcopy --add-gnu-debuglink=.debug/lib.debug lib.so",
	        "hidden", SYM_SOURCE_DWARF);
	assert_function_after(
	        "nm -D --defined-only --format=posix lib.so | cut -d' ' -f1 > dynamic && objcopy -S "
	        "--remove-section .gnu_debuglink --strip-all --keep-symbol=hidden lib.so mini && strip "
	        "lib.so && xz -f mini && "
	        "objcopy --add-section .gnu_debugdata=mini.xz lib.so",
	        "hidden", SYM_SOURCE_SYMTAB);
	assert_function_after("objcopy -S --strip-all --keep-symbol=hidden --keep-symbol=unsized lib.so mini "
	                      "&& strip lib.so && "
	                      "xz -f mini && objcopy --add-section .gnu_debugdata=mini.xz lib.so",
	                      "shown", SYM_SOURCE_SYMTAB);
}

/* That is not the file itself, though it has the build-id. */
static void test_symbolizer__debug_file_of_the_same_name(void **state)
{
	(void)state;
	make_whole_library("-Wl,--build-id=sha1");
	assert_function_after("strip lib.so && mkdir -p .debug && objcopy --only-keep-debug whole.so "
	                      ".debug/lib.so && objcopy --add-gnu-debuglink=.debug/lib.so lib.so",
	                      "hidden", SYM_SOURCE_DWARF);
}

static void test_symbolizer__same_file_twice(void **state)
{
	struct sym_process *a = self(), *b = symbolizer_process(s, (uint32_t)getpid(), 2);
	struct sym_result r;

	(void)state;
	symbolizer_process_refresh(b);
	symbolizer_user(a, (uintptr_t)line_here, false, &r);
	symbolizer_user(b, (uintptr_t)line_here, false, &r);
	assert_string_equal(r.frames[0].function, "line_here");
	assert_int_equal(stats().files_opened, 1);
	assert_int_equal(stats().files_cached, 1);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, make_symbolizer, free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_symbolizer__own_code),
		WITH(test_symbolizer__libc_and_vdso),
		WITH(test_symbolizer__nowhere),
		WITH(test_symbolizer__perf_map),
		WITH(test_symbolizer__perf_map_names_not_kept),
		WITH(test_symbolizer__kernel),
		WITH(test_symbolizer__kernel_hidden),
		WITH(test_symbolizer__reused_pid),
		WITH(test_symbolizer__mappings_over_time),
		WITH(test_symbolizer__too_many_mappings),
		WITH(test_symbolizer__many_changes),
		WITH(test_symbolizer__many_unknown_addresses),
		WITH(test_symbolizer__climbing_path),
		WITH(test_symbolizer__gone_process),
		WITH(test_symbolizer__pid_taken_by_another),
		WITH(test_symbolizer__corrupt_file),
		WITH(test_symbolizer__deleted_file),
		WITH(test_symbolizer__bounded_memory),
		WITH(test_symbolizer__stripped_in_every_way),
		WITH(test_symbolizer__debug_file_of_the_same_name),
		WITH(test_symbolizer__same_file_twice),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
