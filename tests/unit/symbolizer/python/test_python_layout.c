/*
 * What is found in a Python's file, against the headers that it was built with: for pyenv's versions, the
 * system's when its headers are installed, and those in STALLPROF_PYTHON_HEADERS: FOLDER=FILE:FOLDER=FILE, the
 * second being the program or library. data/python_layout.c tells what the headers say.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/python/python_file.h"
#include "tests/unit/compile_program.h"

#define SOURCE "tests/unit/data/python_layout.c"

static const struct field {
	const char *name;
	size_t at;
} fields[] = {
#define FIELD(name)                                                                                          \
	{                                                                                                    \
#name, offsetof(struct sym_python_layout, name)                                              \
	}
	FIELD(version),
	FIELD(interpreters_head),
	FIELD(interp_next),
	FIELD(interp_threads_head),
	FIELD(tstate_next),
	FIELD(tstate_thread_id),
	FIELD(tstate_native_thread_id),
	FIELD(tstate_frame),
	FIELD(cframe_current_frame),
	FIELD(frame_previous),
	FIELD(frame_executable),
	FIELD(frame_instr),
	FIELD(frame_owner),
	FIELD(shim_owner),
	FIELD(frame_entry),
	FIELD(code_firstlineno),
	FIELD(code_filename),
	FIELD(code_name),
	FIELD(code_linetable),
	FIELD(code_qualname),
	FIELD(code_adaptive),
	FIELD(code_firsttraceable),
	FIELD(code_tlbc),
	FIELD(ob_type),
	FIELD(bytes_size),
	FIELD(bytes_value),
	FIELD(unicode_length),
	FIELD(unicode_state),
	FIELD(unicode_ascii_size),
	FIELD(unicode_compact_size),
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* What the headers say; those that they have not are absent. */
static void read_headers(const char *dir, uint16_t numbers[N_FIELDS])
{
	char command[PATH_MAX], name[64];
	unsigned int number;
	FILE *output;
	size_t i;

	for (i = 0; i < N_FIELDS; i++)
		numbers[i] = SYM_PYTHON_ABSENT;
	assert_true(compile_into("-I%s -I%s/internal -o %s/show %s", dir, dir, program_dir, SOURCE));
	snprintf(command, sizeof(command), "%s/show", program_dir);
	output = popen(command, "r");
	while (fscanf(output, "%63s %u", name, &number) == 2) {
		for (i = 0; i < N_FIELDS && strcmp(fields[i].name, name); i++)
			;
		assert_true(i < N_FIELDS);
		numbers[i] = (uint16_t)number;
	}
	assert_int_equal(pclose(output), 0);
}

static void compare(const char *dir, const char *file)
{
	struct sym_python_layout layout;
	uint16_t numbers[N_FIELDS], ours;
	struct elf_file *f;
	size_t i, different = 0, n = 0;

	read_headers(dir, numbers);
	assert_int_equal(elf_file_open(open(file, O_RDONLY | O_CLOEXEC), false, 64 << 20, &f), 0);
	assert_int_equal(python_file_layout(f, &layout), 0);
	elf_file_close(f);
	for (i = 0; i < N_FIELDS; i++) {
		memcpy(&ours, (const char *)&layout + fields[i].at, sizeof(ours));
		n += ours != SYM_PYTHON_ABSENT;
		if (ours == numbers[i])
			continue;
		print_message("# %s: %s is %u by the headers, %u by the file\n", file, fields[i].name,
		              numbers[i], ours);
		different++;
	}
	assert_int_equal(different, 0);
	print_message("# %s: %zu numbers are the headers'\n", file, n);
}

/* The file that the headers in PREFIX/include/pythonX.Y belong to. False: it is not there. */
static bool file_of(const char *dir, char *path, size_t size)
{
	const char *include = strstr(dir, "/include/"), *name = strrchr(dir, '/') + 1;
	int prefix = (int)(include - dir);

	snprintf(path, size, "%.*s/lib/lib%s.so.1.0", prefix, dir, name);
	if (access(path, R_OK))
		snprintf(path, size, "%.*s/bin/%s", prefix, dir, name);
	return !access(path, R_OK);
}

static bool has_internal(const char *dir)
{
	char path[PATH_MAX];

	/* Older ones have no such layout; python3.7m is one of them. */
	snprintf(path, sizeof(path), "%s/internal/pycore_code.h", dir);
	return !access(path, R_OK);
}

static size_t compare_named(const char *named)
{
	char *copy = strdup(named), *rest = copy, *dir, *file;
	size_t n = 0;

	while ((dir = strsep(&rest, ":"))) {
		file = strchr(dir, '=');
		assert_non_null(file);
		*file = 0;
		compare(dir, file + 1);
		n++;
	}
	free(copy);
	return n;
}

static size_t compare_installed(void)
{
	char pattern[PATH_MAX], path[PATH_MAX];
	const char *home = getenv("HOME");
	glob_t found = { 0 };
	size_t i, n = 0;

	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.*/include/python3.*", home ? home : "");
	glob("/usr/include/python3.*", 0, NULL, &found);
	glob(pattern, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++) {
		if (!has_internal(found.gl_pathv[i]) || !file_of(found.gl_pathv[i], path, sizeof(path)))
			continue;
		compare(found.gl_pathv[i], path);
		n++;
	}
	globfree(&found);
	return n;
}

static void test_python_layout__is_the_headers(void **state)
{
	const char *named = getenv("STALLPROF_PYTHON_HEADERS");

	(void)state;
	if (!(named ? compare_named(named) : compare_installed()))
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_layout__is_the_headers),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
