/* Tests of debug_package.h: which package with debug information is advised. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/symbols/debug_package.h"
#include "tests/unit/compile_program.h"

static void write_os_release(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	assert_int_equal(shell("rm -rf '%s/etc' '%s/usr' && mkdir -p '%s/etc' '%s/usr/lib'", program_dir,
	                       program_dir, program_dir, program_dir),
	                 0);
	snprintf(full, sizeof(full), "%s/%s", program_dir, path);
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_debug_package__by_distribution(void **state)
{
	static const struct {
		const char *os_release, *release, *package;
	} rows[] = {
		{ "PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n", "6.1.0-56-amd64",
		  "linux-image-6.1.0-56-amd64-dbg" },
		{ "ID=ubuntu\nID_LIKE=debian\n", "6.8.0-45-generic", "linux-image-6.8.0-45-generic-dbgsym" },
		{ "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "6.8.0-45-generic",
		  "linux-image-6.8.0-45-generic-dbgsym" },
		{ "ID=kali\nID_LIKE='debian'\n", "6.6.9-amd64", "linux-image-6.6.9-amd64-dbg" },
		{ "ID=fedora\nVARIANT_ID=server", "6.10.3-200.fc40.x86_64",
		  "kernel-debuginfo-6.10.3-200.fc40.x86_64" },
		{ "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "5.14.0-427.el9.x86_64",
		  "kernel-debuginfo-5.14.0-427.el9.x86_64" },
		{ "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "6.4.0-150600.23-default",
		  "kernel-default-debuginfo" },
		{ "ID=arch\nBUILD_ID=rolling\n", "6.10.1-arch1-1", "" },
		{ "ID_LIKE=\"\nID\n=debian\nXID=debian\n", "6.1", "" },
		{ "", "6.1", "" },
	};
	char package[256], advice[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_os_release(i % 2 ? "etc/os-release" : "usr/lib/os-release", rows[i].os_release);
		debug_package_of_kernel(program_dir, rows[i].release, package, sizeof(package));
		assert_string_equal(package, rows[i].package);
		debug_package_advice(program_dir, rows[i].release, advice, sizeof(advice));
		assert_non_null(strstr(advice, "/usr/lib/debug/boot/vmlinux-"));
		assert_non_null(strstr(advice, rows[i].package));
	}
	debug_package_of_kernel("/nonexistent", "6.1", package, sizeof(package));
	assert_string_equal(package, "");
}

/* No package is advised that apt does not offer. */
static void test_debug_package__asks_apt(void **state)
{
	char advice[256];

	(void)state;
	write_os_release("etc/os-release", "ID=debian\n");
	assert_int_equal(
	        shell("mkdir -p '%s/usr/bin' && echo '#!/bin/sh\n"
	              "[ \"$*\" = \"show linux-image-6.1.0-56-amd64-dbg\" ]' >'%s/usr/bin/apt-cache' && "
	              "chmod +x '%s/usr/bin/apt-cache'",
	              program_dir, program_dir, program_dir),
	        0);
	debug_package_advice(program_dir, "6.1.0-56-amd64", advice, sizeof(advice));
	assert_string_equal(advice, "install linux-image-6.1.0-56-amd64-dbg");
	debug_package_advice(program_dir, "6.18.44-fc-v669", advice, sizeof(advice));
	assert_null(strstr(advice, "install "));
	assert_non_null(strstr(advice, "/usr/lib/debug/boot/vmlinux-6.18.44-fc-v669"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_debug_package__by_distribution),
		                            cmocka_unit_test(test_debug_package__asks_apt) };

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
