/* unwind/tables FILE: what the unwind tables of one file take, none, some and all of its functions asked for. */
#include <fcntl.h>

#include "symbolizer/cfi.h"
#include "tests/bench/unwind/recording.h"

#define MAX_BYTES ((size_t)4 << 30)

static double ms_since(uint64_t began)
{
	return (double)(recording_now_ns() - began) / 1e6;
}

static size_t count_functions(const struct cfi *c)
{
	uint64_t start, address;
	size_t n = 0;

	for (address = 0; cfi_next_function(c, address, &start); address = start + 1)
		n++;
	return n;
}

static size_t count_rows(const struct cfi *c)
{
	uint64_t start = 0, address = 0;
	struct cfi_row row;
	size_t n = 0;

	while (cfi_next_function(c, address, &start))
		for (address = start + 1; !cfi_find(c, address - 1, &row); n++)
			address = row.end + 1;
	return n;
}

/* Asks for every `step`th function, or all; returns microseconds an asked one. */
static double ask(struct cfi *c, size_t step)
{
	const struct cfi_rules *rules;
	uint64_t start, address, began = recording_now_ns();
	size_t n = 0, asked = 0;

	for (address = 0; cfi_next_function(c, address, &start); address = start + 1)
		if (n++ % step == 0) {
			cfi_rules_at(c, start, &rules);
			asked++;
		}
	return ms_since(began) * 1e3 / (double)asked;
}

int main(int argc, char **argv)
{
	struct elf_section eh, hdr = { .len = 0 };
	struct elf_file *file;
	struct cfi *cfi;
	uint64_t began;
	double us;
	size_t n;

	if (argc != 2 || elf_file_open(open(argv[1], O_RDONLY | O_CLOEXEC), false, MAX_BYTES, &file))
		errx(2, "usage: tables FILE");
	if (elf_file_section(file, ".eh_frame", &eh))
		errx(1, "%s has no .eh_frame", argv[1]);
	elf_file_section(file, ".eh_frame_hdr", &hdr);
	printf("sections (what framehop and libunwind read): .eh_frame %.1f MB, .eh_frame_hdr %.1f MB\n",
	       (double)eh.len / 1e6, (double)hdr.len / 1e6);
	began = recording_now_ns();
	if (cfi_new(file, NULL, &cfi))
		errx(1, "%s has no table", argv[1]);
	printf("ours, index: %.1f ms, %.1f MB\n", ms_since(began), (double)cfi_memory(cfi) / 1e6);
	us = ask(cfi, 997);
	printf("ours, every 997th function: %.1f us each, %.1f MB\n", us, (double)cfi_memory(cfi) / 1e6);
	us = ask(cfi, 1);
	n = count_functions(cfi);
	printf("ours, all of %zu functions: %.0f ms, %.1f MB\n", n, us * (double)n / 1e3,
	       (double)cfi_memory(cfi) / 1e6);
	n = count_rows(cfi);
	printf("rows: %zu, %.1f bytes each, index and rules included\n", n,
	       (double)cfi_memory(cfi) / (double)n);
	cfi_free(cfi);
	elf_file_close(file);
	return 0;
}
