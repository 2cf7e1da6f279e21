/* Tests of sym_python_find() with libraries that define a Python's symbols, mapped into this program. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/python/python.h"
#include "symbolizer/python/python_layout.h"
#include "tests/unit/compile_program.h"

/* From 3.13 on _PyRuntime begins with these. */
#define OFFSETS "unsigned long _PyRuntime[200] = { 0x7970677562656478, "

static void *library;

/* Makes libpythonN.so of a text of C, and loads it. */
static void load(const char *text)
{
	static int n;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/p.c", program_dir);
	file = fopen(path, "we");
	fputs(text, file);
	fclose(file);
	assert_true(compile_into("-shared -fPIC -O2 -s -o %s/libpython%d.so %s", program_dir, ++n, path));
	snprintf(path, sizeof(path), "%s/libpython%d.so", program_dir, n);
	library = dlopen(path, RTLD_NOW);
	assert_non_null(library);
}

static int find_in(const char *text, struct sym_python_layout *layout)
{
	int err;

	load(text);
	memset(layout, 0xee, sizeof(*layout));
	err = sym_python_find(getpid(), NULL, layout);
	return err;
}

static int unload(void **state)
{
	(void)state;
	if (library)
		dlclose(library);
	library = NULL;
	return 0;
}

static uint64_t loaded(const char *name)
{
	return (uint64_t)(uintptr_t)dlsym(library, name);
}

static void test_python_find__none(void **state)
{
	struct sym_python_layout layout;

	(void)state;
	assert_int_equal(sym_python_find(getpid(), NULL, &layout), -ENOENT);
	assert_int_equal(find_in("int f(void) { return 1; }", &layout), -ENOENT);
	assert_int_equal(sym_python_find(0x7ffffff0, NULL, &layout), -ESRCH);
}

static void test_python_find__version_by_function(void **state)
{
	struct sym_python_layout layout;
	uint64_t evaluator;

	(void)state;
	assert_int_equal(find_in("char _PyRuntime[9]; int PyCode_Type; int PyCode_NewWithPosOnlyArgs(void) { "
	                         "return 1; }"
	                         "int _PyEval_EvalFrameDefault(void) { return 2; }",
	                         &layout),
	                 0);
	assert_int_equal(layout.version, 0x0308);
	assert_int_equal(layout.runtime, loaded("_PyRuntime"));
	assert_int_equal(layout.code_type, loaded("PyCode_Type"));
	evaluator = loaded("_PyEval_EvalFrameDefault");
	assert_int_equal(layout.evaluator[0].start, evaluator);
	assert_true(layout.evaluator[0].end > evaluator && layout.evaluator[0].end < evaluator + 64);
	assert_int_equal(layout.evaluator[1].end, 0);
}

/* An evaluator whose unlikely branches the compiler moves away, and a function beside it that it jumps to. */
#define SPLIT_SOURCE                                                                                         \
	"char _PyRuntime[9]; const unsigned long Py_Version = 0x030c01f0;"                                   \
	"__attribute__((cold, noinline)) static void unlikely(int x) { __asm__ volatile(\"\" :: \"r\"(x)); " \
	"}"                                                                                                  \
	"__attribute__((noinline)) static int other(int x) { __asm__ volatile(\"\" : \"+r\"(x)); return x; " \
	"}"                                                                                                  \
	"int _PyEval_EvalFrameDefault(int x, int *p) {"                                                      \
	"	for (int i = 0; i < x; i++) {"                                                                     \
	"		if (p[i] == 1) { unlikely(1); p[i] += 5; }"                                                       \
	"		if (p[i] == 2) { unlikely(2); p[i] *= 7; }"                                                       \
	"		if (p[i] == 3) { unlikely(3); p[i] -= p[0]; }"                                                    \
	"		if (p[i] == 4) { unlikely(4); p[i] ^= p[1]; }"                                                    \
	"		if (p[i] == 5) { unlikely(5); p[i] |= x; }"                                                       \
	"		if (p[i] == 6) { unlikely(6); p[i] <<= 1; }"                                                      \
	"	}"                                                                                                 \
	"	return other(p[0]);"                                                                               \
	"}"

/* The address of a symbol in a library that has them all. */
static uint64_t symbol_in(const char *path, const char *name)
{
	char command[256], have[128];
	unsigned long long address, wanted = 0;
	FILE *output;

	snprintf(command, sizeof(command), "nm %s", path);
	output = popen(command, "r");
	while (fgets(command, sizeof(command), output))
		if (sscanf(command, "%llx %*c %127s", &address, have) == 2 && strcmp(have, name) == 0)
			wanted = address;
	pclose(output);
	return wanted;
}

static void test_python_find__the_evaluators_other_part(void **state)
{
	struct sym_python_layout layout;
	char path[128];
	uint64_t bias, part;

	(void)state;
	assert_int_equal(find_in(SPLIT_SOURCE, &layout), 0);
	snprintf(path, sizeof(path), "%s/unstripped.so", program_dir);
	assert_true(compile_into("-shared -fPIC -O2 -o %s %s/p.c", path, program_dir));
	part = symbol_in(path, "_PyEval_EvalFrameDefault.cold");
	assert_int_not_equal(part, 0);
	bias = loaded("_PyRuntime") - symbol_in(path, "_PyRuntime");
	assert_int_equal(layout.evaluator[1].start, part + bias);
	assert_true(layout.evaluator[1].end > part + bias + 16);
	assert_true(layout.evaluator[1].end < part + bias + 1024);
}

static void test_python_find__version_by_newest_function(void **state)
{
	struct sym_python_layout layout;

	(void)state;
	assert_int_equal(
	        find_in("char _PyRuntime[9]; int PyCode_NewWithPosOnlyArgs, PyFrame_GetCode;", &layout), 0);
	assert_int_equal(layout.version, 0x0309);
	assert_int_equal(layout.code_type, 0);
	unload(NULL);
	assert_int_equal(
	        find_in("char _PyRuntime[9]; int PyCode_NewWithPosOnlyArgs, PyFrame_GetCode, PyIter_Send;",
	                &layout),
	        0);
	assert_int_equal(layout.version, 0x030a);
}

static void test_python_find__version_by_variable(void **state)
{
	struct sym_python_layout layout;

	(void)state;
	assert_int_equal(find_in("char _PyRuntime[9]; const unsigned long Py_Version = 0x030c01f0;", &layout),
	                 0);
	assert_int_equal(layout.version, 0x030c);
	assert_int_equal(layout.cframe_current_frame, 0);
}

static void test_python_find__versions_not_known(void **state)
{
	const char *const texts[] = {
		"char _PyRuntime[9];", /* 3.7 */
		"const unsigned long Py_Version = 0x030f00f0;" OFFSETS "0x030f00f0 };",
		"char _PyRuntime[9]; const unsigned long Py_Version = 0x030c01f0; int _Py_PrintReferences;",
		"const unsigned long Py_Version = 0x030d00a5;" OFFSETS "0x030d00a5 };", /* an alpha */
	};
	struct sym_python_layout layout;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(find_in(texts[i], &layout), -ENOTSUP);
		unload(NULL);
	}
}

static void test_python_find__offsets_of_3_13_are_the_files_own(void **state)
{
	struct sym_python_layout layout;

	(void)state;
	assert_int_equal(find_in("const unsigned long Py_Version = 0x030d00f0;" OFFSETS
	                         "0x030d00f0, 0, 0, 0, 632, 0, 0, 7264, [67] = 64, [69] = 16 };",
	                         &layout),
	                 0);
	assert_int_equal(layout.version, 0x030d);
	assert_int_equal(layout.interpreters_head, 632);
	assert_int_equal(layout.interp_next, 7264);
	assert_int_equal(layout.unicode_compact_size, 56);
	assert_int_equal(layout.unicode_length, 16);
}

static void test_python_find__without_a_cookie_there_are_no_offsets(void **state)
{
	struct sym_python_layout layout;

	(void)state;
	assert_int_equal(find_in("const unsigned long Py_Version = 0x030d00f0;"
	                         "unsigned long _PyRuntime[200] = { 1, 0x030d00f0 };",
	                         &layout),
	                 -ENOENT);
}

/* --- tail calls ----------------------------------------------------------------------------------- */

/* An evaluator of tail calls, whose link-time optimization put a copy of it into a caller. c0 - c2 are where calls of
 * handlers return to. CALL is a call of one by the table, JUMP a jump. */
#define TAIL_CALL_SOURCE(LOAD, CALL, JUMP)                                                                   \
	"const unsigned long Py_Version = 0x030e00f0;" OFFSETS "0x030e00f0, [77] = 64 };"                    \
	"__asm__(\".globl c0, c1, c2, c3, many, _PyEval_EvalFrameDefault\\n\""                               \
	"\".section .data.rel.ro, \\\"aw\\\"; .balign 8; handlers: .rept 200; .quad handler; .endr\\n\""     \
	"\".rept 56; .quad hot; .endr; .quad others; others: .quad 1, other; .text; .balign 16\\n\""         \
	"\"handler: " JUMP "; hot: " JUMP "; other: ret\\n\""                                                \
	"\".type _PyEval_EvalFrameDefault, @function; _PyEval_EvalFrameDefault:\\n\""                        \
	"\"" LOAD "; " CALL "; c0: ret; .size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault\\n\""   \
	"\"copy: " LOAD "; cmp %rdx, %rcx; jne 1f; call hot; c1: ret; 1: " CALL "; c2: ret\\n\""             \
	"\"lea others(%rip), %rcx; call *(%rcx, %rax, 8); call other; c3: ret\\n\""                          \
	"\".skip 0x100000 - 600; many: .rept 60; " LOAD "; " CALL "; .endr\");"

#define SHARED_LOAD "lea handlers(%rip), %rcx"
#define SHARED_CALL "call *(%rcx, %rax, 8)"
#define SHARED_JUMP SHARED_LOAD "; jmp *(%rcx, %rax, 8)"

static bool is_call(const struct sym_python_layout *layout, uint64_t return_address)
{
	return sym_python_native_kind(layout, return_address - 1, "f") == SYM_PYTHON_EVALUATOR_AND_CALLED;
}

static void test_python_find__copies_of_an_evaluator_of_tail_calls(void **state)
{
	struct sym_python_layout layout;
	size_t n;

	(void)state;
	assert_int_equal(find_in(TAIL_CALL_SOURCE(SHARED_LOAD, SHARED_CALL, SHARED_JUMP), &layout), 0);
	assert_true(is_call(&layout, loaded("c0")));
	assert_true(is_call(&layout, loaded("c1")));
	assert_true(is_call(&layout, loaded("c2")));
	for (n = 0; n < SYM_PYTHON_EVALUATOR_CALLS && layout.evaluator_calls[n]; n++)
		assert_int_not_equal(layout.evaluator_calls[n], loaded("c3"));
	assert_int_equal(n, 63);
}

/* These sixty lie across the end of the first MiB. */
static void test_python_find__calls_at_the_edge_of_what_is_read_at_once(void **state)
{
	struct sym_python_layout layout;
	size_t i;

	(void)state;
	assert_int_equal(find_in(TAIL_CALL_SOURCE(SHARED_LOAD, SHARED_CALL, SHARED_JUMP), &layout), 0);
	for (i = 0; i < 60; i++)
		assert_true(is_call(&layout, loaded("many") + (i + 1) * 10));
}

/* Its table is known by its address, and has its content in the file. */
static void test_python_find__tail_calls_of_a_program_at_a_fixed_address(void **state)
{
	struct sym_python_layout layout;
	unsigned long long at[3];
	char path[128];
	FILE *file;
	int pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/p.c", program_dir);
	file = fopen(path, "we");
	fputs(TAIL_CALL_SOURCE(
	              "nop", "call *handlers(, %rax, 8)",
	              "jmp *handlers(, %rax, 8)") "\n#include <stdio.h>\n#include <unistd.h>\nextern char "
	                                          "c0, "
	                                          "c1, c2;"
	                                          "int main(void) { printf(\"%d %p %p %p\\n\", getpid(), "
	                                          "&c0, &c1, &c2); fflush(stdout); pause(); }",
	      file);
	fclose(file);
	assert_true(compile_into("-no-pie -rdynamic -o %s/python3.14 %s", program_dir, path));
	snprintf(path, sizeof(path), "exec %s/python3.14", program_dir);
	file = popen(path, "re");
	assert_int_equal(fscanf(file, "%d %llx %llx %llx", &pid, &at[0], &at[1], &at[2]), 4);
	assert_int_equal(sym_python_find(pid, NULL, &layout), 0);
	kill(pid, SIGKILL);
	pclose(file);
	assert_true(is_call(&layout, at[0]));
	assert_true(is_call(&layout, at[1]));
	assert_true(is_call(&layout, at[2]));
}

/* --- files that are known ------------------------------------------------------------------------ */

/* What its next process is found to be: 0 or -errno. That has the program in another place. */
static int find_in_next(const char *program, struct sym_python_layout *layout)
{
	unsigned long long runtime;
	FILE *process = popen(program, "re");
	int pid, err;

	assert_int_equal(fscanf(process, "%d %llx", &pid, &runtime), 2);
	err = sym_python_find(pid, NULL, layout);
	kill(pid, SIGKILL);
	pclose(process);
	if (!err)
		assert_int_equal(layout->runtime, runtime);
	return err;
}

static void make_program(const char *path, uint64_t version)
{
	char source[128];
	FILE *file;

	snprintf(source, sizeof(source), "%s/p.c", program_dir);
	file = fopen(source, "we");
	fprintf(file,
	        "#include <stdio.h>\n#include <unistd.h>\n"
	        "char _PyRuntime[9]; const unsigned long Py_Version = %llu;"
	        "int main(void) { printf(\"%%d %%p\\n\", getpid(), _PyRuntime); fflush(stdout); pause(); }",
	        (unsigned long long)version);
	fclose(file);
	assert_true(compile_into("-fPIE -pie -rdynamic -o %s %s", path, source));
}

/* Writes the version over the one that the file has, `age` seconds ago by its time. */
static void set_version(const char *path, uint64_t from, uint64_t to, time_t age)
{
	static uint64_t words[1 << 16];
	const struct timespec times[2] = { { 1700000000 - age, 0 }, { 1700000000 - age, 0 } };
	int fd = open(path, O_RDWR | O_CLOEXEC);
	size_t n = (size_t)read(fd, words, sizeof(words)) / sizeof(words[0]), at;

	for (at = 0; at < n && words[at] != from; at++)
		;
	assert_true(at < n);
	assert_int_equal(pwrite(fd, &to, sizeof(to), (off_t)(at * sizeof(to))), sizeof(to));
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* A file that is mapped again is not read again, also one whose version is not known, until it is changed. */
static void test_python_find__a_file_is_read_once(void **state)
{
	static const struct {
		uint64_t first, then;
		int err; /* of the first */
	} cases[] = { { 0x030c01f0, 0x030b01f0, 0 }, { 0x030701f0, 0x030c01f0, -ENOTSUP } };
	struct sym_python_layout layout;
	char path[128], command[160];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		time_t age = 10 * (time_t)i;

		snprintf(path, sizeof(path), "%s/python3-%zu", program_dir, i);
		snprintf(command, sizeof(command), "exec %s", path);
		make_program(path, cases[i].first);
		set_version(path, cases[i].first, cases[i].first, age + 9);
		assert_int_equal(find_in_next(command, &layout), cases[i].err);
		set_version(path, cases[i].first, cases[i].then, age + 9);
		assert_int_equal(find_in_next(command, &layout), cases[i].err);
		if (!cases[i].err)
			assert_int_equal(layout.version, cases[i].first >> 16);
		set_version(path, cases[i].then, cases[i].then, age + 8);
		assert_int_equal(find_in_next(command, &layout), 0);
		assert_int_equal(layout.version, cases[i].then >> 16);
	}
}

/* What is called by a table of anything else is no handler. */
static void test_python_find__a_table_that_is_not_all_functions(void **state)
{
	struct sym_python_layout layout;

	(void)state;
	assert_int_equal(
	        find_in(TAIL_CALL_SOURCE("lea handlers + 16(%rip), %rcx", SHARED_CALL, SHARED_JUMP), &layout),
	        0);
	assert_int_equal(layout.evaluator_calls[0], 0);
}

/* --- layouts -------------------------------------------------------------------------------------- */

/* Words as 3.14.10 has them, free-threaded. */
static void fill_words(uint64_t words[PYTHON_DEBUG_OFFSETS_MAX])
{
	size_t i;

	for (i = 0; i < PYTHON_DEBUG_OFFSETS_MAX; i++)
		words[i] = 8 * i;
	words[0] = 0x7970677562656478ull;
	words[1] = 0x030e00f0;
	words[2] = 1;
}

static void test_python_find__offsets_of_3_14(void **state)
{
	uint64_t words[PYTHON_DEBUG_OFFSETS_MAX];
	struct sym_python_layout layout;

	(void)state;
	fill_words(words);
	assert_int_equal(python_layout_by_debug_offsets(words, PYTHON_DEBUG_OFFSETS_MAX, &layout), 0);
	assert_true(layout.free_threaded);
	assert_int_equal(layout.version, 0x030e);
	assert_int_equal(layout.tstate_frame, 8 * 26);
	assert_int_equal(layout.frame_owner, 8 * 36);
	assert_int_equal(layout.frame_size, 8 * 36 + 1);
	assert_int_equal(layout.code_tlbc, 8 * 49);
	assert_int_equal(layout.code_firsttraceable, 8 * 48 - 24);
	assert_int_equal(layout.unicode_compact_size, 8 * 77 - 8);
	words[2] = 0;
	assert_int_equal(python_layout_by_debug_offsets(words, PYTHON_DEBUG_OFFSETS_MAX, &layout), 0);
	assert_int_equal(layout.code_tlbc, SYM_PYTHON_ABSENT);
	assert_int_equal(layout.code_firsttraceable, 8 * 48 - 16);
}

static void test_python_find__offsets_that_cannot_be(void **state)
{
	uint64_t words[PYTHON_DEBUG_OFFSETS_MAX];
	struct sym_python_layout layout;

	(void)state;
	fill_words(words);
	assert_int_equal(python_layout_by_debug_offsets(words, 2, &layout), -EBADMSG);
	assert_int_equal(python_layout_by_debug_offsets(words, 60, &layout), -EBADMSG);
	words[48] = 0x8000;
	assert_int_equal(python_layout_by_debug_offsets(words, PYTHON_DEBUG_OFFSETS_MAX, &layout), -EBADMSG);
	fill_words(words);
	words[77] = 7;
	assert_int_equal(python_layout_by_debug_offsets(words, PYTHON_DEBUG_OFFSETS_MAX, &layout), -EBADMSG);
	assert_int_equal(python_layout_by_table(0x0307, &layout), -ENOTSUP);
	assert_int_equal(python_layout_by_table(0x030d, &layout), -ENOTSUP);
}

static void test_python_find__what_may_be_one(void **state)
{
	(void)state;
	assert_true(sym_python_may_be("/usr/bin/python3.11"));
	assert_true(sym_python_may_be("/opt/x/libpython3.8.so.1.0"));
	assert_false(sym_python_may_be("/opt/python3/lib/libc.so.6"));
	assert_false(sym_python_may_be("/usr/lib/python3/_ssl.cpython-311-x86_64-linux-gnu.so"));
	assert_false(sym_python_may_be("[vdso]"));
	assert_false(sym_python_may_be(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_python_find__none, unload),
		cmocka_unit_test_teardown(test_python_find__version_by_function, unload),
		cmocka_unit_test_teardown(test_python_find__the_evaluators_other_part, unload),
		cmocka_unit_test_teardown(test_python_find__version_by_newest_function, unload),
		cmocka_unit_test_teardown(test_python_find__version_by_variable, unload),
		cmocka_unit_test_teardown(test_python_find__versions_not_known, unload),
		cmocka_unit_test_teardown(test_python_find__offsets_of_3_13_are_the_files_own, unload),
		cmocka_unit_test_teardown(test_python_find__without_a_cookie_there_are_no_offsets, unload),
		cmocka_unit_test_teardown(test_python_find__copies_of_an_evaluator_of_tail_calls, unload),
		cmocka_unit_test_teardown(test_python_find__calls_at_the_edge_of_what_is_read_at_once,
		                          unload),
		cmocka_unit_test(test_python_find__tail_calls_of_a_program_at_a_fixed_address),
		cmocka_unit_test(test_python_find__a_file_is_read_once),
		cmocka_unit_test_teardown(test_python_find__a_table_that_is_not_all_functions, unload),
		cmocka_unit_test(test_python_find__offsets_of_3_14),
		cmocka_unit_test(test_python_find__offsets_that_cannot_be),
		cmocka_unit_test(test_python_find__what_may_be_one),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
