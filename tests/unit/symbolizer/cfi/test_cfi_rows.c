/* Compares the compact rows with the exact evaluator, and the evaluator with readelf, over whole files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/cfi/cfi.h"
#include "tests/unit/compile_program.h"

#define MAX_BYTES ((size_t)1 << 30)

static struct elf_file *file;
static struct cfi *cfi;

/* False: no such file. */
static bool open_table(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return false;
	assert_int_equal(elf_file_open(fd, false, MAX_BYTES, &file), 0);
	assert_int_equal(cfi_new(file, &cfi), 0);
	return true;
}

static void close_table(void)
{
	cfi_free(cfi);
	elf_file_close(file);
}

/* --- rows and evaluator ----------------------------------------------------------------------------- */

static void assert_same_rule(const struct cfi_row *row, const struct cfi_rule *exact,
                             const struct cfi_rules *rules, const struct cfi_rule *compact)
{
	assert_int_equal(compact->kind, exact->kind);
	assert_int_equal(compact->reg, exact->reg);
	assert_int_equal(compact->length, exact->length);
	if (exact->kind == CFI_EXPRESSION || exact->kind == CFI_VALUE_EXPRESSION)
		assert_memory_equal((const uint8_t *)rules + compact->n,
		                    row->expressions + (uint32_t)exact->n, exact->length);
	else
		assert_int_equal(compact->n, exact->n);
}

/* The rules, which are by the evaluator until the rows are made, and are the same. */
static int ask_often(uint64_t address, const struct cfi_rules **rules)
{
	const struct cfi_rules *first = NULL;
	int i, err, first_err = cfi_rules_at(cfi, address, &first);

	for (i = 0; i < 5; i++) {
		err = cfi_rules_at(cfi, address, rules);
		assert_int_equal(err, first_err);
		assert_true(err || *rules == first);
	}
	return first_err;
}

/* Says the compact row for `address` what the evaluator says? */
static void assert_same_at(uint64_t address)
{
	const struct cfi_rules *rules;
	struct cfi_row row;
	int err = ask_often(address, &rules), i;

	assert_int_equal(cfi_find(cfi, address, &row), err);
	if (err)
		return;
	assert_int_equal(rules->n_rules, row.n_rules);
	assert_int_equal(rules->is_signal, row.is_signal);
	assert_int_equal(rules->is_signed, row.is_signed);
	assert_int_equal(rules->return_register, row.return_register);
	assert_same_rule(&row, &row.cfa, rules, &rules->cfa);
	for (i = 0; i < row.n_rules; i++)
		assert_same_rule(&row, &row.rules[i], rules, &rules->rules[i]);
}

/* The rows from `start` to the next gap, both ends of each, and what lies around them; returns where the gap is. */
static uint64_t compare_functions(uint64_t start, size_t *n_rows)
{
	struct cfi_row row;
	uint64_t at;

	assert_same_at(start - 1);
	for (at = start; !cfi_find(cfi, at, &row); at = row.end, ++*n_rows) {
		assert_true(row.start == at && row.end > at);
		assert_same_at(at);
		assert_same_at(row.end - 1);
	}
	assert_same_at(at);
	return at > start ? at : start + 1;
}

static void compare_file(const char *path, size_t at_least)
{
	uint64_t start, address = 0;
	size_t rows = 0;

	if (!open_table(path))
		return;
	while (cfi_next_function(cfi, address, &start))
		address = compare_functions(start, &rows);
	close_table();
	if (rows < at_least)
		fail_msg("%s: only %zu rows", path, rows);
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)size;
	if (info->dlpi_name[0] == '/') {
		compare_file(info->dlpi_name, 1);
		++*(int *)n;
	}
	return 0;
}

static void test_cfi_rows__are_the_evaluators_in_every_library_loaded(void **state)
{
	int n = 0;

	(void)state;
	dl_iterate_phdr(compare_loaded, &n);
	assert_true(n >= 2);
}

static void test_cfi_rows__are_the_evaluators_in_this_build(void **state)
{
	struct dirent *entry;
	char path[8192];
	DIR *dir;
	int n = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests", build_dir());
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)) && n < 5) {
		if (strncmp(entry->d_name, "test_", 5) != 0 || strchr(entry->d_name, '.'))
			continue;
		snprintf(path, sizeof(path), "%s/tests/%s", build_dir(), entry->d_name);
		compare_file(path, 10);
		n++;
	}
	closedir(dir);
	assert_true(n > 0);
}

/* Big ones with much hand-written code, where the machine has them. */
static void test_cfi_rows__are_the_evaluators_in_big_libraries(void **state)
{
	static const char *const files[] = { "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		                             "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3",
		                             "/lib64/ld-linux-x86-64.so.2" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		compare_file(files[i], 100);
}

/* --- evaluator and readelf -------------------------------------------------------------------------- */

static const char *const register_names[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	                                      "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra" };

static int register_number(const char *name)
{
	int i;

	for (i = 0; i < 17; i++)
		if (strcmp(register_names[i], name) == 0)
			return i;
	return -1;
}

static const struct cfi_rule *rule_of(const struct cfi_row *row, int reg)
{
	int i;

	for (i = 0; i < row->n_rules; i++)
		if (row->rules[i].reg == reg)
			return &row->rules[i];
	return NULL;
}

/* "rsp+16", "exp" */
static bool same_cfa(const struct cfi_rule *cfa, const char *text)
{
	char expected[64];

	if (cfa->kind == CFI_EXPRESSION)
		return strcmp(text, "exp") == 0;
	snprintf(expected, sizeof(expected), "%s%+d", register_names[cfa->reg], cfa->n);
	return strcmp(text, expected) == 0;
}

/* "c-16", "v+8", "u", "s", "r9 (r9)", "exp", "vexp" */
static bool same_cell(const struct cfi_rule *rule, const char *text)
{
	char expected[64] = "";

	switch (rule ? rule->kind : CFI_SAME) {
	case CFI_SAME:
		return strcmp(text, "s") == 0 || strcmp(text, "u") == 0;
	case CFI_UNDEFINED:
		return strcmp(text, "u") == 0;
	case CFI_OFFSET:
		snprintf(expected, sizeof(expected), "c%+d", rule->n);
		break;
	case CFI_VALUE_OFFSET:
		snprintf(expected, sizeof(expected), "v%+d", rule->n);
		break;
	case CFI_REGISTER:
		snprintf(expected, sizeof(expected), "r%d", rule->n);
		break;
	default:
		snprintf(expected, sizeof(expected), "%s", rule->kind == CFI_EXPRESSION ? "exp" : "vexp");
	}
	return strcmp(text, expected) == 0;
}

struct listing {
	int columns[32]; /* register of each; -1: one that nobody unwinds by */
	int n_columns;
	size_t rows;
};

/* "   LOC   CFA   rbx   rbp   ra" */
static void read_heading(struct listing *l, char *line)
{
	char *save, *word = strtok_r(line, " \n", &save);

	strtok_r(NULL, " \n", &save);
	for (l->n_columns = 0; (word = strtok_r(NULL, " \n", &save)) && l->n_columns < 32; l->n_columns++)
		l->columns[l->n_columns] = register_number(word);
}

static void compare_line(struct listing *l, char *line)
{
	char *save, *word = strtok_r(line, " \n", &save), *rest;
	uint64_t address = strtoull(word, &rest, 16);
	struct cfi_row row;
	int i;

	if (cfi_find(cfi, address, &row))
		fail_msg("no row at %llx, where readelf has one", (unsigned long long)address);
	word = strtok_r(NULL, " \n", &save);
	if (row.start != address || !same_cfa(&row.cfa, word))
		fail_msg("at %llx readelf has CFA %s", (unsigned long long)address, word);
	for (i = 0; i < l->n_columns; i++) {
		do
			word = strtok_r(NULL, " \n", &save);
		while (word && *word == '(');
		if (!word)
			fail_msg("at %llx readelf has only %d columns", (unsigned long long)address, i);
		if (l->columns[i] >= 0 && !same_cell(rule_of(&row, l->columns[i]), word))
			fail_msg("at %llx readelf has %s for column %d", (unsigned long long)address, word,
			         i);
	}
	l->rows++;
}

static bool is_row(const char *line)
{
	size_t digits = strspn(line, "0123456789abcdef");

	return digits == 16 && line[digits] == ' ' && !strchr(line, '=') && !strstr(line, "CIE");
}

/* Every row that binutils works out of libc, which has hand-written and odd ones. */
static void test_cfi_rows__are_those_of_readelf(void **state)
{
	struct listing listing = { .n_columns = 0 };
	bool in_fde = false;
	char line[4096];
	FILE *pipe;

	(void)state;
	assert_true(open_table("/lib/x86_64-linux-gnu/libc.so.6"));
	pipe = popen("readelf --debug-dump=frames-interp /lib/x86_64-linux-gnu/libc.so.6 2>/dev/null", "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		if (strstr(line, " FDE cie=") || strstr(line, " CIE "))
			in_fde = strstr(line, " FDE ") != NULL;
		else if (in_fde && strstr(line, "LOC") && strstr(line, "CFA"))
			read_heading(&listing, line);
		else if (in_fde && is_row(line))
			compare_line(&listing, line);
	}
	pclose(pipe); /* not 0 where it finds the debug file, too, and nothing to list in that */
	close_table();
	if (listing.rows < 15000)
		fail_msg("only %zu rows of readelf", listing.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfi_rows__are_the_evaluators_in_every_library_loaded),
		cmocka_unit_test(test_cfi_rows__are_the_evaluators_in_this_build),
		cmocka_unit_test(test_cfi_rows__are_the_evaluators_in_big_libraries),
		cmocka_unit_test(test_cfi_rows__are_those_of_readelf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
