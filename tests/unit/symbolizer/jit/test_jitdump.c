/* Tests of jitdump.h: growing, overlapping and broken files. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolizer/jit/jitdump.h"
#include "tests/unit/jitdump_writer.h"

#define MAGIC 0x4a695444u

static struct jitdump_writer w;

static int write_all(int fd)
{
	assert_true(w.len <= sizeof(w.bytes));
	assert_int_equal(pwrite(fd, w.bytes, w.len, 0), w.len);
	return fd;
}

static int new_file(void)
{
	return write_all(memfd_create("jitdump", MFD_CLOEXEC));
}

static void assert_function(struct jitdump *j, uint64_t address, const char *function)
{
	struct jitdump_hit hit;

	if (jitdump_find(j, address, &hit) != (function != NULL))
		fail_msg("%#lx", (unsigned long)address);
	if (function)
		assert_string_equal(hit.function, function);
}

static void assert_line(struct jitdump *j, uint64_t address, const char *file, uint32_t line)
{
	struct jitdump_hit hit;

	assert_true(jitdump_find(j, address, &hit));
	assert_int_equal(hit.line, line);
	if (!file)
		assert_null(hit.file);
	else
		assert_string_equal(hit.file ? hit.file : "none", file);
}

static void test_jitdump__grows(void **state)
{
	struct jitdump *j;
	size_t whole;
	int fd;

	(void)state;
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	fd = new_file();
	assert_int_equal(jitdump_new(dup(fd), &j), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_function(j, 0x1000, NULL);
	jitdump_put_load(&w, "first", 0x1000, 0x20);
	jitdump_put_load(&w, "second", 0x2000, 0x20);
	whole = w.len;
	w.len = whole - 1; /* the last byte of its code is not there yet */
	write_all(fd);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_function(j, 0x0fff, NULL);
	assert_function(j, 0x1000, "first");
	assert_function(j, 0x101f, "first");
	assert_function(j, 0x1020, NULL);
	assert_function(j, 0x2000, NULL);
	w.len = whole;
	write_all(fd);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_function(j, 0x2010, "second");
	assert_function(j, 0x1000, "first");
	jitdump_free(j);
	close(fd);
}

/* Names that come between, at the place of, and behind those that were there. */
static void test_jitdump__grows_in_the_middle(void **state)
{
	struct jitdump *j;
	int fd;

	(void)state;
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	jitdump_put_load(&w, "b", 0x2000, 0x20);
	jitdump_put_load(&w, "d", 0x4000, 0x20);
	fd = new_file();
	assert_int_equal(jitdump_new(dup(fd), &j), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	jitdump_put_load(&w, "e", 0x5000, 0x20);
	jitdump_put_load(&w, "a", 0x1000, 0x20);
	jitdump_put_load(&w, "c", 0x3000, 0x20);
	jitdump_put_load(&w, "not b", 0x2000, 0x10);
	write_all(fd);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_function(j, 0x1000, "a");
	assert_function(j, 0x200f, "not b");
	assert_function(j, 0x2010, NULL);
	assert_function(j, 0x3000, "c");
	assert_function(j, 0x4000, "d");
	assert_function(j, 0x5000, "e");
	jitdump_free(j);
	close(fd);
}

static void test_jitdump__later_records_win(void **state)
{
	struct jitdump *j;

	(void)state;
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	jitdump_put_load(&w, "old", 0x1000, 0x100);
	jitdump_put_load(&w, "inside", 0x1040, 0x20);
	jitdump_put_load(&w, "new", 0x1000, 0x20);
	jitdump_begin(&w, 4); /* of a kind that is not read, or not known yet */
	jitdump_put(&w, "something", 9);
	jitdump_end(&w);
	jitdump_put_move(&w, 0x1040, 0x3000, 0x20);
	jitdump_put_move(&w, 0x7777, 0x4000, 0x20);
	jitdump_put_load(&w, "after", 0x1040, 0x10);
	jitdump_begin(&w, 3);
	jitdump_end(&w);
	jitdump_put_load(&w, "behind the end", 0x5000, 0x20);
	assert_int_equal(jitdump_new(new_file(), &j), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_function(j, 0x1010, "new");
	assert_function(j, 0x1045, "after");
	assert_function(j, 0x1055, NULL); /* other code was there; now it is nobody's */
	assert_function(j, 0x3010, "inside");
	assert_function(j, 0x4000, NULL);
	assert_function(j, 0x5000, NULL);
	jitdump_free(j);
}

/* It is no name for a frame, but what was there before has gone. */
static void test_jitdump__empty_name(void **state)
{
	struct jitdump *j;

	(void)state;
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	jitdump_put_load(&w, "old", 0x1000, 0x20);
	jitdump_put_load(&w, "", 0x1000, 0x10);
	jitdump_put_load(&w, "f", 0x2000, 0x20);
	assert_int_equal(jitdump_new(new_file(), &j), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_function(j, 0x1000, NULL);
	assert_function(j, 0x2000, "f");
	jitdump_free(j);
}

static void test_jitdump__lines(void **state)
{
	struct jitdump *j;

	(void)state;
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	jitdump_begin_lines(&w, 0x1000, 4);
	jitdump_put_line(&w, 0x1004, 10, "/a.c");
	jitdump_put_line(&w, 0x1008, 11, "\xff");
	jitdump_put_line(&w, 0x1010, 5, "/b.h");
	jitdump_put_line(&w, 0x1018, 12, "\xff");
	jitdump_end(&w);
	jitdump_put_load(&w, "f", 0x1000, 0x20);
	jitdump_put_load(&w, "without", 0x2000, 0x20);
	jitdump_begin_lines(&w, 0x3000, 1);
	jitdump_put_line(&w, 0x3040, 7, "/c.js"); /* as V8 counts */
	jitdump_end(&w);
	jitdump_put_load(&w, "JS:*g", 0x3000, 0x20);
	jitdump_begin_lines(&w, 0x9000, 1); /* of another function than the next */
	jitdump_put_line(&w, 0x4000, 7, "/d.js");
	jitdump_end(&w);
	jitdump_put_load(&w, "h", 0x4000, 0x20);
	assert_int_equal(jitdump_new(new_file(), &j), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_line(j, 0x1000, NULL, 0);
	assert_line(j, 0x1007, "/a.c", 10);
	assert_line(j, 0x1008, "/a.c", 11);
	assert_line(j, 0x1017, "/b.h", 5);
	assert_line(j, 0x101f, "/b.h", 12);
	assert_line(j, 0x2000, NULL, 0);
	assert_line(j, 0x3001, "/c.js", 7);
	assert_line(j, 0x4001, NULL, 0);
	jitdump_free(j);
}

/* Names with NULs in them, as node 20 writes: better no line than a wrong one. */
static void test_jitdump__broken_lines(void **state)
{
	struct jitdump *j;

	(void)state;
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	jitdump_begin_lines(&w, 0x1000, 2);
	jitdump_put_line(&w, 0x1000, 10, "/a.c");
	jitdump_put(&w, "junk of any kind", 17);
	jitdump_put_line(&w, 0x1008, 11, "/a.c");
	jitdump_end(&w);
	jitdump_put_load(&w, "f", 0x1000, 0x20);
	jitdump_begin_lines(&w, 0x2000, UINT64_MAX); /* more than there are */
	jitdump_put_line(&w, 0x2000, 10, "/a.c");
	jitdump_end(&w);
	jitdump_put_load(&w, "g", 0x2000, 0x20);
	assert_int_equal(jitdump_new(new_file(), &j), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_line(j, 0x1001, NULL, 0);
	assert_line(j, 0x2001, NULL, 0);
	jitdump_free(j);
}

static void test_jitdump__refused(void **state)
{
	struct jitdump *j = NULL;

	(void)state;
	jitdump_put_header(&w, 0x4454694a, EM_X86_64);
	assert_int_equal(jitdump_new(new_file(), &j), -EBADMSG);
	jitdump_put_header(&w, MAGIC, EM_SPARC);
	assert_int_equal(jitdump_new(new_file(), &j), -EBADMSG);
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	w.len = 39;
	assert_int_equal(jitdump_new(new_file(), &j), -EBADMSG);
	assert_int_equal(jitdump_new(-1, &j), -EBADF);
}

/* Each of these ends the reading; what was read before stays. */
static void test_jitdump__nonsense(void **state)
{
	struct jitdump *j;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		jitdump_put_header(&w, MAGIC, EM_X86_64);
		jitdump_put_load(&w, "good", 0x1000, 0x20);
		jitdump_put_load(&w, "bad", i == 0 ? UINT64_MAX : 0x2000, 0x20);
		if (i == 1)
			memcpy(w.bytes + w.record, "\x09\0\0\0\0\0\0", 8); /* no size: it would never end */
		if (i == 2)
			w.bytes[w.record + 16 + 4 + 4 + 8 + 8 + 1] =
			        0xff; /* more code than the record holds */
		if (i == 3)
			w.bytes[w.record] = 1; /* a move, by chance */
		if (i == 3)
			w.bytes[w.record + 4] = 20; /* too short for one */
		jitdump_put_load(&w, "later", 0x3000, 0x1800);
		assert_int_equal(jitdump_new(new_file(), &j), 0);
		assert_int_equal(jitdump_refresh(j), -EBADMSG);
		assert_function(j, 0x1000, "good");
		assert_function(j, 0x2000, NULL);
		assert_function(j, 0x3000, NULL);
		assert_int_equal(jitdump_refresh(j), 0);
		jitdump_free(j);
	}
}

/* A file that is cut short while it is read has nothing more to tell. */
static void test_jitdump__cut_short(void **state)
{
	struct jitdump *j;
	int fd;

	(void)state;
	jitdump_put_header(&w, MAGIC, EM_X86_64);
	jitdump_begin_lines(&w, 0x1000, 1);
	jitdump_put_line(&w, 0x1000, 10, "/a.c");
	jitdump_end(&w);
	jitdump_put_load(&w, "f", 0x1000, 0x20);
	fd = new_file();
	assert_int_equal(jitdump_new(dup(fd), &j), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	assert_function(j, 0x1000, "f");
	assert_line(j, 0x1000, NULL, 0);
	jitdump_free(j);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jitdump__grows),
		cmocka_unit_test(test_jitdump__grows_in_the_middle),
		cmocka_unit_test(test_jitdump__later_records_win),
		cmocka_unit_test(test_jitdump__empty_name),
		cmocka_unit_test(test_jitdump__lines),
		cmocka_unit_test(test_jitdump__broken_lines),
		cmocka_unit_test(test_jitdump__refused),
		cmocka_unit_test(test_jitdump__nonsense),
		cmocka_unit_test(test_jitdump__cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
