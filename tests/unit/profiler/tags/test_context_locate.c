/* Tests of context_locate.h: where a process keeps the pointer to its thread context. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profiler/tags/context_locate.h"
#include "profiler/tags/tag_file.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/need_root.h"

#define SLOTS   "tests/unit/data/tls/slots.c"
#define PROGRAM "tests/unit/data/tls/program.c"
#define THREADS 3

struct thread_line {
	unsigned long thread_pointer, stalltag, otel;
};

struct running {
	pid_t pid;
	int to;
	struct thread_line threads[THREADS];
};

static const char *path_of(const char *name)
{
	static char paths[4][128];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", program_dir, name);
	return path;
}

/* Starts the program, and reads what its threads say they have set. */
static struct running start(const char *program, const char *library)
{
	struct running running = { .pid = -1 };
	int in[2], out[2];
	char line[128];
	FILE *from;
	int n = 0;

	assert_true(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	running.pid = fork();
	if (!running.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(program, program, library, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	running.to = in[1];
	from = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), from) && strcmp(line, "ready\n")) {
		struct thread_line *t = &running.threads[n];

		assert_true(n < THREADS);
		assert_int_equal(
		        sscanf(line, "thread %lx %lx %lx", &t->thread_pointer, &t->stalltag, &t->otel), 3);
		n++;
	}
	assert_int_equal(n, THREADS);
	fclose(from);
	return running;
}

static void stop(const struct running *running)
{
	kill(running->pid, SIGKILL);
	close(running->to);
	waitpid(running->pid, NULL, 0);
}

static bool read_word(int mem, uint64_t address, uint64_t *word)
{
	return pread(mem, word, sizeof(*word), (off_t)address) == sizeof(*word);
}

/* What bpf/context.bpf.h, tls_pointer(), does. */
static uint64_t follow(int mem, uint64_t thread_pointer, const struct abi_tls *tls)
{
	uint64_t base = thread_pointer, table, value;

	if (tls->kind == ABI_TLS_DYNAMIC || tls->kind == ABI_TLS_MUSL) {
		bool musl = tls->kind == ABI_TLS_MUSL;

		if (!read_word(mem, thread_pointer + 8, &table) ||
		    !read_word(mem, musl ? table : table - 16, &value) || value < tls->module ||
		    !read_word(mem, table + tls->module * (musl ? 8 : 16), &base))
			return 0;
		if (!base || base == ~0ULL)
			return 0;
	}
	return read_word(mem, base + (uint64_t)tls->offset, &value) ? value : 0;
}

static int open_memory(pid_t pid)
{
	char path[64];
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY);
	assert_true(mem >= 0);
	return mem;
}

static void check_threads(const struct running *running, const struct abi_process *found, const char *what)
{
	int mem = open_memory(running->pid);

	for (int i = 0; i < THREADS; i++) {
		const struct thread_line *t = &running->threads[i];
		uint64_t stalltag = follow(mem, t->thread_pointer, &found->stalltag);
		uint64_t otel = follow(mem, t->thread_pointer, &found->otel);

		/* A library that tells all through its probes need not be read twice. */
		if (stalltag != t->stalltag || (found->otel.kind && otel != t->otel))
			fail_msg("%s: thread %d has %lx and %lx, found %lx and %lx", what, i, t->stalltag,
			         t->otel, (unsigned long)stalltag, (unsigned long)otel);
	}
	close(mem);
}

static void check_process(const char *what, const char *program, const char *library, unsigned int kind)
{
	struct context_locator *locator = context_locator_new();
	struct running running = start(program, library);
	struct abi_process found;
	int err = context_locate(locator, running.pid, &found, NULL);
	bool probes = strstr(what, "PROBES") != NULL;

	if (probes)
		assert_int_equal(found.otel.kind, ABI_TLS_ABSENT);
	if (err || (kind && found.stalltag.kind != kind) || (kind && !probes && found.otel.kind != kind))
		fail_msg("%s: %d, kinds %u and %u, not %u", what, err, found.stalltag.kind, found.otel.kind,
		         kind);
	check_threads(&running, &found, what);
	assert_int_equal(found.ai_tag_key, 256);
	assert_int_equal(found.base_tag, 0);
	stop(&running);
	context_locator_free(locator);
}

static void test_context_locate__programs(void **state)
{
	static const char *const flags[] = {
		"-no-pie",
		"-pie -fPIE",
		"-pie -fPIE -rdynamic -s",
		"-static",
		"-static-pie -fPIE",
		"-static-pie -fPIE -DPAD=100 -DALIGN=64",
		"-no-pie -DPAD=13 -DALIGN=1",
		"-pie -fPIE -DPAD=4096 -DALIGN=256",
		"-pie -fPIE -mtls-dialect=gnu2 -ftls-model=global-dynamic",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		assert_true(compile_into("%s -pthread -o %s %s %s", flags[i], path_of("program"), PROGRAM,
		                         SLOTS));
		check_process(flags[i], path_of("program"), NULL, ABI_TLS_STATIC);
	}
}

struct variant {
	const char *flags;
	unsigned int kind;
};

static const struct variant libraries[] = {
	{ "-mtls-dialect=gnu2", 0 }, /* the loader chooses */
	{ "-mtls-dialect=gnu2 -DPAD=16384", ABI_TLS_DYNAMIC },
	{ "-mtls-dialect=gnu2 -DPAD=16384 -Wl,-z,lazy", ABI_TLS_DYNAMIC },
	{ "-mtls-dialect=gnu", ABI_TLS_DYNAMIC },
	{ "-mtls-dialect=gnu -DPAD=16384 -DALIGN=128", ABI_TLS_DYNAMIC },
	{ "-ftls-model=initial-exec", ABI_TLS_STATIC },
	{ "-mtls-dialect=gnu -DHIDDEN -DPROBES", ABI_TLS_DYNAMIC },
	{ "-mtls-dialect=gnu2 -DHIDDEN -DPROBES -DPAD=16384", ABI_TLS_DYNAMIC },
	{ "-ftls-model=initial-exec -DHIDDEN -DPROBES", ABI_TLS_STATIC },
	{ "-mtls-dialect=gnu2 -DHIDDEN -DPROBES", 0 },
};

/* Loaded by a thread, while another is there that never touches it. */
static void test_context_locate__loaded_libraries(void **state)
{
	(void)state;
	assert_true(compile_into("-DDLOPEN -pthread -o %s %s -ldl", path_of("program"), PROGRAM));
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		assert_true(compile_into("-shared -fPIC %s -o %s %s", libraries[i].flags, path_of("slots.so"),
		                         SLOTS));
		check_process(libraries[i].flags, path_of("program"), path_of("slots.so"), libraries[i].kind);
	}
}

static void test_context_locate__linked_libraries(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		assert_true(compile_into("-shared -fPIC %s -o %s %s", libraries[i].flags, path_of("slots.so"),
		                         SLOTS));
		assert_true(compile_into("-pthread -o %s %s %s -Wl,-rpath,%s", path_of("program"), PROGRAM,
		                         path_of("slots.so"), program_dir));
		check_process(libraries[i].flags, path_of("program"), NULL, 0);
	}
}

/* The program's symbol takes the place of the library's: the library's relocations lead there, too. */
static void test_context_locate__interposed(void **state)
{
	(void)state;
	assert_true(compile_into("-shared -fPIC -mtls-dialect=gnu -o %s %s", path_of("slots.so"), SLOTS));
	assert_true(compile_into("-rdynamic -pthread -o %s -Wl,--no-as-needed %s %s %s -Wl,-rpath,%s",
	                         path_of("program"), PROGRAM, path_of("slots.so"), SLOTS, program_dir));
	check_process("interposed", path_of("program"), NULL, ABI_TLS_STATIC);
}

/* By way of the loader the program is not /proc/PID/exe. */
static void test_context_locate__started_by_the_loader(void **state)
{
	struct context_locator *locator = context_locator_new();
	struct abi_process found;
	struct running running;

	(void)state;
	assert_true(compile_into("-pie -fPIE -pthread -o %s %s %s", path_of("program"), PROGRAM, SLOTS));
	running = start("/lib64/ld-linux-x86-64.so.2", path_of("program"));
	assert_int_equal(context_locate(locator, running.pid, &found, NULL), 0);
	check_threads(&running, &found, "by the loader");
	stop(&running);
	context_locator_free(locator);
}

/* Maps the file as the loader does, but fills in no word; those of the slots become `first` (an ELF address, where it
 * is not 0) and `second`. */
static pid_t start_unrelocated(const char *path, const struct tag_file *facts, uint64_t first,
                               uint64_t second)
{
	pid_t pid = fork();
	char *at;
	int fd;

	if (pid) {
		waitpid(pid, NULL, WUNTRACED);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(path, O_RDONLY);
	at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mmap(at + facts->texts[0].address, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
	     (off_t)facts->texts[0].offset);
	for (int i = 0; i < TAG_FILE_SLOTS; i++) {
		uint64_t *words = (uint64_t *)(at + facts->slots[i].got);

		words[0] = first ? (uintptr_t)at + first : 0;
		words[1] = second;
	}
	raise(SIGSTOP);
	_exit(0);
}

static void check_unrelocated(const char *dialect, bool bound_lazily)
{
	struct context_locator *locator = context_locator_new();
	struct abi_process found;
	struct tag_file facts;
	pid_t pid;

	assert_true(compile_into("-shared -fPIC %s -o %s %s", dialect, path_of("slots.so"), SLOTS));
	assert_int_equal(tag_file_read_path(path_of("slots.so"), &facts), 0);
	pid = start_unrelocated(path_of("slots.so"), &facts, bound_lazily ? facts.texts[0].address : 0,
	                        bound_lazily ? (uint64_t)-64 : 0);
	assert_int_equal(context_locate(locator, pid, &found, NULL), -EAGAIN);
	assert_int_equal(found.stalltag.kind, ABI_TLS_ABSENT);
	assert_int_equal(found.otel.kind, ABI_TLS_ABSENT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	context_locator_free(locator);
}

static void test_context_locate__not_relocated(void **state)
{
	(void)state;
	check_unrelocated("-mtls-dialect=gnu", false);
	check_unrelocated("-mtls-dialect=gnu2", false);
	check_unrelocated("-ftls-model=initial-exec", false);
	/* old loaders leave a descriptor of the file's own code until its first use */
	check_unrelocated("-mtls-dialect=gnu2", true);
}

/* With thread-local storage of its own in the program, the library is module 2. */
static void test_context_locate__musl(void **state)
{
	static const char *const flags[] = { "-DOWN_STORAGE", "" };

	(void)state;
	assert_int_equal(
	        shell("musl-gcc -shared -fPIC -mtls-dialect=gnu -o %s %s", path_of("slots.so"), SLOTS), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(shell("musl-gcc %s -o %s %s %s -Wl,-rpath,%s", flags[i], path_of("program"),
		                       PROGRAM, path_of("slots.so"), program_dir),
		                 0);
		check_process(flags[i], path_of("program"), NULL, ABI_TLS_MUSL);
	}
}

struct told {
	int calls;
	dev_t dev;
	ino_t inode;
	uint32_t probes;
	char path[4200];
};

static void take_file(void *ctx, pid_t pid, const struct context_file *file)
{
	struct told *told = ctx;

	(void)pid;
	told->calls++;
	told->dev = file->dev;
	told->inode = file->inode;
	told->probes = file->facts->probes;
	snprintf(told->path, sizeof(told->path), "%s", file->path);
}

/* Also of a file that has been deleted, or replaced under its name. */
static void test_context_locate__files_with_probes(void **state)
{
	struct told told = { 0 };
	const struct context_files_wanted wanted = { .file = take_file, .ctx = &told };
	struct context_locator *locator = context_locator_new();
	struct abi_process found;
	struct running running;
	struct stat library;

	(void)state;
	assert_true(compile_into("-DDLOPEN -pthread -o %s %s -ldl", path_of("program"), PROGRAM));
	assert_true(compile_into("-shared -fPIC -DPROBES -o %s %s", path_of("slots.so"), SLOTS));
	assert_int_equal(stat(path_of("slots.so"), &library), 0);
	running = start(path_of("program"), path_of("slots.so"));
	assert_int_equal(context_locate(locator, running.pid, &found, &wanted), 0);
	assert_int_equal(told.calls, 1);
	assert_string_equal(told.path, path_of("slots.so"));
	assert_int_equal(told.probes, TAG_FILE_PROBE_CHANGE | TAG_FILE_PROBE_PROCESS);
	assert_true(told.dev == library.st_dev && told.inode == library.st_ino);
	stop(&running);
	context_locator_free(locator);
}

/* Replaced while it is mapped: the path opens the file that the process has, not the one that has its name now. */
static void test_context_locate__files_that_were_replaced(void **state)
{
	struct told told = { 0 };
	const struct context_files_wanted wanted = { .file = take_file, .ctx = &told };
	struct context_locator *locator = context_locator_new();
	struct abi_process found;
	struct running running;
	struct stat library, st;

	(void)state;
	need_user_root("a file that is mapped and was replaced is opened by /proc/PID/map_files");
	assert_true(compile_into("-DDLOPEN -pthread -o %s %s -ldl", path_of("program"), PROGRAM));
	assert_true(compile_into("-shared -fPIC -DPROBES -o %s %s", path_of("slots.so"), SLOTS));
	assert_int_equal(stat(path_of("slots.so"), &library), 0);
	running = start(path_of("program"), path_of("slots.so"));
	assert_int_equal(shell("cp %s %s.new && mv %s.new %s", path_of("slots.so"), path_of("slots.so"),
	                       path_of("slots.so"), path_of("slots.so")),
	                 0);
	assert_int_equal(context_locate(locator, running.pid, &found, &wanted), 0);
	assert_int_equal(told.calls, 1);
	assert_int_equal(stat(told.path, &st), 0);
	assert_true(st.st_dev == library.st_dev && st.st_ino == library.st_ino);
	stop(&running);
	context_locator_free(locator);
}

static void test_context_locate__files_are_read_once(void **state)
{
	struct context_locator *locator = context_locator_new();
	struct context_locator_stats first, second;
	struct abi_process found;

	(void)state;
	assert_int_equal(context_locate(locator, getpid(), &found, NULL), 0);
	context_locator_stats(locator, &first);
	assert_true(first.files_read > 2);
	assert_int_equal(context_locate(locator, getpid(), &found, NULL), 0);
	context_locator_stats(locator, &second);
	assert_int_equal(first.files_read, second.files_read);
	assert_int_equal(second.files_unopened, 0);
	context_locator_free(locator);
}

static void test_context_locate__no_process(void **state)
{
	struct context_locator *locator = context_locator_new();
	struct abi_process found;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(context_locate(locator, pid, &found, NULL), -ESRCH);
	assert_int_equal(found.stalltag.kind, ABI_TLS_ABSENT);
	assert_int_equal(found.ai_tag_key, 256);
	context_locator_free(locator);
}

static void test_context_locate__interest(void **state)
{
	struct told told = { 0 };
	const struct context_files_wanted wanted = { .file = take_file, .ctx = &told };
	struct context_locator *locator = context_locator_new();

	(void)state;
	assert_true(compile_into("-shared -fPIC -o %s %s", path_of("slots.so"), SLOTS));
	assert_true(compile_into("-shared -fPIC -DPROBES -o %s %s", path_of("probes.so"), SLOTS));
	assert_int_equal(context_locator_interest(locator, getpid(), 1, 2, path_of("slots.so"), &wanted), 1);
	assert_int_equal(told.calls, 0);
	assert_int_equal(context_locator_interest(locator, getpid(), 1, 2, path_of("probes.so"), &wanted), 1);
	assert_int_equal(told.calls, 1);
	assert_string_equal(told.path, path_of("probes.so"));
	assert_int_equal(context_locator_interest(locator, getpid(), 1, 2, "/bin/true", NULL), 0);
	assert_int_equal(context_locator_interest(locator, getpid(), 1, 2, "/etc/passwd", NULL), 0);
	assert_int_equal(context_locator_interest(locator, getpid(), 1, 2, "/nonexistent", NULL), -ENOENT);
	assert_int_equal(context_locator_interest(locator, getpid(), 1, 2, "", NULL), -ENOENT);
	context_locator_free(locator);
}

/* libstalltag itself: what a push sets is what is found. */
static void check_stalltag(const char *link, const char *what)
{
	struct context_locator *locator = context_locator_new();
	struct told told = { 0 };
	const struct context_files_wanted wanted = { .file = take_file, .ctx = &told };
	struct abi_process found;
	struct running running;
	char name[16] = { 0 };
	uint64_t record;
	int mem;

	assert_true(compile_into("-pthread -o %s tests/unit/data/tls/pushes.c %s", path_of("pushes"), link));
	running = start(path_of("pushes"), NULL);
	assert_int_equal(context_locate(locator, running.pid, &found, &wanted), 0);
	assert_int_not_equal(found.stalltag.kind, ABI_TLS_ABSENT);
	assert_int_equal(found.ai_tag_key, 0);
	assert_int_equal(told.calls, 1);
	mem = open_memory(running.pid);
	for (int i = 0; i < THREADS; i++) {
		record = follow(mem, running.threads[i].thread_pointer, &found.stalltag);
		if (!running.threads[i].stalltag) {
			assert_true(record == 0);
			continue;
		}
		assert_int_equal(pread(mem, name, 8, (off_t)record + 30), 8);
		if (strcmp(name, "pushes/1"))
			fail_msg("%s: thread %d: name is %s", what, i, name);
		if (found.otel.kind != ABI_TLS_ABSENT)
			assert_true(follow(mem, running.threads[i].thread_pointer, &found.otel) == record);
	}
	close(mem);
	stop(&running);
	context_locator_free(locator);
}

/* Its files are told, and nothing is read of its memory. */
static void test_context_locate__files_only(void **state)
{
	struct told told = { 0 };
	const struct context_files_wanted wanted = { .file = take_file, .ctx = &told, .files_only = true };
	struct context_locator *locator = context_locator_new();
	struct abi_process found;
	struct running running;

	(void)state;
	assert_true(compile_into("-DDLOPEN -pthread -o %s %s -ldl", path_of("program"), PROGRAM));
	assert_true(compile_into("-shared -fPIC -DPROBES -o %s %s", path_of("slots.so"), SLOTS));
	running = start(path_of("program"), path_of("slots.so"));
	assert_int_equal(context_locate(locator, running.pid, &found, &wanted), 0);
	assert_int_equal(told.calls, 1);
	assert_int_equal(found.stalltag.kind, ABI_TLS_ABSENT);
	assert_int_equal(found.otel.kind, ABI_TLS_ABSENT);
	stop(&running);
	context_locator_free(locator);
}

#ifdef __SANITIZE_ADDRESS__
#define SANITIZE "-fsanitize=address,undefined"
#else
#define SANITIZE ""
#endif

static void test_context_locate__libstalltag(void **state)
{
	char link[9000];

	(void)state;
	snprintf(link, sizeof(link), SANITIZE " %s/libstalltag.a -ldl", build_dir());
	check_stalltag(link, "libstalltag.a");
	snprintf(link, sizeof(link), SANITIZE " %s/libstalltag.so -Wl,-rpath,%s", build_dir(), build_dir());
	check_stalltag(link, "libstalltag.so");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context_locate__programs),
		cmocka_unit_test(test_context_locate__loaded_libraries),
		cmocka_unit_test(test_context_locate__linked_libraries),
		cmocka_unit_test(test_context_locate__interposed),
		cmocka_unit_test(test_context_locate__started_by_the_loader),
		cmocka_unit_test(test_context_locate__not_relocated),
		cmocka_unit_test(test_context_locate__musl),
		cmocka_unit_test(test_context_locate__files_with_probes),
		cmocka_unit_test(test_context_locate__files_that_were_replaced),
		cmocka_unit_test(test_context_locate__files_only),
		cmocka_unit_test(test_context_locate__files_are_read_once),
		cmocka_unit_test(test_context_locate__no_process),
		cmocka_unit_test(test_context_locate__interest),
		cmocka_unit_test(test_context_locate__libstalltag),
	};

	return cmocka_run_group_tests(tests, program_dir_make, program_dir_remove);
}
