/*
 * unwind/tables FILE: prints the time and memory of one file's unwind tables, when none, some and all of its
 * functions are looked up.
 */
#include <fcntl.h>

#include "symbolizer/cfi/cfi.h"
#include "tests/bench/unwind/recording.h"

#define MAX_BYTES ((size_t)4 << 30)
#define SOME      997
#define TIMES     2 /* each of four neighbours makes five, and for the last chunk does not matter */

static double ms_since(uint64_t began)
{
	return (double)(recording_now_ns() - began) / 1e6;
}

static size_t count_functions(struct cfi *c)
{
	uint64_t start, address;
	size_t n = 0;

	for (address = 0; cfi_next_function(c, address, &start); address = start + 1)
		n++;
	return n;
}

static size_t count_rows(struct cfi *c)
{
	uint64_t start = 0, address = 0;
	struct cfi_row row;
	size_t n = 0;

	while (cfi_next_function(c, address, &start))
		for (address = start + 1; !cfi_find(c, address - 1, &row); n++)
			address = row.end + 1;
	return n;
}

/* Asks for every `step`th function; microseconds an asked one. */
static double ask(struct cfi *c, size_t step)
{
	const struct cfi_rules *rules;
	uint64_t start, address, began, spent = 0;
	size_t n = 0, asked = 0;

	for (address = 0; cfi_next_function(c, address, &start); address = start + 1) {
		if (n++ % step)
			continue;
		began = recording_now_ns();
		cfi_rules_at(c, start, &rules);
		spent += recording_now_ns() - began;
		asked++;
	}
	return (double)spent / 1e3 / (double)asked;
}

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file;

	if (elf_file_open(open(path, O_RDONLY | O_CLOEXEC), false, MAX_BYTES, &file))
		errx(1, "%s is no ELF file", path);
	return file;
}

static void print_sections(const char *path)
{
	struct elf_section eh = { .len = 0 }, hdr = { .len = 0 };
	struct elf_file *file = open_file(path);

	elf_file_section(file, ".eh_frame", &eh);
	elf_file_section(file, ".eh_frame_hdr", &hdr);
	printf("sections, which libunwind and framehop read: .eh_frame %.1f MB, .eh_frame_hdr %.1f MB\n",
	       (double)eh.len / 1e6, (double)hdr.len / 1e6);
	elf_file_close(file);
}

int main(int argc, char **argv)
{
	struct elf_file *file;
	struct cfi *cfi;
	uint64_t began;
	double us;
	size_t n;
	long own;
	int i;

	if (argc != 2)
		errx(2, "usage: tables FILE");
	print_sections(argv[1]);
	file = open_file(argv[1]);
	began = recording_now_ns();
	if (cfi_new(file, &cfi))
		errx(1, "%s has no table", argv[1]);
	printf("ours, opened: %.0f us, %.1f kB of tables\n", 1e3 * ms_since(began),
	       (double)(cfi_memory(cfi) + elf_file_memory(file)) / 1e3);
	n = count_functions(cfi);
	us = ask(cfi, SOME);
	own = recording_resident_kib("RssAnon:");
	printf("ours, every %dth function, from the first on: %.1f us each, %.1f MB of tables, "
	       "%.1f MB its own\n",
	       SOME, us, (double)cfi_memory(cfi) / 1e6, (double)own / 1e3);
	for (us = 0, i = 0; i < TIMES; i++)
		us += ask(cfi, 1);
	printf("ours, all of %zu functions, %d times each, so that rows are made: %.0f ms, %.1f MB\n", n,
	       TIMES, us * (double)n / 1e3, (double)cfi_memory(cfi) / 1e6);
	n = count_rows(cfi);
	printf("rows: %zu, %.1f bytes each with index and rules\n", n, (double)cfi_memory(cfi) / (double)n);
	cfi_free(cfi);
	elf_file_close(file);
	return 0;
}
