/* Tests of kernel.h with a made-up kernel: KASLR, modules, missing debug files. */

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
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "symbolizer/kernel/kernel_debug.h"
#include "symbolizer/elf/packed_file.h"
#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"

/*
 * A folder with all that belongs to a kernel "9.9-test": vmlinux linked for 0xffffffff81000000 and running
 * SHIFT higher, and a module "fake_mod" (file fake-mod.ko) at MODULE.
 */
#define LINKED 0xffffffff81000000ull
#define SHIFT  0x1a200000ull
#define MODULE 0xffffffffc0123000ull

/* vmlinux_shown() calls something inline in line 2, from line 4. */
static const char source[] =
        "static volatile int sink;\n"
        "static inline __attribute__((always_inline)) int inlined(int n) { return sink * n; }\n"
        "int __attribute__((noinline)) NAME(int n);\n"
        "int NAME(int n) { sink = 1; return inlined(n) + sink; }\n"
        "int after(int n);\n"
        "int __attribute__((section(\".init.text\"))) after(int n) { return n + sink; }\n";

static const char layout[] =
        "cd '%s' && mkdir -p proc sys/kernel sys/module/fake_mod/sections debug/boot "
        "debug/lib/modules/9.9-test/kernel && "
        "cc -O2 -g -DNAME=vmlinux_shown -mcmodel=kernel -fno-pie -no-pie -nostdlib -static "
        "-fcf-protection=none -Wl,-Ttext=0xffffffff81000000 -Wl,-e,_stext "
        "-Wl,--defsym=_stext=0xffffffff81000000 "
        "-Wl,-z,max-page-size=4096 -Wl,--build-id=0xabcdef0123 -o debug/boot/vmlinux-9.9-test k.c && "
        "objcopy -O binary -j .note.gnu.build-id debug/boot/vmlinux-9.9-test sys/kernel/notes && "
        "cc -O2 -g -c -DNAME=module_shown -mcmodel=kernel -fno-pie -o m.o k.c && "
        "ld -r --build-id=0x4567 -o fake-mod.ko m.o && cp fake-mod.ko debug/lib/modules/9.9-test/kernel/ && "
        "echo 0xffffffffc0123000 > sys/module/fake_mod/sections/.text && "
        "echo 0xffffffffc0150000 > sys/module/fake_mod/sections/.init.text";

static uint64_t symbol_address(const char *file, const char *name)
{
	char command[512], line[256];
	uint64_t address = 0;
	FILE *nm;

	snprintf(command, sizeof(command), "nm '%s/%s'", program_dir, file);
	nm = popen(command, "r");
	while (fgets(line, sizeof(line), nm))
		if (strstr(line, name) && line[strlen(line) - 1 - strlen(name) - 1] == ' ')
			address = strtoull(line, NULL, 16);
	pclose(nm);
	return address;
}

static uint64_t vmlinux_shown, module_shown;

static int make_kernel(void **state)
{
	char path[256];
	FILE *file;

	if (program_dir_make(state))
		return -1;
	snprintf(path, sizeof(path), "%s/k.c", program_dir);
	file = fopen(path, "w");
	fputs(source, file);
	fclose(file);
	if (shell(layout, program_dir))
		return -1;
	vmlinux_shown = symbol_address("debug/boot/vmlinux-9.9-test", "vmlinux_shown");
	module_shown = MODULE + symbol_address("fake-mod.ko", "module_shown");
	snprintf(path, sizeof(path), "%s/proc/kallsyms", program_dir);
	file = fopen(path, "w");
	fprintf(file, "%llx T _stext\n%llx T vmlinux_shown\n%llx t module_shown\t[fake_mod]\n",
	        LINKED + SHIFT, (unsigned long long)(vmlinux_shown + SHIFT),
	        (unsigned long long)module_shown);
	return fclose(file) || !vmlinux_shown;
}

static struct symbolizer *new_symbolizer(const char *debug_dir)
{
	static char proc[256], sys[256], debug[256];
	struct symbolizer_opts opts = { .proc = proc,
		                        .sys = sys,
		                        .debug_dir = debug,
		                        .root = "/nonexistent",
		                        .kernel_release = "9.9-test" };
	struct symbolizer *s;

	snprintf(proc, sizeof(proc), "%s/proc", program_dir);
	snprintf(sys, sizeof(sys), "%s/sys", program_dir);
	snprintf(debug, sizeof(debug), "%s/%s", program_dir, debug_dir);
	s = symbolizer_new(&opts);
	assert_non_null(s);
	return s;
}

/* Looks for two frames within the first bytes of a function. */
static void assert_inlined(struct symbolizer *s, uint64_t start, const char *function, struct sym_result *r)
{
	uint64_t pc;

	for (pc = start; pc < start + 32; pc++) {
		symbolizer_kernel(s, pc, false, r);
		if (r->n_frames == 2)
			break;
	}
	assert_int_equal(r->n_frames, 2);
	assert_int_equal(r->source, SYM_SOURCE_DWARF);
	assert_string_equal(r->frames[0].function, "inlined");
	assert_int_equal(r->frames[0].line, 2);
	assert_true(r->frames[0].inlined);
	assert_string_equal(r->frames[1].function, function);
	assert_int_equal(r->frames[1].line, 4);
	assert_non_null(strstr(r->frames[1].file, "k.c"));
	assert_true(r->module->has_lines && r->module->is_kernel);
}

static void test_kernel__vmlinux_under_kaslr(void **state)
{
	struct symbolizer *s = new_symbolizer("debug");
	struct sym_result r;

	(void)state;
	assert_inlined(s, vmlinux_shown + SHIFT, "vmlinux_shown", &r);
	assert_string_equal(r.module->path, "[kernel.kallsyms]_stext");
	assert_string_equal(r.module->build_id, "abcdef0123");
	assert_true(r.address >= vmlinux_shown && r.address < vmlinux_shown + 32);
	assert_true(r.module->start == LINKED + SHIFT && r.module->offset == LINKED);
	assert_true(r.module->address == LINKED);
	symbolizer_free(s);
}

static void pack_with_zstd(const char *from, const char *to)
{
	static char plain[1 << 20], packed[1 << 20];
	FILE *file = fopen(from, "r");
	size_t len = fread(plain, 1, sizeof(plain), file);

	fclose(file);
	len = ZSTD_compress(packed, sizeof(packed), plain, len, 3);
	file = fopen(to, "w");
	fwrite(packed, 1, len, file);
	fclose(file);
}

static void assert_module_found(void)
{
	struct symbolizer *s = new_symbolizer("debug");
	struct sym_result r;

	assert_inlined(s, module_shown, "module_shown", &r);
	assert_string_equal(r.module->path, "[fake_mod]");
	symbolizer_free(s);
}

static void test_kernel__modules(void **state)
{
	static const char *const packers[] = { "true", "gzip", "xz" };
	char plain[256], dir[128], packed[256];
	size_t i;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/debug/lib/modules/9.9-test/kernel", program_dir);
	snprintf(plain, sizeof(plain), "%s/fake-mod.ko", program_dir);
	snprintf(packed, sizeof(packed), "%s/fake-mod.ko.zst", dir);
	for (i = 0; i < sizeof(packers) / sizeof(*packers); i++) {
		assert_int_equal(shell("cd '%s' && rm -f fake-mod* && cp '%s' . && %s fake-mod.ko", dir,
		                       plain, packers[i]),
		                 0);
		assert_module_found();
	}
	assert_int_equal(shell("rm '%s'/fake-mod*", dir), 0);
	pack_with_zstd(plain, packed);
	assert_module_found();
}

/* Without debug information, or with that of another build, names are left. */
static void test_kernel__names_alone(void **state)
{
	struct symbolizer *s = new_symbolizer("nothing");
	struct sym_result r;

	(void)state;
	symbolizer_kernel(s, vmlinux_shown + SHIFT + 4, false, &r);
	assert_string_equal(r.frames[0].function, "vmlinux_shown");
	assert_int_equal(r.source, SYM_SOURCE_KALLSYMS);
	assert_false(r.module->has_lines);
	symbolizer_kernel(s, module_shown + 4, false, &r);
	assert_string_equal(r.frames[0].function, "module_shown");
	assert_string_equal(r.module->path, "[fake_mod]");
	symbolizer_free(s);

	assert_int_equal(shell("cd '%s' && cp -r debug other && printf '\\1' | dd "
	                       "of=sys/kernel/notes bs=1 seek=17 conv=notrunc status=none",
	                       program_dir),
	                 0);
	s = new_symbolizer("other");
	symbolizer_kernel(s, vmlinux_shown + SHIFT + 4, false, &r);
	assert_int_equal(r.source, SYM_SOURCE_KALLSYMS);
	symbolizer_free(s);
}

/* A BPF program that was loaded after kallsyms was read, and a trampoline in the place of another symbol. */
static void test_kernel__code_made_later(void **state)
{
	struct symbolizer *s = new_symbolizer("debug");
	uint64_t code = module_shown + 0x4000;
	struct sym_result r;

	(void)state;
	symbolizer_kernel(s, code + 8, false, &r);
	assert_string_equal(r.frames[0].function, "module_shown"); /* a neighbour's */
	symbolizer_kernel_code(s, code, 64, "bpf_prog_6deef7357e7b4530_made");
	symbolizer_kernel(s, code + 8, false, &r);
	assert_string_equal(r.frames[0].function, "bpf_prog_6deef7357e7b4530_made");
	assert_int_equal(r.source, SYM_SOURCE_KALLSYMS);
	symbolizer_kernel(s, code + 64, true, &r); /* called at its end */
	assert_string_equal(r.frames[0].function, "bpf_prog_6deef7357e7b4530_made");
	assert_string_equal(r.module->path, "[bpf]");
	assert_true(r.module->is_kernel && r.module->address <= r.address &&
	            r.address < r.module->address + (r.module->end - r.module->start));
	symbolizer_kernel(s, module_shown + 4, false, &r);
	assert_string_equal(r.frames[r.n_frames - 1].function, "module_shown");
	symbolizer_kernel_code(s, code, 64, NULL);
	symbolizer_kernel(s, code + 8, false, &r);
	assert_string_equal(r.frames[0].function, "module_shown");
	/* What is listed behind a trampoline, within the page that is told of it, is not the trampoline. */
	symbolizer_kernel_code(s, module_shown - 256, 4096, "bpf_trampoline_7");
	symbolizer_kernel(s, module_shown - 8, false, &r);
	assert_string_equal(r.frames[0].function, "bpf_trampoline_7");
	symbolizer_kernel(s, module_shown + 4, false, &r);
	assert_string_equal(r.frames[r.n_frames - 1].function, "module_shown");
	/* When some of it may not have been told, what was told is not trusted either. */
	symbolizer_kernel_code(s, code, 64, "bpf_prog_6deef7357e7b4530_made");
	symbolizer_kernel_code_lost(s);
	symbolizer_kernel(s, code + 8, false, &r);
	assert_string_equal(r.frames[0].function, "module_shown");
	symbolizer_free(s);
}

static void write_in_proc(const char *name, const char *format, unsigned long long address)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%s", program_dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, format, address);
	assert_int_equal(fclose(file), 0);
}

/* Another module is where one was. How often they are used is no change. */
static void test_kernel__modules_come_and_go(void **state)
{
	const struct timespec a_look = { .tv_sec = 1, .tv_nsec = 100000000 };
	struct symbolizer *s = new_symbolizer("nothing");
	uint64_t pc = module_shown + 4;
	struct sym_result r;

	(void)state;
	write_in_proc("modules", "fake_mod 4096 0 - Live 0x%llx\n", MODULE);
	symbolizer_kernel(s, pc, false, &r);
	assert_string_equal(r.frames[0].function, "module_shown");
	write_in_proc("kallsyms", "%llx t other_shown\t[other_mod]\n", module_shown);
	write_in_proc("modules", "fake_mod 4096 2 - Live 0x%llx\n", MODULE);
	nanosleep(&a_look, NULL);
	symbolizer_kernel(s, pc, false, &r);
	assert_string_equal(r.frames[0].function, "module_shown");
	write_in_proc("modules", "other_mod 4096 0 - Live 0x%llx\n", MODULE);
	nanosleep(&a_look, NULL);
	symbolizer_kernel(s, pc, false, &r);
	assert_string_equal(r.frames[0].function, "other_shown");
	assert_string_equal(r.module->path, "[other_mod]");
	symbolizer_free(s);
}

static void test_kernel__vmcoreinfo(void **state)
{
	static const char text[] = "OSRELEASE=6.1\nKERNELOFFSETS=1\nKERNELOFFSET=1a200000\nX=1";
	uint64_t offset = 0;

	(void)state;
	assert_true(kernel_debug_parse_vmcoreinfo(text, strlen(text), &offset));
	assert_true(offset == 0x1a200000);
	assert_false(kernel_debug_parse_vmcoreinfo(text, 20, &offset));
	assert_false(kernel_debug_parse_vmcoreinfo("", 0, &offset));
}

static void test_kernel__packed_files_that_are_broken(void **state)
{
	static const char *const contents[] = { "",
		                                "abc",
		                                "\x1f\x8b rubbish",
		                                "\xfd\x37zXZ rubbish",
		                                "\x28\xb5\x2f\xfd rubbish",
		                                "\177ELF rubbish" };
	struct elf_file *f;
	char path[256];
	FILE *file;
	size_t i;

	(void)state;
	snprintf(path, sizeof(path), "%s/broken", program_dir);
	assert_int_equal(packed_file_open(path, 1 << 20, &f), -ENOENT);
	for (i = 0; i < sizeof(contents) / sizeof(*contents); i++) {
		file = fopen(path, "w");
		fputs(contents[i], file);
		fclose(file);
		assert_int_equal(packed_file_open(path, 1 << 20, &f), -EBADMSG);
	}
	assert_int_equal(shell("head -c 3000000 /dev/zero | gzip > '%s'", path), 0);
	assert_int_equal(packed_file_open(path, 1 << 20, &f), -EFBIG);
}

static enum sym_kernel state_of(struct symbolizer *s, size_t *modules)
{
	struct symbolizer_stats stats;

	symbolizer_stats(s, &stats);
	*modules = stats.kernel_modules_without_debug;
	return stats.kernel;
}

static char missing[256]; /* the build-ids of whose files debug information was missing */

static void note_missing(const char *build_id, void *context)
{
	(void)context;
	snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s ", build_id);
}

static void test_kernel__names_can_be_read_before_the_first_address(void **state)
{
	struct symbolizer *s = new_symbolizer("debug");
	struct symbolizer_stats stats;

	(void)state;
	symbolizer_stats(s, &stats);
	assert_int_equal(stats.kernel_symbols, 0);
	symbolizer_kernel_prepare(s);
	symbolizer_stats(s, &stats);
	assert_true(stats.kernel_symbols > 0);
	assert_int_equal(stats.kernel, SYM_KERNEL_UNUSED);
	symbolizer_free(s);
}

/* What is left when files are missing is used, and what is missing is said. */
static void test_kernel__says_what_is_missing(void **state)
{
	struct symbolizer_opts opts = { .root = "/nonexistent",
		                        .kernel_release = "9.9-test",
		                        .debug_missing = note_missing };
	char proc[256], sys[256], debug[256], fetched[256];
	struct symbolizer *s = new_symbolizer("debug");
	struct sym_result r;
	size_t modules;

	(void)state;
	assert_int_equal(state_of(s, &modules), SYM_KERNEL_UNUSED);
	symbolizer_kernel(s, vmlinux_shown + SHIFT, false, &r);
	symbolizer_kernel(s, module_shown, false, &r);
	assert_int_equal(state_of(s, &modules), SYM_KERNEL_DWARF);
	assert_int_equal(modules, 0);
	symbolizer_free(s);

	snprintf(proc, sizeof(proc), "%s/proc", program_dir);
	snprintf(sys, sizeof(sys), "%s/sys", program_dir);
	snprintf(debug, sizeof(debug), "%s/elsewhere", program_dir);
	snprintf(fetched, sizeof(fetched), "%s/fetched", program_dir);
	opts.proc = proc;
	opts.sys = sys;
	opts.debug_dir = debug;
	opts.fetched_dir = fetched;
	s = symbolizer_new(&opts);
	symbolizer_kernel(s, vmlinux_shown + SHIFT, false, &r);
	symbolizer_kernel(s, module_shown, false, &r);
	assert_int_equal(r.source, SYM_SOURCE_KALLSYMS);
	assert_int_equal(state_of(s, &modules), SYM_KERNEL_NAMES);
	assert_int_equal(modules, 1);
	assert_non_null(strstr(missing, "abcdef0123 "));

	/* Until it comes. */
	assert_int_equal(shell("cd '%s' && mkdir -p fetched/.build-id/ab && cp debug/boot/vmlinux-9.9-test "
	                       "fetched/.build-id/ab/cdef0123.debug",
	                       program_dir),
	                 0);
	symbolizer_debug_arrived(s, "abcdef0123");
	assert_inlined(s, vmlinux_shown + SHIFT, "vmlinux_shown", &r);
	assert_true(r.address >= vmlinux_shown && r.address < vmlinux_shown + 32);
	symbolizer_kernel(s, module_shown, false, &r);
	assert_int_equal(state_of(s, &modules), SYM_KERNEL_DWARF);
	assert_int_equal(modules, 1);
	symbolizer_free(s);

	/* As with kptr_restrict. */
	assert_int_equal(
	        shell("cd '%s' && mkdir hidden && sed 's/^[0-9a-f]*/0000000000000000/' proc/kallsyms > "
	              "hidden/kallsyms",
	              program_dir),
	        0);
	snprintf(proc, sizeof(proc), "%s/hidden", program_dir);
	s = symbolizer_new(&opts);
	symbolizer_kernel(s, vmlinux_shown + SHIFT, false, &r);
	assert_int_equal(r.source, SYM_SOURCE_NONE);
	assert_int_equal(state_of(s, &modules), SYM_KERNEL_HIDDEN);
	symbolizer_free(s);
}

/* The frame after one of these is of code that was interrupted. */
static void test_kernel__entries(void **state)
{
	static const struct {
		const char *function;
		bool entry;
	} rows[] = {
		{ "asm_exc_page_fault", true },
		{ "asm_sysvec_apic_timer_interrupt", true },
		{ "asm_common_interrupt", true },
		{ "asm_exc_nmi", true },
		{ "end_repeat_nmi", true },
		{ "xen_asm_exc_page_fault", true },
		{ "asm_fred_entrypoint_kernel", true },
		{ "exc_page_fault", false },
		{ "asm_load_gs_index", false },
		{ "entry_SYSCALL_64_after_hwframe", false },
		{ "ret_from_fork", false },
		{ "sysvec_apic_timer_interrupt", false },
	};
	struct sym_module module = { .is_kernel = true };
	struct sym_frame frames[2] = { { .function = "inlined" } };
	struct sym_result result = { .module = &module, .frames = frames, .n_frames = 2 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		frames[1].function = rows[i].function;
		assert_int_equal(symbolizer_kernel_entry(&result), rows[i].entry);
	}
	frames[1].function = "asm_exc_page_fault";
	module.is_kernel = false;
	assert_false(symbolizer_kernel_entry(&result));
	result.module = NULL;
	assert_false(symbolizer_kernel_entry(&result));
}

/* --- what is kept of modules ---------------------------------------------------------------------------- */

#define KEPT_MODULES 4096
#define MODULE_BYTES 4096ull

static void write_many_modules(void)
{
	char path[256];
	FILE *file;
	unsigned int i;

	snprintf(path, sizeof(path), "%s/proc/kallsyms", program_dir);
	file = fopen(path, "we");
	for (i = 0; i <= KEPT_MODULES; i++)
		fprintf(file, "%llx t shown\t[many_%u]\n", MODULE + i * MODULE_BYTES, i);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(shell("mkdir -p '%s/sys/module/many_%u/notes'", program_dir, KEPT_MODULES), 0);
}

static void write_build_id(uint64_t number)
{
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint64_t id[8];
	} note = { { 4, sizeof(note.id), NT_GNU_BUILD_ID }, "GNU", { number } };
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/sys/module/many_%u/notes/.note.gnu.build-id", program_dir,
	         KEPT_MODULES);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* not cut: ext4 would write it to disk */
	assert_int_equal(write(fd, &note, sizeof(note)), sizeof(note));
	close(fd);
}

/* A module that there is no room for, built anew all the time. */
static void test_kernel__names_refused(void **state)
{
	struct symbolizer *s = new_symbolizer("nothing");
	struct symbolizer_stats st = { 0 };
	struct sym_result r;
	uint64_t i;

	(void)state;
	write_many_modules();
	for (i = 0; i < KEPT_MODULES; i++)
		symbolizer_kernel(s, MODULE + i * MODULE_BYTES, false, &r);
	for (i = 1; i < 100000 && !st.names_refused; i++) {
		write_build_id(i);
		symbolizer_kernel(s, MODULE + KEPT_MODULES * MODULE_BYTES, false, &r);
		assert_string_equal(r.frames[0].function, "shown");
		symbolizer_stats(s, &st);
	}
	assert_in_range(i, 1000, 99999);
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel__vmlinux_under_kaslr),
		cmocka_unit_test(test_kernel__modules),
		cmocka_unit_test(test_kernel__names_can_be_read_before_the_first_address),
		cmocka_unit_test(test_kernel__says_what_is_missing),
		cmocka_unit_test(test_kernel__names_alone), /* changes what the later ones find */
		cmocka_unit_test(test_kernel__code_made_later),
		cmocka_unit_test(test_kernel__modules_come_and_go),
		cmocka_unit_test(test_kernel__vmcoreinfo),
		cmocka_unit_test(test_kernel__packed_files_that_are_broken),
		cmocka_unit_test(test_kernel__entries),
		cmocka_unit_test(test_kernel__names_refused),
	};

	return cmocka_run_group_tests(tests, make_kernel, program_dir_remove);
}
