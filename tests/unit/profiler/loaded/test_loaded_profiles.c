/* Tests of loaded_profiles.h: which files `top` loads, and what it says of bad ones. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pprof/pprof_file.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/loaded/loaded_profiles.h"

static const struct profile_value_type delay = { "delay", "nanoseconds" }, cpu = { "cpu", "nanoseconds" };

static struct profile *bare_profile(struct profile_value_type type)
{
	struct profile *p = profile_new(&type, 1, type, 1, 1 << 20);
	const int64_t location = profile_location(p, 0, 0x10, NULL, 0), value = 30;

	assert_int_equal(profile_add_sample(p, &location, 1, &value, NULL, 0), 0);
	return p;
}

/* With a ledger of 100 ns and 2 ring drops. */
static struct profile *recorded(uint64_t first_ns)
{
	struct profile *p = bare_profile(delay);
	struct ledger *ledger = ledger_new(0);
	struct stamp *stamp = stamp_new();
	struct ledger_row row = { .tag = (char *)"t", .state = LEDGER_BLOCKED, .ns = 100, .count = 1 };

	profile_set_time(p, (int64_t)first_ns, 100);
	assert_int_equal(ledger_add(ledger, &row), 0);
	assert_int_equal(stamp_add_window(stamp, first_ns, first_ns + 100), 0);
	assert_int_equal(stamp_add_counter(stamp, "ring_drops", 2), 0);
	assert_int_equal(stamp_to_notes(stamp, p), 0);
	assert_int_equal(ledger_to_notes(ledger, p), 0);
	ledger_free(ledger);
	stamp_free(stamp);
	return p;
}

/* A directory with files, which tear_down removes. */
struct directory {
	char path[32];
	char *files[16];
	size_t count;
};

static int set_up(void **state)
{
	struct directory *directory = calloc(1, sizeof(*directory));

	snprintf(directory->path, sizeof(directory->path), "/tmp/stallprof-top-XXXXXX");
	assert_non_null(mkdtemp(directory->path));
	*state = directory;
	return 0;
}

static int tear_down(void **state)
{
	struct directory *directory = *state;

	for (size_t i = 0; i < directory->count; i++) {
		unlink(directory->files[i]);
		free(directory->files[i]);
	}
	assert_int_equal(rmdir(directory->path), 0);
	free(directory);
	return 0;
}

static char *write_profile(struct directory *directory, const char *name, struct profile *p)
{
	char *path = NULL, err[256] = "";

	assert_true(asprintf(&path, "%s/%s", directory->path, name) > 0);
	directory->files[directory->count++] = path;
	if (pprof_file_write(path, p, 0, err, sizeof(err)))
		fail_msg("%s", err);
	profile_free(p);
	return path;
}

static void test_loaded_profiles__a_directory_is_summed(void **state)
{
	struct directory *directory = *state;
	struct profile_sample_view sample;
	struct loaded_profiles input;
	char err[256] = "", *paths[] = { directory->path };

	write_profile(directory, "a.pb.gz", recorded(1000));
	write_profile(directory, "b.pb.gz", recorded(2000));
	write_profile(directory, "c.other", recorded(3000));
	if (loaded_profiles_load(&input, paths, 1, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(input.files, 2);
	assert_int_equal(input.foreign_files, 0);
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 200);
	assert_int_equal(stamp_counter(input.stamp, "ring_drops"), 4);
	assert_int_equal(stamp_coverage(input.stamp).windows, 2);
	assert_true(profile_get_sample(input.profile, 0, &sample));
	assert_int_equal(sample.values[0], 60);
	loaded_profiles_release(&input);
}

/* A copy among them does not count a second time. */
static void test_loaded_profiles__a_copy(void **state)
{
	struct directory *directory = *state;
	struct loaded_profiles input;
	char err[256] = "", *paths[] = { directory->path };

	write_profile(directory, "a.pb.gz", recorded(1000));
	write_profile(directory, "b.pb.gz", recorded(2000));
	write_profile(directory, "copy.pb.gz", recorded(1000));
	if (loaded_profiles_load(&input, paths, 1, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(input.files, 2);
	assert_int_equal(input.overlaps.twice, 1);
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 200);
	assert_int_equal(stamp_coverage(input.stamp).covered_ns, 200);
	loaded_profiles_release(&input);
}

/* One file that was cut short costs that window, not the others; where there is no other it is an error. */
static void test_loaded_profiles__a_directory_with_a_cut_file(void **state)
{
	struct directory *directory = *state;
	char err[512] = "", *paths[] = { directory->path };
	char *cut = write_profile(directory, "a.pb.gz", recorded(1000));
	struct loaded_profiles input;

	assert_int_equal(truncate(cut, 50), 0);
	assert_int_equal(loaded_profiles_load(&input, paths, 1, err, sizeof(err)), -EBADMSG);
	assert_non_null(strstr(err, "a.pb.gz"));
	write_profile(directory, "b.pb.gz", recorded(2000));
	if (loaded_profiles_load(&input, paths, 1, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(input.files, 1);
	assert_int_equal(input.unreadable_files, 1);
	assert_non_null(strstr(input.unreadable, "a.pb.gz"));
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 100);
	loaded_profiles_release(&input);
}

/* One that another version wrote, and one of another program. */
static void test_loaded_profiles__a_directory_with_files_of_others(void **state)
{
	struct directory *directory = *state;
	char err[512] = "", *paths[] = { directory->path };
	struct profile *newer = recorded(1);
	struct loaded_profiles input;

	assert_int_equal(profile_add_note(newer, "stallprof.format 3"), 0);
	write_profile(directory, "a.pb.gz", newer);
	assert_int_equal(loaded_profiles_load(&input, paths, 1, err, sizeof(err)), -EBADMSG);
	assert_non_null(strstr(err, "another version"));
	write_profile(directory, "b.pb.gz", bare_profile(cpu)); /* which would be the first */
	write_profile(directory, "stallprof-2.pb.gz", recorded(2000));
	if (loaded_profiles_load(&input, paths, 1, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(input.files, 1);
	assert_int_equal(input.unreadable_files, 2);
	assert_non_null(strstr(input.unreadable, "a.pb.gz"));
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 100);
	loaded_profiles_release(&input);
}

/* Nor does the same file given twice, by whatever path. */
static void test_loaded_profiles__a_file_given_twice(void **state)
{
	struct directory *directory = *state;
	char err[256] = "", *path = write_profile(directory, "a.pb.gz", recorded(1000)),
	     *paths[] = { path, path, directory->path };
	struct loaded_profiles input;

	assert_int_equal(loaded_profiles_load(&input, paths, 3, err, sizeof(err)), 0);
	assert_int_equal(input.overlaps.twice, 2);
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 100);
	loaded_profiles_release(&input);
}

static void test_loaded_profiles__profiles_of_others(void **state)
{
	struct directory *directory = *state;
	char err[256] = "", *paths[2];
	struct loaded_profiles input;

	paths[0] = write_profile(directory, "a", recorded(1000));
	paths[1] = write_profile(directory, "b", bare_profile(delay));
	assert_int_equal(loaded_profiles_load(&input, paths, 2, err, sizeof(err)), 0);
	assert_int_equal(input.files, 2);
	assert_int_equal(input.foreign_files, 1);
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 100);
	loaded_profiles_release(&input);
}

static void refuse(char *first, char *second, int reason, const char *expected)
{
	char *paths[] = { first, second }, err[512] = "";
	struct loaded_profiles input;
	int result = loaded_profiles_load(&input, paths, second ? 2 : 1, err, sizeof(err));

	if (result != reason || !strstr(err, expected) || strchr(err, '\n'))
		fail_msg("%s: %d: %s", first, result, err);
}

/* Counts the files, and remembers when the last one began. */
struct seen {
	size_t files;
	int64_t began_ns;
	int result;
};

static int see(void *context, const struct loaded_profiles *file)
{
	struct seen *seen = context;

	assert_int_equal(file->files, 1);
	assert_int_equal(ledger_wall_ns(file->ledger, NULL), 100);
	seen->files++;
	seen->began_ns = profile_time_ns(file->profile);
	return seen->result;
}

static void test_loaded_profiles__each_file_is_seen(void **state)
{
	struct directory *directory = *state;
	char *paths[] = { directory->path }, err[512] = "";
	struct loaded_profiles input;
	struct seen seen = { 0 };
	const struct loaded_options options = { .see = see, .context = &seen };

	write_profile(directory, "a.pb.gz", recorded(1000));
	write_profile(directory, "b.pb.gz", recorded(2000));
	assert_int_equal(loaded_profiles_load_as(&input, paths, 1, &options, err, sizeof(err)), 0);
	assert_int_equal(seen.files, 2);
	assert_int_equal(seen.began_ns, 2000);
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 200);
	loaded_profiles_release(&input);
	seen = (struct seen){ .result = -EOVERFLOW };
	assert_int_equal(loaded_profiles_load_as(&input, paths, 1, &options, err, sizeof(err)), -EOVERFLOW);
	assert_int_equal(seen.files, 1);
	assert_non_null(strstr(err, "a.pb.gz: Value too large"));
}

/* --- a directory that is too much ------------------------------------------------------------------------ */

#define WINDOWS     12
#define STACK_BYTES (64 * 1024) /* of a window's samples, about */

/* A window with stacks of its own, and so many bytes of notes. */
static void write_window(struct directory *directory, unsigned number, size_t notes)
{
	struct profile *p = recorded(1000 * (number + 1));
	char name[64], note[1024];

	for (size_t i = 0; i < STACK_BYTES / 256; i++) {
		const int64_t location = profile_location(p, 0, 0x1000 + number * 0x10000 + i, NULL, 0),
		              value = 1;

		assert_int_equal(profile_add_sample(p, &location, 1, &value, NULL, 0), 0);
	}
	memset(note, 'n', sizeof(note));
	note[sizeof(note) - 1] = '\0';
	for (size_t i = 0; i < notes / sizeof(note); i++)
		assert_int_equal(profile_add_note(p, note), 0);
	snprintf(name, sizeof(name), "stallprof-%02u.pb.gz", number);
	write_profile(directory, name, p);
}

static size_t bytes_of_all(char *folder)
{
	char err[512] = "";
	struct loaded_profiles input;
	size_t bytes;

	if (loaded_profiles_load(&input, &folder, 1, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(input.files, WINDOWS);
	assert_string_equal(input.left_out, "");
	bytes = profile_bytes(input.profile);
	loaded_profiles_release(&input);
	return bytes;
}

/* Where the sum outgrows its bound, the newest windows are summed, nothing counts the others, and a line says so. */
static void test_loaded_profiles__a_directory_that_is_too_much(void **state)
{
	struct directory *directory = *state;
	char *paths[] = { directory->path }, err[512] = "";
	struct loaded_options options = { .max_bytes = 0 };
	struct loaded_profiles input;
	size_t all;

	for (unsigned i = 0; i < WINDOWS; i++)
		write_window(directory, i, 0);
	all = bytes_of_all(directory->path);
	options.max_bytes = all / 2;
	if (loaded_profiles_load_as(&input, paths, 1, &options, err, sizeof(err)))
		fail_msg("%s", err);
	assert_in_range(input.files, WINDOWS / 4, WINDOWS / 2 + 1);
	assert_int_equal(ledger_wall_ns(input.ledger, NULL), 100 * input.files);
	assert_int_equal(stamp_coverage(input.stamp).windows, input.files);
	assert_int_equal(stamp_coverage(input.stamp).last_ns, 1000 * WINDOWS + 100);
	assert_int_equal(profile_duration_ns(input.profile), 100 * input.files);
	snprintf(err, sizeof(err), "the oldest %zu of %u files are left out", WINDOWS - input.files, WINDOWS);
	assert_memory_equal(input.left_out, err, strlen(err));
	assert_non_null(strstr(input.left_out, "take more memory than profiles may"));
	loaded_profiles_release(&input);
	/* Files that were named are all wanted. */
	assert_int_equal(
	        loaded_profiles_load_as(&input, directory->files, WINDOWS, &options, err, sizeof(err)),
	        -ENOSPC);
	assert_non_null(strstr(err, "more memory than profiles may"));
	assert_null(strstr(err, "No space"));
}

/* Nobody reads the notes of a sum. */
static void test_loaded_profiles__notes_take_no_memory(void **state)
{
	struct directory *directory = *state;
	size_t most;

	for (unsigned i = 0; i < WINDOWS; i++)
		write_window(directory, i, 1 << 17);
	most = bytes_of_all(directory->path);
	assert_in_range(most, WINDOWS * STACK_BYTES / 8, 2 * WINDOWS * STACK_BYTES);
}

/* Has room for so many files. */
struct room {
	size_t files, taken, times;
};

static int take_room(void *context, const struct loaded_profiles *file)
{
	struct room *room = context;

	if (file)
		return room->taken++ == room->files ? -ENOSPC : 0;
	room->taken = 0;
	room->times++;
	return 0;
}

/* Whoever sees the files may have too little room, too, and forgets those that it saw before. */
static void test_loaded_profiles__too_much_for_who_sees_it(void **state)
{
	struct directory *directory = *state;
	char *paths[] = { directory->path }, err[512] = "";
	struct room room = { .files = 5 };
	const struct loaded_options options = { .see = take_room, .context = &room };
	struct loaded_profiles input;

	for (unsigned i = 0; i < WINDOWS; i++)
		write_window(directory, i, 0);
	if (loaded_profiles_load_as(&input, paths, 1, &options, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(input.files, 5);
	assert_int_equal(room.taken, 5);
	assert_int_equal(room.times, 1);
	assert_int_equal(stamp_coverage(input.stamp).last_ns, 1000 * WINDOWS + 100);
	loaded_profiles_release(&input);
	room = (struct room){ .files = 0 };
	assert_int_equal(loaded_profiles_load_as(&input, paths, 1, &options, err, sizeof(err)), -ENOSPC);
	assert_non_null(strstr(err, "more memory than profiles may"));
}

static void test_loaded_profiles__what_does_not_load(void **state)
{
	struct directory *directory = *state;
	struct profile *newer = recorded(1);
	char *good = write_profile(directory, "good", recorded(1)), *path;

	refuse((char *)"/nonexistent.pb.gz", NULL, -ENOENT, "/nonexistent.pb.gz: No such file");
	refuse(directory->path, NULL, -ENOENT, "no *.pb.gz in this directory");
	refuse((char *)"/etc/passwd", NULL, -EBADMSG, "/etc/passwd");
	refuse(good, write_profile(directory, "odd", bare_profile(cpu)), -EINVAL,
	       "odd: does not go together");
	assert_int_equal(profile_add_note(newer, "stallprof.format 3"), 0);
	path = write_profile(directory, "newer", newer);
	refuse(path, NULL, -EPROTONOSUPPORT, "newer: written by another version of stallprof");
	assert_int_equal(truncate(good, 50), 0);
	refuse(good, NULL, -EBADMSG, "good");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_loaded_profiles__a_directory_is_summed, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__a_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__a_directory_with_a_cut_file, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__a_directory_with_files_of_others,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__a_file_given_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__profiles_of_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__each_file_is_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__a_directory_that_is_too_much, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__notes_take_no_memory, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__too_much_for_who_sees_it, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(test_loaded_profiles__what_does_not_load, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
