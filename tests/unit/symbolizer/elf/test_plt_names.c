/* Tests of plt_names.h against objdump. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/elf/plt_names.h"
#include "symbolizer/elf/symtab.h"
#include "tests/unit/compile_program.h"

#define MAX_BYTES ((size_t)64 << 20)

static const char source[] =
        "#include <stdio.h>\\n#include <stdlib.h>\\n#include <string.h>\\n"
        "static int one(void) { return 1; }\\nstatic void *choose(void) { return one; }\\n"
        "int chosen(void) __attribute__((ifunc(\\\"choose\\\")));\\nvoid *volatile pointer;\\n"
        "int main(int argc, char **argv) { pointer = (void *)free; void *p = malloc(argc); free(p); "
        "printf(\\\"%%d %%s\\\", chosen(), getenv(\\\"HOME\\\")); return abs((int)strlen(argv[0])); }\\n";

static int make_dir(void **state)
{
	return program_dir_make(state) || shell("printf \"%s\" > '%s/p.c'", source, program_dir);
}

static struct symtab *read_symbols(const char *file, struct elf_file **f)
{
	struct symtab *t;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, file);
	assert_int_equal(elf_file_open(open(path, O_RDONLY), false, MAX_BYTES, f), 0);
	assert_int_equal(symtab_new(*f, NULL, &t), 0);
	return t;
}

/* Asks about an entry as objdump names it: "0000000000001030 getenv@plt", or "... *ABS*+0x117f@plt". */
static void assert_entry(const struct symtab *t, char *line)
{
	uint64_t address = strtoull(line, NULL, 16);
	char *name = strchr(line, ' ') + 1;
	struct symtab_hit hit;

	name[strcspn(name, "\n")] = 0;
	if (strncmp(name, "*ABS*", 5) == 0)
		name = "chosen@plt";
	assert_true(symtab_find(t, address, &hit));
	assert_string_equal(hit.name, name);
	assert_true(hit.start == address && hit.end > address && hit.end <= address + 16);
	assert_true(symtab_find(t, hit.end - 1, &hit));
	assert_string_equal(hit.name, name);
}

static size_t compare_to_objdump(const char *file, const char *flags)
{
	char command[512], line[256];
	struct elf_file *f;
	struct symtab *t;
	FILE *objdump;
	size_t n = 0;

	if (!compile_into("%s -o '%s/%s' '%s/p.c'", flags, program_dir, file, program_dir))
		fail_msg("%s", flags);
	t = read_symbols(file, &f);
	snprintf(command, sizeof(command),
	         "objdump -d -j .plt -j .plt.sec -j .plt.got '%s/%s' 2>/dev/null | sed -nE 's/^([0-9a-f]+) "
	         "<(.*@plt)>:$/\\1 \\2/p'",
	         program_dir, file);
	objdump = popen(command, "r");
	for (; fgets(line, sizeof(line), objdump); n++)
		assert_entry(t, line);
	pclose(objdump);
	symtab_free(t);
	elf_file_close(f);
	return n;
}

static void test_plt_names__as_objdump_has_them(void **state)
{
	static const char *const ways[] = { "-Wl,-z,lazy", "-Wl,-z,now",
		                            "-fcf-protection=full -Wl,-z,ibtplt -Wl,-z,lazy",
		                            "-fcf-protection=full -Wl,-z,ibtplt -Wl,-z,now", "-no-pie" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (compare_to_objdump("p", ways[i]) < 4)
			fail_msg("%s: too few entries", ways[i]);
}

/* With -fcf-protection, .plt only pushes a number: both parts of an entry have its name. */
static void test_plt_names__lazy_part(void **state)
{
	struct elf_section plt, second;
	struct symtab_hit first_hit, hit;
	struct elf_file *f;
	struct symtab *t;

	(void)state;
	assert_true(compile_into("-fcf-protection=full -Wl,-z,ibtplt -Wl,-z,lazy -o '%s/ibt' '%s/p.c'",
	                         program_dir, program_dir));
	t = read_symbols("ibt", &f);
	assert_int_equal(elf_file_section(f, ".plt", &plt), 0);
	assert_int_equal(elf_file_section(f, ".plt.sec", &second), 0);
	assert_false(symtab_find(t, plt.address, &hit));
	assert_true(symtab_find(t, plt.address + 16, &first_hit));
	assert_true(symtab_find(t, second.address, &hit));
	assert_string_equal(hit.name, first_hit.name);
	symtab_free(t);
	elf_file_close(f);
}

/* A stripped program has nothing but imports in its table: its PLT is named none the less. */
static void test_plt_names__alone(void **state)
{
	struct elf_section plt;
	struct symtab_hit hit;
	struct elf_file *f;
	struct symtab *t;

	(void)state;
	assert_true(compile_into("-s -Wl,-z,lazy -o '%s/stripped' '%s/p.c'", program_dir, program_dir));
	t = read_symbols("stripped", &f);
	assert_int_equal(elf_file_section(f, ".plt", &plt), 0);
	assert_true(symtab_find(t, plt.address + 16, &hit));
	assert_non_null(strstr(hit.name, "@plt"));
	symtab_free(t);
	elf_file_close(f);
}

/* There they are all of ifuncs, and their relocations have no symbols. */
static void test_plt_names__static(void **state)
{
	struct elf_section plt;
	struct symtab_hit hit;
	struct elf_file *f;
	struct symtab *t;
	uint64_t at;
	bool found = false;

	(void)state;
	assert_true(compile_into("-static -o '%s/static' '%s/p.c'", program_dir, program_dir));
	t = read_symbols("static", &f);
	assert_int_equal(elf_file_section(f, ".plt", &plt), 0);
	for (at = plt.address; at < plt.address + plt.len; at += 8) {
		assert_true(symtab_find(t, at, &hit));
		assert_non_null(strstr(hit.name, "@plt"));
		found |= strcmp(hit.name, "chosen@plt") == 0;
	}
	assert_true(found);
	symtab_free(t);
	elf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plt_names__as_objdump_has_them),
		cmocka_unit_test(test_plt_names__lazy_part),
		cmocka_unit_test(test_plt_names__alone),
		cmocka_unit_test(test_plt_names__static),
	};

	return cmocka_run_group_tests(tests, make_dir, program_dir_remove);
}
