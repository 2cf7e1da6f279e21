/*
 * symbolize_file FILE [DEBUG_DIR]: reads ELF addresses (hex, one a line), prints what the symbolizer makes of
 * each as addr2line -f -i does: two lines a frame, function and file:line, then an empty line.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/symbolizer.h"

#define BASE 0x10000000000ull

static void map_file(struct sym_process *p, const char *path)
{
	int fd = open(path, O_RDONLY);
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	struct stat st;
	int i;

	if (fd < 0 || fstat(fd, &st) || pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
		err(1, "%s", path);
	for (i = 0; i < ehdr.e_phnum; i++) {
		if (pread(fd, &phdr, sizeof(phdr), (off_t)(ehdr.e_phoff + (size_t)i * sizeof(phdr))) !=
		    sizeof(phdr))
			err(1, "%s", path);
		if (phdr.p_type == PT_LOAD && phdr.p_flags & PF_X)
			symbolizer_process_map(p, BASE + (phdr.p_vaddr & ~4095ull),
			                       BASE + phdr.p_vaddr + phdr.p_memsz, phdr.p_offset & ~4095ull,
			                       0, 0, st.st_ino, path);
	}
	close(fd);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void print_result(const struct sym_result *result)
{
	size_t i;

	for (i = 0; i < result->n_frames; i++)
		printf("%s\n%s:%" PRIu32 "\n", result->frames[i].function,
		       result->frames[i].file ? result->frames[i].file : "??", result->frames[i].line);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct symbolizer_opts opts = { .debug_dir = argc > 2 ? argv[2] : NULL, .keep_mangled = true };
	struct symbolizer *s = symbolizer_new(&opts);
	struct sym_process *p = symbolizer_process(s, 0, 0);
	struct symbolizer_stats stats;
	struct sym_result result;
	char line[64];
	double began;
	size_t n = 0;

	if (argc < 2)
		errx(2, "usage: symbolize_file FILE [DEBUG_DIR] < ADDRESSES");
	map_file(p, argv[1]);
	began = now();
	while (fgets(line, sizeof(line), stdin)) {
		symbolizer_user(p, BASE + strtoull(line, NULL, 16), false, &result);
		print_result(&result);
		n++;
	}
	symbolizer_stats(s, &stats);
	fprintf(stderr,
	        "%zu addresses in %.3f ms, %zu bytes, %" PRIu64 " DWARF errors, %" PRIu64 " corrupt\n", n,
	        (now() - began) * 1e3, stats.memory_bytes, stats.dwarf_errors, stats.files_corrupt);
	symbolizer_free(s);
	return 0;
}
