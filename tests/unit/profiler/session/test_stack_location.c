/* Tests of stack_location.h: addresses lie in their mappings, as their files are linked. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pprof/profile.h"
#include "profiler/session/stack_location.h"
#include "symbolizer/symbolizer.h"

/* Of a function of this program, by nm. */
static uint64_t linked_address(const char *name)
{
	char command[256], line[256];
	uint64_t address = 0;
	FILE *nm;

	snprintf(command, sizeof(command), "nm /proc/%d/exe", (int)getpid());
	nm = popen(command, "r");
	while (nm && fgets(line, sizeof(line), nm)) {
		line[strcspn(line, "\n")] = '\0';
		if (strrchr(line, ' ') && !strcmp(strrchr(line, ' ') + 1, name))
			address = strtoull(line, NULL, 16);
	}
	assert_int_equal(nm ? pclose(nm) : -1, 0);
	return address;
}

__attribute__((noinline, noclone)) int here_at_last(void)
{
	__asm__("");
	return 1;
}

static struct profile *new_profile(void)
{
	const struct profile_value_type type = { "time", "nanoseconds" };

	return profile_new(&type, 1, type, 1, SIZE_MAX);
}

static void assert_in_mapping(const struct profile *p, int64_t id, uint64_t address)
{
	const struct profile_mapping_view *mapping;
	struct profile_location_view location;

	assert_true(profile_get_location(p, id, &location));
	mapping = profile_get_mapping(p, location.mapping_id);
	assert_non_null(mapping);
	assert_true(location.address == address);
	assert_true(mapping->start <= address && address < mapping->limit);
}

static void test_stack_location__as_linked(void **state)
{
	struct symbolizer *s = symbolizer_new(NULL);
	struct sym_process *self = symbolizer_process(s, (uint32_t)getpid(), 1);
	uint64_t linked = linked_address("here_at_last"), pc = (uintptr_t)here_at_last;
	struct profile *p = new_profile();
	struct sym_result result;
	int64_t id;

	(void)state;
	assert_int_equal(symbolizer_process_refresh(self), 0);
	assert_true(linked && (linked & 4095) == (pc & 4095));
	assert_int_equal(symbolizer_user(self, pc, false, &result), 0);
	id = stack_location(p, &result);
	assert_true(id > 0);
	assert_in_mapping(p, id, linked);
	/* An address of nothing that is mapped is in no mapping. */
	symbolizer_user(self, 16, false, &result);
	assert_null(result.module);
	assert_true(stack_location(p, &result) > 0);
	assert_int_equal(profile_n_mappings(p), 1);
	profile_free(p);
	symbolizer_free(s);
}

/* A file that cannot be read has the addresses that the process has. */
static void test_stack_location__unknown_file(void **state)
{
	struct symbolizer *s = symbolizer_new(NULL);
	struct sym_process *gone = symbolizer_process(s, 4194305, 1);
	struct profile *p = new_profile();
	struct sym_result result;

	(void)state;
	symbolizer_process_exit(gone);
	assert_int_equal(symbolizer_process_map(gone, 0x7000, 0x9000, 0x3000, 0, 0, 0, "/no/such/file"), 0);
	symbolizer_user(gone, 0x8010, false, &result);
	assert_in_mapping(p, stack_location(p, &result), 0x8010);
	profile_free(p);
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_location__as_linked),
		cmocka_unit_test(test_stack_location__unknown_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
