/* Tests of file_gate.h, and of those who ask it: files in /dev/shm, which has no block device, and a gate of the test's own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbolizer/base/file_gate.h"
#include "symbolizer/base/regular_file.h"
#include "symbolizer/symbolizer.h"

#define MEMORY "/dev/shm"

struct asked {
	bool answer;
	unsigned int times;
	uint64_t dev;
	char path[256];
};

static bool answers(void *ctx, uint64_t dev, const char *path)
{
	struct asked *asked = ctx;

	asked->times++;
	asked->dev = dev;
	snprintf(asked->path, sizeof(asked->path), "%s", path);
	return asked->answer;
}

static struct asked asked;
static const struct file_gate gate = { .answers = answers, .ctx = &asked };

static int begin(void **state)
{
	(void)state;
	asked = (struct asked){ .answer = false };
	file_gate_set(&gate);
	return 0;
}

static int end(void **state)
{
	(void)state;
	file_gate_set(NULL);
	return 0;
}

static uint64_t device_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_dev;
}

static void check_asked(const char *root, const char *path, const char *whole)
{
	asked.times = 0;
	assert_false(file_gate_path(root, path));
	assert_int_equal(asked.times, 1);
	assert_true(asked.dev == device_of(MEMORY));
	assert_string_equal(asked.path, whole);
}

static void test_file_gate__paths(void **state)
{
	char link[64];
	int fd = open(MEMORY, O_PATH | O_CLOEXEC);

	(void)state;
	check_asked("", MEMORY, MEMORY);
	check_asked("", MEMORY "/no/such/file", MEMORY "/no/such/file"); /* by the folder that is there */
	check_asked("/proc/self/root", MEMORY "/none", "/proc/self/root" MEMORY "/none");
	check_asked("", "/proc/self/root" MEMORY "/none", "/proc/self/root" MEMORY "/none");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	check_asked("", link, link);
	close(fd);
}

/* Of what has a block device nobody is asked; nor of what cannot be found. */
static void test_file_gate__not_asked(void **state)
{
	(void)state;
	assert_true(file_gate_fd(0, makedev(8, 1)));
	assert_true(file_gate_path("", "/proc/self/fd/99999"));
	assert_true(file_gate_path("", "no/absolute/path"));
	assert_true(file_gate_path("/proc/4194305/root", MEMORY));
	assert_int_equal(asked.times, 0);
	file_gate_set(NULL);
	assert_true(file_gate_path("", MEMORY));
	assert_true(file_gate_fd(0, device_of(MEMORY)));
}

static void copy_program(const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), to);
	assert_int_equal(system(command), 0);
}

static void test_file_gate__opening(void **state)
{
	char path[] = MEMORY "/file-gate-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(regular_file_open(path, 0), -EAGAIN);
	asked.answer = true;
	close(fd);
	fd = regular_file_open(path, 0);
	assert_true(fd >= 0);
	asked.answer = false;
	assert_false(file_gate_fd(fd, device_of(path)));
	close(fd);
	unlink(path);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* What cannot be closed now is closed with the next that can. */
static void test_file_gate__closing(void **state)
{
	int first = open(MEMORY, O_RDONLY | O_CLOEXEC), second = open(MEMORY, O_RDONLY | O_CLOEXEC),
	    third = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	file_gate_close(first);
	file_gate_close(second);
	assert_true(is_open(first) && is_open(second));
	asked.answer = true;
	file_gate_close(third);
	assert_false(is_open(first) || is_open(second) || is_open(third));
	/* Once: their numbers are those of other files by now. */
	first = open(MEMORY, O_RDONLY | O_CLOEXEC);
	second = open(MEMORY, O_RDONLY | O_CLOEXEC);
	file_gate_close(second);
	assert_true(is_open(first) && !is_open(second));
	file_gate_close(first);
}

__attribute__((noinline)) static void marked_function(void)
{
	__asm__ volatile("nop");
}

/* Where in the file the function is. */
static uint64_t offset_of(const void *function)
{
	uint64_t address = (uint64_t)(uintptr_t)function, start, last, offset, found = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &last, &offset) == 3 && address >= start &&
		    address < last)
			found = address - start + offset;
	fclose(maps);
	assert_true(found);
	return found;
}

static const char *name_of(struct sym_process *process, uint64_t address)
{
	struct sym_result result;

	assert_int_equal(symbolizer_user(process, address, false, &result), 0);
	return result.frames[0].function;
}

static const char *wait_for_name(struct sym_process *process, uint64_t address)
{
	const char *name = name_of(process, address);

	for (int i = 0; i < 100 && strcmp(name, "marked_function") != 0; i++) {
		usleep(50000);
		name = name_of(process, address);
	}
	return name;
}

/* What is not known while it is silent is found afterwards: when it is silent before the file is opened, and after. */
static void test_file_gate__names(void **state)
{
	char path[] = MEMORY "/file-gate-XXXXXX";
	struct symbolizer *s = symbolizer_new(NULL);
	struct sym_process *process;
	int fd = mkstemp(path);
	uint64_t address;
	struct stat st;
	char *image;

	(void)state;
	marked_function();
	copy_program(path);
	assert_int_equal(fstat(fd, &st), 0);
	image = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(image != MAP_FAILED);
	address = (uint64_t)(uintptr_t)image + offset_of((const void *)marked_function);
	process = symbolizer_process(s, (uint32_t)getpid(), 1);
	assert_int_equal(symbolizer_process_refresh(process), 0);
	assert_memory_equal(name_of(process, address), "[no symbols: ", 13);
	assert_true(asked.times > 0);
	asked.answer = true;
	assert_string_equal(wait_for_name(process, address), "marked_function");
	asked.answer = false;
	assert_string_equal(name_of(process, address), "marked_function"); /* it is remembered */
	assert_memory_equal(name_of(process, address + 1), "[no symbols: ", 13);
	asked.answer = true;
	assert_string_equal(name_of(process, address + 1), "marked_function");
	symbolizer_free(s);
	munmap(image, (size_t)st.st_size);
	close(fd);
	unlink(path);
}

/* The library is there, and its debug file may be: neither is it found that there is none, nor is what is known without it. */
static void test_file_gate__debug_files(void **state)
{
	const struct symbolizer_opts opts = { .debug_dir = MEMORY "/no-such-folder" };
	struct symbolizer *s = symbolizer_new(&opts);
	struct sym_process *process = symbolizer_process(s, (uint32_t)getpid(), 1);
	uint64_t address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "lsearch"); /* ASan has none of its own */

	(void)state;
	assert_int_equal(symbolizer_process_refresh(process), 0);
	assert_memory_equal(name_of(process, address), "[no symbols: libc", 17);
	assert_true(asked.times > 0);
	asked.answer = true;
	for (int i = 0; i < 100 && name_of(process, address)[0] == '['; i++)
		usleep(50000);
	assert_non_null(strstr(name_of(process, address), "lsearch"));
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file_gate__paths, begin, end),
		cmocka_unit_test_setup_teardown(test_file_gate__not_asked, begin, end),
		cmocka_unit_test_setup_teardown(test_file_gate__opening, begin, end),
		cmocka_unit_test_setup_teardown(test_file_gate__closing, begin, end),
		cmocka_unit_test_setup_teardown(test_file_gate__names, begin, end),
		cmocka_unit_test_setup_teardown(test_file_gate__debug_files, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
