/* Tests of call frame information: expressions, instructions, and tables of real files. */

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

#include "symbolizer/cfi/cfi.h"
#include "symbolizer/cfi/cfi_expression.h"
#include "tests/unit/compile_program.h"

/* --- expressions ------------------------------------------------------------------------------------ */

static int read_register(void *context, unsigned int reg, uint64_t *value)
{
	(void)context;
	*value = 1000 + reg;
	return reg == 9 ? -EFAULT : 0;
}

static int read_memory(void *context, uint64_t address, size_t len, uint64_t *value)
{
	(void)context;
	if (address < 4096)
		return -EFAULT;
	*value = address * 2 + len;
	return 0;
}

static const struct cfi_environment environment = {
	.read_register = read_register, .read_memory = read_memory, .n_registers = 17, .load_bias = 0x100000
};

static void test_cfi__expressions(void **state)
{
	static const struct {
		const char *ops;
		size_t len;
		int err;
		uint64_t result;
	} cases[] = {
		{ "\x77\x08", 2, 0, 1015 },                       /* breg7 8 */
		{ "\x35\x32\x1c", 3, 0, 3 },                      /* lit5 lit2 minus */
		{ "\x08\xff\x23\x01", 4, 0, 256 },                /* const1u 255 plus_uconst 1 */
		{ "\x09\xff\x1f", 3, 0, 1 },                      /* const1s -1 neg */
		{ "\x0a\x00\x20\x06", 4, 0, 0x2000 * 2 + 8 },     /* const2u 0x2000 deref */
		{ "\x0a\x00\x20\x94\x04", 5, 0, 0x2000 * 2 + 4 }, /* ... deref_size 4 */
		{ "\x34\x33\x12\x1e\x22", 5, 0, 13 },             /* lit4 lit3 dup mul plus: 4 + 9 */
		{ "\x31\x32\x33\x17\x1c", 5, 0, UINT64_MAX },     /* 1 2 3 rot -> 3 1 2, minus */
		{ "\x31\x32\x16\x1c", 4, 0, 1 },                  /* 1 2 swap minus: 2 - 1 */
		{ "\x31\x28\x01\x00\x30\x35", 6, 0, 5 },          /* lit1 bra +1 over lit0, lit5 */
		{ "\x31\x2f\x01\x00\x32", 5, 0, 1 },              /* lit1 skip over lit2 */
		{ "\x03\x00\x10\x00\x00\x00\x00\x00\x00", 9, 0, 0x101000 }, /* addr, biased */
		/* The linker's rule for PLT entries: CFA = rsp + 8 + ((rip & 15) >= 11) * 8. */
		{ "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 11, 0, 1007 + 8 + 0 },
		{ "\x79\x00", 2, -EFAULT, 0 }, /* breg9, unknown */
		{ "\x31\x06", 2, -EFAULT, 0 }, /* deref of 1 */
		{ "\x22", 1, -EBADMSG, 0 },    /* plus of nothing */
		{ "", 0, -EBADMSG, 0 },
		{ "\xff", 1, -EBADMSG, 0 },
		{ "\x08", 1, -EBADMSG, 0 },         /* const1u without its byte */
		{ "\x31\x30\x1b", 3, -EBADMSG, 0 }, /* 1 / 0 */
		{ "\x2f\xfd\xff", 3, -EBADMSG, 0 }, /* skip -3: for ever */
		{ "\x2f\x00\x70", 3, -EBADMSG, 0 }, /* skip far away */
	};
	uint64_t result;
	size_t i;
	int err;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		err = cfi_expression_evaluate((const uint8_t *)cases[i].ops, cases[i].len, NULL, &environment,
		                              &result);
		assert_int_equal(err, cases[i].err);
		if (!err)
			assert_true(result == cases[i].result);
	}
}

static void test_cfi__expression_starts_with_the_cfa(void **state)
{
	uint64_t result, cfa = 0x7000;

	(void)state;
	assert_int_equal(cfi_expression_evaluate((const uint8_t *)"\x38\x1c", 2, &cfa, &environment, &result),
	                 0);
	assert_true(result == 0x7000 - 8);
}

/* --- instructions ----------------------------------------------------------------------------------- */

static const uint8_t nothing[1];

/* Runs `program` in a function at 0x1000 up to 0x1000 + at; the CIE says CFA = rsp + 8, return address at -8. */
static int run(const char *program, size_t len, uint64_t at, struct cfi_row *row)
{
	static const uint8_t cie_program[] = { 0x0c, 7, 8, 0x90, 1 };
	struct cfi_section section = {
		.arch = &cfi_arch_x86_64, .data = (const uint8_t *)program, .len = len, .is_eh = true
	};
	struct cfi_fde fde = { .cie = { .program = dwarf_cursor_at(cie_program, sizeof(cie_program), 0),
		                        .code_alignment = 1,
		                        .data_alignment = -8,
		                        .return_register = 16,
		                        .address_size = 8 },
		               .start = 0x1000,
		               .length = 0x100 };

	if (!len)
		section.data = nothing;
	fde.program = dwarf_cursor_at(section.data, len, 0);
	return cfi_program_run(&section, &fde, 0x1000 + at, row);
}

static const struct cfi_rule *rule_of(const struct cfi_row *row, int reg)
{
	int i;

	for (i = 0; i < row->n_rules; i++)
		if (row->rules[i].reg == reg)
			return &row->rules[i];
	return NULL;
}

static void test_cfi__rows(void **state)
{
	/* push rbp at 1; mov rsp, rbp at 4; remember; leave at 16; restore at 17 */
	static const char program[] = "\x41\x0e\x10\x86\x02\x43\x0d\x06\x4c\x0a\x0c\x07\x08\x41\x0b";
	struct cfi_row row;

	(void)state;
	assert_int_equal(run(program, sizeof(program) - 1, 0, &row), 0);
	assert_true(row.start == 0x1000 && row.end == 0x1001);
	assert_true(row.cfa.kind == CFI_OFFSET && row.cfa.reg == 7 && row.cfa.n == 8);
	assert_null(rule_of(&row, 6));
	assert_int_equal(rule_of(&row, 16)->n, -8);

	assert_int_equal(run(program, sizeof(program) - 1, 3, &row), 0);
	assert_true(row.start == 0x1001 && row.end == 0x1004 && row.cfa.reg == 7 && row.cfa.n == 16);
	assert_true(rule_of(&row, 6)->kind == CFI_OFFSET && rule_of(&row, 6)->n == -16);

	assert_int_equal(run(program, sizeof(program) - 1, 4, &row), 0);
	assert_true(row.cfa.reg == 6 && row.cfa.n == 16 && row.end == 0x1010);
	assert_int_equal(run(program, sizeof(program) - 1, 16, &row), 0);
	assert_true(row.cfa.reg == 7 && row.cfa.n == 8);
	assert_int_equal(run(program, sizeof(program) - 1, 200, &row), 0);
	assert_true(row.cfa.reg == 6 && row.cfa.n == 16 && row.end == 0x1100);
}

static void test_cfi__every_rule(void **state)
{
	/* rbx undefined, r12 same, r13 in r8, r14 at an expression, r15 is one, rdx = CFA - 16, rcx at CFA + 24 */
	static const char program[] =
	        "\x07\x03\x08\x0c\x09\x0d\x08\x10\x0e\x02\x77\x10\x16\x0f\x01\x31\x14\x01\x02\x11"
	        "\x02\x7d\x0f\x03\x77\x20\x06";
	struct cfi_row row;

	(void)state;
	assert_int_equal(run(program, sizeof(program) - 1, 5, &row), 0);
	assert_int_equal(rule_of(&row, 3)->kind, CFI_UNDEFINED);
	assert_null(rule_of(&row, 12));
	assert_true(rule_of(&row, 13)->kind == CFI_REGISTER && rule_of(&row, 13)->n == 8);
	assert_true(rule_of(&row, 14)->kind == CFI_EXPRESSION && rule_of(&row, 14)->length == 2);
	assert_memory_equal(row.expressions + rule_of(&row, 14)->n, "\x77\x10", 2);
	assert_true(rule_of(&row, 15)->kind == CFI_VALUE_EXPRESSION && rule_of(&row, 15)->length == 1);
	assert_true(rule_of(&row, 1)->kind == CFI_VALUE_OFFSET && rule_of(&row, 1)->n == -16);
	assert_true(rule_of(&row, 2)->kind == CFI_OFFSET && rule_of(&row, 2)->n == 24);
	assert_true(row.cfa.kind == CFI_EXPRESSION && row.cfa.length == 3);
}

static void test_cfi__broken_programs(void **state)
{
	static const struct {
		const char *program;
		size_t len;
	} cases[] = {
		{ "\x0b", 1 },                         /* restore_state of nothing */
		{ "\x3f", 1 },                         /* unknown */
		{ "\x0c\x07", 2 },                     /* def_cfa without its offset */
		{ "\x0c\x20\x08", 3 },                 /* CFA relative to a vector register */
		{ "\x0e\xff\xff\xff\xff\x7f", 6 },     /* CFA too far away */
		{ "\x11\x03\xff\xff\xff\xff\x3f", 7 }, /* register too far away */
		{ "\x10\x03\x7f\x30", 4 },             /* expression past the end */
		{ "\x0f\x01\x31\x0d\x06", 5 },         /* another register for a CFA that is an expression */
		{ "\x0f\x01\x31\x0e\x08", 5 },         /* another offset for one */
		{ "\x0f\x01\x31\x13\x08", 5 },
		{ "\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", 17 },
	};
	struct cfi_row row;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(run(cases[i].program, cases[i].len, 5, &row), -EBADMSG);
}

/* --- tables of real files --------------------------------------------------------------------------- */

static void assert_has_rows(const char *file)
{
	struct elf_file *f;
	struct cfi_row row;
	struct cfi *cfi;
	char path[256];
	uint64_t address;
	size_t found = 0;

	snprintf(path, sizeof(path), "%s/%s", program_dir, file);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, 1 << 20, &f), 0);
	assert_int_equal(cfi_new(f, &cfi), 0);
	for (address = 0x1000; address < 0x1200; address++) {
		if (cfi_find(cfi, address, &row))
			continue;
		assert_true(row.start <= address && address < row.end);
		found += row.cfa.kind == CFI_OFFSET && row.cfa.reg == 7 && row.cfa.n > 64;
	}
	assert_true(found > 4);
	assert_int_equal(cfi_find(cfi, 1, &row), -ENOENT);
	cfi_free(cfi);
	elf_file_close(f);
}

static void test_cfi__eh_frame_and_debug_frame(void **state)
{
	(void)state;
	assert_int_equal(shell("echo 'void g(char *); void f(void) { char b[100]; g(b); g(b); }' > '%s/x.c'",
	                       program_dir),
	                 0);
	assert_true(compile_into("-shared -fPIC -nostdlib -fomit-frame-pointer -o '%s/eh.so' '%s/x.c'",
	                         program_dir, program_dir));
	assert_true(
	        compile_into("-shared -fPIC -nostdlib -fomit-frame-pointer -fno-asynchronous-unwind-tables "
	                     "-o '%s/debug.so' '%s/x.c'",
	                     program_dir, program_dir));
	assert_int_equal(shell("readelf -SW '%s/debug.so' | grep -q '[.]debug_frame'", program_dir), 0);
	assert_has_rows("eh.so");
	assert_has_rows("debug.so");
}

/* Four functions of 60,000 rows each, as a hostile file may have them; the first begins at 0x10000. */
static const char long_functions[] =
        ".text\n.globl _start\n_start:\n.rept 4\n.cfi_startproc\n.rept 30000\nnop\n.cfi_escape 0x41, 0x0e, "
        "16\n"
        "nop\n.cfi_escape 0x41, 0x0e, 8\n.endr\n.cfi_endproc\n.endr\n.section .note.GNU-stack\n";

/* Each lookup behind the 65,536th row ran all of its function's instructions. */
static void test_cfi__long_functions(void **state)
{
	const uint64_t last = 0x10000 + 4 * 60000 - 1;
	const struct cfi_rules *rules;
	char path[256];
	struct elf_file *f;
	struct cfi *cfi;
	clock_t began;
	FILE *file;
	int i, err = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/long.s", program_dir);
	file = fopen(path, "w");
	fputs(long_functions, file);
	fclose(file);
	assert_int_equal(shell("cd '%s' && cc -nostdlib -static -no-pie -Wl,-Ttext=0x10000 -o long long.s",
	                       program_dir),
	                 0);
	snprintf(path, sizeof(path), "%s/long", program_dir);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, 1 << 24, &f), 0);
	assert_int_equal(cfi_new(f, &cfi), 0);
	began = clock();
	for (i = 0; !err && i < 1000; i++)
		err = cfi_rules_at(cfi, last - i, &rules);
	print_message("%d lookups in %.2f s of CPU\n", i, (double)(clock() - began) / CLOCKS_PER_SEC);
	assert_int_equal(err, -ENOSPC);
	assert_true(i > 10 && i < 200);
	/* What it pays back is enough for one, after some time. */
	for (i = 0; err && i < 1000; i++)
		err = cfi_rules_at(cfi, last, &rules);
	assert_true(!err && i > 10);
	cfi_free(cfi);
	elf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfi__expressions),
		cmocka_unit_test(test_cfi__expression_starts_with_the_cfa),
		cmocka_unit_test(test_cfi__rows),
		cmocka_unit_test(test_cfi__every_rule),
		cmocka_unit_test(test_cfi__broken_programs),
		cmocka_unit_test(test_cfi__eh_frame_and_debug_frame),
		cmocka_unit_test(test_cfi__long_functions),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
