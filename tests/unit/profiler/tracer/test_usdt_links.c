/*
 * Listening to the probes of files, by both kinds of link: who listens is counted in the probe's semaphore. Needs root. The
 * probes are not stalltag's, so that no profiler on this host listens, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "bpf/stallprof.skel.h"
#include "symbolizer/base/clock.h"
#include "profiler/tracer/uprobe_links.h"
#include "profiler/tracer/usdt_links.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/need_root.h"

#define COPIES 24

/* `change` has two places, `process` one, and a probe without a semaphore none that could be read. */
#define LIBRARY                                                                                              \
	"-shared -fPIC -I%s -o %s/lib0.so -x c - <<'END'\n"                                                  \
	"#include \"stalltag/usdt.h\"\n"                                                                     \
	"USDT_SEMAPHORE uint16_t s, t, u;\n"                                                                 \
	"uint16_t change(void) { return s; }\n"                                                              \
	"uint16_t process(void) { return t; }\n"                                                             \
	"uint16_t foreign(void) { return u; }\n"                                                             \
	"void f(void) { USDT_1(\"test\", \"change\", \"s\", 0); USDT_1(\"test\", \"change\", "               \
	"\"s\", 0);\n"                                                                                       \
	"USDT_1(\"test\", \"process\", \"t\", 0); USDT_1(\"tests\", \"change\", \"u\", 0); }\n"              \
	"END"

typedef uint16_t semaphore_fn(void);

struct listening {
	struct stallprof_bpf *bpf;
	struct usdt_links *links;
	struct usdt_listener both[2];
};

static struct stallprof_bpf *open_programs(bool multi)
{
	struct stallprof_bpf *bpf = stallprof_bpf__open();
	struct bpf_program *program;

	assert_non_null(bpf);
	bpf_object__for_each_program(program, bpf->obj) bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(bpf->progs.on_tag_change, true);
	bpf_program__set_autoload(bpf->progs.on_tag_process, true);
	bpf_map__set_max_entries(bpf->maps.stack_buffers, 3);
	if (multi) {
		uprobe_links_prepare(bpf->progs.on_tag_change);
		uprobe_links_prepare(bpf->progs.on_tag_process);
	}
	assert_int_equal(stallprof_bpf__load(bpf), 0);
	return bpf;
}

static void begin(struct listening *l, bool multi)
{
	need_root(PRIVILEGE_UPROBES);
	if (multi && !uprobe_links_have_multi()) {
		print_message("# SKIP allowed: this kernel has no uprobe_multi links\n");
		skip();
	}
	l->bpf = open_programs(multi);
	l->links = usdt_links_new(multi);
	assert_non_null(l->links);
	l->both[0] = (struct usdt_listener){ "test", "change", l->bpf->progs.on_tag_change };
	l->both[1] = (struct usdt_listener){ "test", "process", l->bpf->progs.on_tag_process };
}

static semaphore_fn *symbol(void *library, const char *name)
{
	semaphore_fn *function;

	*(void **)&function = dlsym(library, name);
	assert_non_null(function);
	return function;
}

/* The path of a copy of the library, and the copy mapped. */
static void *map_copy(unsigned int number, char *path, size_t size)
{
	void *library;

	snprintf(path, size, "%s/lib%u.so", program_dir, number);
	if (number)
		assert_int_equal(shell("cp %s/lib0.so %s", program_dir, path), 0);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	return library;
}

static void check_semaphores(bool multi)
{
	struct listening l;
	char path[128];
	void *library = map_copy(0, path, sizeof(path));
	semaphore_fn *change = symbol(library, "change"), *process = symbol(library, "process");
	int one, other;

	begin(&l, multi);
	one = usdt_links_attach(l.links, path, l.both, 1);
	assert_true(one >= 0);
	assert_int_equal(change(), 2);
	assert_int_equal(process(), 0);
	other = usdt_links_attach(l.links, path, l.both, 2);
	assert_true(other >= 0 && other != one);
	assert_int_equal(change(), 2); /* the kernel counts places, not listeners */
	assert_int_equal(process(), 1);
	assert_int_equal(symbol(library, "foreign")(), 0);
	usdt_links_detach(l.links, one);
	assert_int_equal(usdt_links_attach(l.links, path, l.both, 1), one);
	usdt_links_free(l.links);
	assert_int_equal(change(), 0);
	assert_int_equal(process(), 0);
	stallprof_bpf__destroy(l.bpf);
	dlclose(library);
}

static void test_usdt_links__multi(void **state)
{
	(void)state;
	check_semaphores(true);
}

static void test_usdt_links__events(void **state)
{
	(void)state;
	check_semaphores(false);
}

/* A file that lacks one of the probes, and what is no such file, keep nothing. */
static void test_usdt_links__refused(void **state)
{
	struct listening l;
	char path[128];
	void *library = map_copy(0, path, sizeof(path));

	(void)state;
	begin(&l, uprobe_links_have_multi());
	l.both[1].probe = "none";
	assert_int_equal(usdt_links_attach(l.links, path, l.both, 2), -ENOENT);
	assert_int_equal(usdt_links_attach(l.links, "/bin/true", l.both, 1), -ENOENT);
	assert_int_equal(usdt_links_attach(l.links, "/proc/version", l.both, 1), -ENOEXEC);
	assert_int_equal(usdt_links_attach(l.links, "/nonexistent", l.both, 1), -ENOENT);
	assert_int_equal(usdt_links_attach(l.links, path, l.both, 0), -EINVAL);
	assert_int_equal(symbol(library, "change")(), 0);
	usdt_links_free(l.links);
	stallprof_bpf__destroy(l.bpf);
	dlclose(library);
}

/* Those of many files end side by side: one after the other takes the kernel a second and more for so many. */
static void test_usdt_links__many_end_at_once(void **state)
{
	void *libraries[COPIES];
	struct listening l;
	uint64_t began_ns;
	char path[128];

	(void)state;
	begin(&l, true);
	for (unsigned int i = 0; i < COPIES; i++) {
		libraries[i] = map_copy(i, path, sizeof(path));
		assert_true(usdt_links_attach(l.links, path, l.both, 2) >= 0);
	}
	began_ns = monotonic_ns();
	usdt_links_free(l.links);
	began_ns = monotonic_ns() - began_ns;
	print_message("# %d files are let go in %u ms\n", COPIES, (unsigned int)(began_ns / 1000000));
	assert_in_range(began_ns, 0, 800000000);
	for (unsigned int i = 0; i < COPIES; i++) {
		assert_int_equal(symbol(libraries[i], "change")(), 0);
		dlclose(libraries[i]);
	}
	stallprof_bpf__destroy(l.bpf);
}

static int make_library(void **state)
{
	char here[512];

	if (program_dir_make(state) || !getcwd(here, sizeof(here)))
		return -1;
	return compile_into(LIBRARY, here, program_dir) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usdt_links__multi),
		cmocka_unit_test(test_usdt_links__events),
		cmocka_unit_test(test_usdt_links__refused),
		cmocka_unit_test(test_usdt_links__many_end_at_once),
	};

	return cmocka_run_group_tests_name("usdt_links", tests, make_library, program_dir_remove);
}
