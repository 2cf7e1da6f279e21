/*
 * read_file FILE [SECTION]: reads ELF addresses (hex, one a line; in SECTION, if given), prints for each a line
 * "=ADDRESS", then what the symbolizer makes of it: FUNCTION <tab> FILE or ?? <tab> LINE, innermost first. Ends with
 * 3 when the symbolizer refuses the file, saying so.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/symbolizer.h"

static void print_frames(const struct sym_result *result)
{
	size_t i;

	for (i = 0; i < result->n_frames; i++)
		printf("%s\t%s\t%" PRIu32 "\n", result->frames[i].function,
		       result->frames[i].file ? result->frames[i].file : "??", result->frames[i].line);
}

int main(int argc, char **argv)
{
	struct symbolizer_opts opts = { .debug_dir = "/nonexistent", .keep_mangled = true };
	struct symbolizer *s = symbolizer_new(&opts);
	const char *section = argc > 2 ? argv[2] : NULL;
	struct sym_result result;
	struct sym_file *file;
	char line[64];
	int status = 0;

	if (argc < 2 || !s)
		errx(2, "usage: read_file FILE [SECTION] < ADDRESSES");
	status = symbolizer_file(s, argv[1], &file);
	if (status)
		printf("refused: %s\n", strerror(-status));
	while (!status && fgets(line, sizeof(line), stdin)) {
		printf("=%s", line);
		if (!symbolizer_file_find(file, section, strtoull(line, NULL, 16), &result))
			print_frames(&result);
	}
	symbolizer_free(s);
	return status ? 3 : 0;
}
