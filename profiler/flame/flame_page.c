/* Writes the page around a profile's data. */

#include "profiler/flame/flame_page.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/flame/flame_json.h"

/* The Makefile names the file that was built; without it there is no page. */
#ifdef FLAME_PAGE_FILE
#define INCLUDE_PAGE ".incbin \"" FLAME_PAGE_FILE "\"\n"
#else
#define INCLUDE_PAGE ""
#endif

__asm__(".section .rodata\n"
        ".global flame_page\n"
        ".global flame_page_bytes\n"
        "flame_page:\n" INCLUDE_PAGE "flame_page_end:\n"
        ".byte 0\n"
        ".balign 8\n"
        "flame_page_bytes:\n"
        ".quad flame_page_end - flame_page\n"
        ".text\n");

extern const char flame_page[];
extern const uint64_t flame_page_bytes;

/* What stands in the page in place of the data. */
#define MARK "\"@DATA@\""

bool flame_page_is_there(void)
{
	return flame_page_bytes != 0;
}

static void write_escaped(FILE *out, const char *json, size_t size)
{
	while (size) {
		const char *found = memchr(json, '<', size);
		size_t plain = found ? (size_t)(found - json) : size;

		fwrite(json, 1, plain, out);
		if (!found)
			return;
		fputs("\\u003c", out);
		json += plain + 1;
		size -= plain + 1;
	}
}

int flame_page_write(FILE *out, const struct flame_json *what)
{
	const char *mark = flame_page_is_there() ? strstr(flame_page, MARK) : NULL;
	const char *after = mark ? mark + strlen(MARK) : NULL;
	char *json = NULL;
	size_t size = 0;
	FILE *stream;
	int err;

	if (!mark)
		return -ENOTSUP;
	stream = open_memstream(&json, &size);
	if (!stream)
		return -ENOMEM;
	err = flame_json_write(stream, what);
	if (fclose(stream) || err == -EIO)
		err = -ENOMEM;
	if (!err) {
		fwrite(flame_page, 1, (size_t)(mark - flame_page), out);
		write_escaped(out, json, size);
		fwrite(after, 1, flame_page_bytes - (size_t)(after - flame_page), out);
		err = fflush(out) || ferror(out) ? -EIO : 0;
	}
	free(json);
	return err;
}
