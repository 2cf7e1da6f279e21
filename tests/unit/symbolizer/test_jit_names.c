/* Tests of jit_names.h: which jitdump or perf map names a process's code. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/symbolizer.h"
#include "tests/unit/compile_program.h"
#include "tests/unit/jitdump_writer.h"
#include "tests/unit/need_root.h"

/* A process as /proc would show it: 4321 of user 0, in its own PID namespace 7, with code at 0x10000. */
#define CODE 0x10000

static struct symbolizer *s;
static struct sym_process *p;

static int make_process(void **state)
{
	struct symbolizer_opts opts = { .proc = program_dir, .max_memory_bytes = 16 << 20 };

	if (program_dir_make(state) ||
	    shell("cd '%s' && mkdir -p 4321/root/tmp && printf '4321 (x) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
	          "0 99 "
	          "0 0 0 0 0' > 4321/stat && printf "
	          "'Name:\\tx\\nUid:\\t%u\\t%u\\t0\\t0\\nNSpid:\\t4321\\t7\\n' > "
	          "4321/status && printf '10000-20000 r-xp 00000000 00:00 0 \\n' > 4321/maps",
	          program_dir, geteuid() + 1, geteuid()))
		return -1;
	s = symbolizer_new(&opts);
	p = symbolizer_process(s, 4321, 1);
	return symbolizer_process_refresh(p);
}

static int remove_process(void **state)
{
	symbolizer_free(s);
	return program_dir_remove(state);
}

static struct sym_result ask(uint64_t address)
{
	struct sym_result result;

	assert_int_equal(symbolizer_user(p, address, false, &result), 0);
	return result;
}

/* It looks once a second. */
static void wait_for_look(void)
{
	nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 50000000 }, NULL);
}

static void test_jit_names__perf_map(void **state)
{
	struct sym_result r;

	(void)state;
	assert_int_equal(
	        shell("cd '%s/4321/root/tmp' && echo '10000 10 one' > perf-7.map && echo '10000 10 wrong' > "
	              "perf-4321.map",
	              program_dir),
	        0);
	r = ask(CODE + 15);
	assert_int_equal(r.source, SYM_SOURCE_PERF_MAP);
	assert_string_equal(r.frames[0].function, "one");
	assert_null(r.frames[0].file);
	/* It has grown, and in the middle of a line. */
	assert_int_equal(shell("cd '%s/4321/root/tmp' && printf '10100 10 two\\n10000 8 three\\n10200 1' >> "
	                       "perf-7.map",
	                       program_dir),
	                 0);
	assert_int_equal(ask(CODE + 0x100).source, SYM_SOURCE_NONE);
	wait_for_look();
	assert_string_equal(ask(CODE + 0x100).frames[0].function, "two");
	assert_string_equal(ask(CODE + 1).frames[0].function, "three");
	assert_string_equal(ask(CODE + 9).frames[0].function, "one");
	assert_int_equal(ask(CODE + 0x200).source, SYM_SOURCE_NONE);
	assert_int_equal(shell("cd '%s/4321/root/tmp' && printf '0 four\\n' >> perf-7.map", program_dir), 0);
	wait_for_look();
	assert_string_equal(ask(CODE + 0x20f).frames[0].function, "four");
}

static size_t memory_of_all(uint64_t *evictions)
{
	struct symbolizer_stats stats;

	symbolizer_stats(s, &stats);
	*evictions = stats.cache_evictions;
	return stats.memory_bytes;
}

/* Names of 3 MB, 8 MB with their addresses: a quarter of the memory that there may be holds those of one process at a time. */
static void test_jit_names__of_processes_are_bounded(void **state)
{
	size_t before, with_one, with_another;
	struct sym_process *first = p;
	uint64_t evictions;

	(void)state;
	before = memory_of_all(&evictions);
	assert_int_equal(
	        shell("cd '%s/4321/root/tmp' && yes '10000 10 one' | head -c 3000000 > perf-7.map && "
	              "cd ../../.. && cp -r 4321 4322 && sed -i s/one/two/ 4322/root/tmp/perf-7.map",
	              program_dir),
	        0);
	assert_string_equal(ask(CODE).frames[0].function, "one");
	with_one = memory_of_all(&evictions);
	assert_in_range(with_one - before, 3000000, 16 << 20);
	assert_int_equal(evictions, 0);
	p = symbolizer_process(s, 4322, 1);
	assert_int_equal(symbolizer_process_refresh(p), 0);
	assert_string_equal(ask(CODE).frames[0].function, "two");
	with_another = memory_of_all(&evictions);
	assert_in_range(with_another - before, 3000000, with_one - before + 10000);
	assert_int_equal(evictions, 1);
	/* Those of the first are not read again at once, lest each question throws the other's out. */
	p = first;
	assert_int_equal(ask(CODE).source, SYM_SOURCE_NONE);
	wait_for_look();
	assert_int_equal(ask(CODE).source, SYM_SOURCE_NONE);
	memory_of_all(&evictions);
	assert_int_equal(evictions, 1);
}

/* Anybody may put a file into /tmp; only the process's user and root may name its code. */
/* What it told before is known; that the rest is not is counted, once. */
static void test_jit_names__perf_map_that_is_too_large(void **state)
{
	struct symbolizer_stats stats;

	(void)state;
	assert_int_equal(shell("cd '%s/4321/root/tmp' && echo '10000 10 one' > perf-7.map", program_dir), 0);
	assert_string_equal(ask(CODE).frames[0].function, "one");
	for (int i = 1; i < 3; i++) {
		assert_int_equal(
		        shell("cd '%s/4321/root/tmp' && echo '10010 10 two' >> perf-7.map && truncate "
		              "-s %dM perf-7.map",
		              program_dir, 64 + i),
		        0);
		wait_for_look();
		assert_int_equal(ask(CODE + 16).source, SYM_SOURCE_NONE);
	}
	assert_string_equal(ask(CODE).frames[0].function, "one");
	symbolizer_stats(s, &stats);
	assert_int_equal(stats.files_too_large, 1);
}

static void test_jit_names__perf_map_of_another(void **state)
{
	(void)state;
	need_user_root("it gives a file away");
	assert_int_equal(shell("cd '%s/4321/root/tmp' && echo '10000 10 planted' > perf-7.map && chown 65534 "
	                       "perf-7.map",
	                       program_dir),
	                 0);
	assert_int_equal(ask(CODE).source, SYM_SOURCE_NONE);
	assert_int_equal(shell("chown 0 '%s/4321/root/tmp/perf-7.map'", program_dir), 0);
	wait_for_look();
	assert_string_equal(ask(CODE).frames[0].function, "planted");
	assert_int_equal(shell("cd '%s/4321' && printf 'Uid:\\t0\\t1234\\t0\\t0\\nNSpid:\\t4321\\t7\\n' > "
	                       "status && cd root/tmp && "
	                       "echo '10000 100 own' > perf-7.map && chown 1234 perf-7.map",
	                       program_dir),
	                 0);
	wait_for_look();
	assert_string_equal(ask(CODE).frames[0].function, "own");
}

/* It was there before the process began, which has the pid of the one that wrote it. */
static void test_jit_names__perf_map_that_is_older(void **state)
{
	(void)state;
	assert_int_equal(shell("cd '%s/4321/root/tmp' && echo '10000 10 former' > perf-7.map && touch -d @1 "
	                       "perf-7.map",
	                       program_dir),
	                 0);
	assert_int_equal(ask(CODE).source, SYM_SOURCE_NONE);
	assert_int_equal(shell("echo '10000 10 own' > '%s/4321/root/tmp/perf-7.map'", program_dir), 0);
	wait_for_look();
	assert_string_equal(ask(CODE).frames[0].function, "own");
}

static void write_jitdump(const struct jitdump_writer *w, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/4321/root/%s", program_dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, w->bytes, w->len), w->len);
	close(fd);
}

/* The maps say that a page of it is executable. */
static void map_jitdump(const char *name, int start)
{
	assert_int_equal(shell("cd '%s/4321' && echo \"%x-%x r-xp 00000000 00:01 $(stat -c %%i "
	                       "root/%s) /%s\" >> maps",
	                       program_dir, start, start + 0x1000, name, name),
	                 0);
	assert_int_equal(symbolizer_process_refresh(p), 0);
}

static void test_jit_names__jitdump(void **state)
{
	struct jitdump_writer w = { .len = 0 };
	struct symbolizer_stats stats;
	struct sym_result r;

	(void)state;
	jitdump_put_header(&w, 0x4a695444, EM_X86_64);
	jitdump_begin_lines(&w, CODE, 1);
	jitdump_put_line(&w, CODE, 42, "/src/f.js");
	jitdump_end(&w);
	jitdump_put_load(&w, "f", CODE, 0x20);
	write_jitdump(&w, "jit-7.dump");
	w.len = 40;
	jitdump_put_load(&w, "its parent's", CODE, 0x20);
	write_jitdump(&w, "jit-6.dump");
	write_jitdump(&w, "jit-8.dump");
	assert_int_equal(shell("echo '10000 100 by the map' > '%s/4321/root/tmp/perf-7.map'", program_dir),
	                 0);
	map_jitdump("jit-6.dump", 0x30000);
	map_jitdump("jit-7.dump", 0x31000);
	map_jitdump("jit-8.dump", 0x32000);
	r = ask(CODE + 1);
	assert_int_equal(r.source, SYM_SOURCE_JITDUMP);
	assert_string_equal(r.frames[0].function, "f");
	assert_string_equal(r.frames[0].file, "/src/f.js");
	assert_int_equal(r.frames[0].line, 42);
	assert_string_equal(ask(CODE + 0x30).frames[0].function, "by the map");
	symbolizer_stats(s, &stats);
	assert_int_equal(stats.results[SYM_SOURCE_JITDUMP], 1);
	/* What was read stays when the process has gone. */
	symbolizer_process_exit(p);
	assert_int_equal(shell("rm -r '%s/4321'", program_dir), 0);
	wait_for_look();
	assert_string_equal(ask(CODE + 1).frames[0].function, "f");
	symbolizer_process_exec(p);
	assert_int_equal(ask(CODE + 1).source, SYM_SOURCE_NONE);
}

/* A program may map what it likes under such a name. */
static void test_jit_names__no_jitdump(void **state)
{
	struct jitdump_writer w = { .len = 0 };

	(void)state;
	alarm(20);
	assert_int_equal(shell("mkfifo '%s/4321/root/jit-1.dump'", program_dir), 0);
	map_jitdump("jit-1.dump", 0x30000);
	assert_int_equal(ask(CODE).source, SYM_SOURCE_NONE);
	jitdump_put_header(&w, 0x4a695444, EM_X86_64);
	jitdump_put_load(&w, "f", CODE, 0x20);
	write_jitdump(&w, "jit-2.txt");
	map_jitdump("jit-2.txt", 0x31000);
	wait_for_look();
	assert_int_equal(ask(CODE).source, SYM_SOURCE_NONE);
	if (!geteuid()) {
		write_jitdump(&w, "jit-3.dump");
		assert_int_equal(shell("chown 65534 '%s/4321/root/jit-3.dump'", program_dir), 0);
		map_jitdump("jit-3.dump", 0x32000);
		wait_for_look();
		assert_int_equal(ask(CODE).source, SYM_SOURCE_NONE);
	}
	alarm(0);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, make_process, remove_process)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_jit_names__perf_map),
		WITH(test_jit_names__perf_map_that_is_too_large),
		WITH(test_jit_names__of_processes_are_bounded),
		WITH(test_jit_names__perf_map_of_another),
		WITH(test_jit_names__perf_map_that_is_older),
		WITH(test_jit_names__jitdump),
		WITH(test_jit_names__no_jitdump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
