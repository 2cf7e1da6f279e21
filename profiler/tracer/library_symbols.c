/* Reads a library's dynamic symbols for the functions that wait. */

#include "profiler/tracer/library_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/tracer/elf_headers.h"
#include "profiler/tracer/library_calls.h"

#define SYMBOLS_BYTES_MAX (96 << 20)

/* Linux 6.18 turns a probed nop of five bytes into a call of a page that forked children lack: they would die. */
static const unsigned char long_nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

struct search {
	const struct elf_headers *headers;
	const struct library_calls *library;
	const char *names; /* ends with a NUL */
	uint64_t names_bytes;
	struct usdt_site *sites;
	size_t n;
};

static bool may_be_probed(const struct elf_headers *headers, uint64_t offset)
{
	unsigned char code[sizeof(long_nop)];

	return !elf_headers_bytes(headers, offset, code, sizeof(code)) &&
	       memcmp(code, long_nop, sizeof(code)) != 0;
}

static int look_at_symbol(const void *item, size_t index, void *context)
{
	const Elf64_Sym *symbol = item;
	struct search *search = context;
	uint64_t offset;

	(void)index;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
		return 0;
	if (symbol->st_name >= search->names_bytes)
		return -EBADMSG;
	if (!library_calls_has(search->library, search->names + symbol->st_name) ||
	    elf_headers_offset_of(search->headers, symbol->st_value, &offset) ||
	    !may_be_probed(search->headers, offset))
		return 0;
	for (size_t i = 0; i < search->n; i++)
		if (search->sites[i].offset == offset)
			return 0;
	if (search->n == LIBRARY_SITES_MAX)
		return -E2BIG;
	search->sites[search->n++] = (struct usdt_site){ .offset = offset };
	return 0;
}

static int search_symbols(struct search *search)
{
	const struct elf_headers *h = search->headers;
	const Elf64_Shdr *symbols = elf_headers_section(h, SHT_DYNSYM), *names;
	char *content;
	int err;

	if (!symbols)
		return 0;
	if (symbols->sh_link >= h->n_sections || symbols->sh_entsize != sizeof(Elf64_Sym))
		return -EBADMSG;
	names = &h->sections[symbols->sh_link];
	err = elf_headers_section_content(h, names, SYMBOLS_BYTES_MAX, &content);
	if (err)
		return err;
	search->names = content;
	search->names_bytes = names->sh_size;
	err = elf_headers_each(h, symbols, sizeof(Elf64_Sym), SYMBOLS_BYTES_MAX, look_at_symbol, search);
	elf_headers_content_free(content);
	return err;
}

int library_symbols_sites(int file, const struct library_calls *library, struct usdt_site **sites, size_t *n)
{
	struct elf_headers headers;
	struct search search = { .headers = &headers, .library = library };
	int err = elf_headers_read(file, &headers);

	if (err)
		return err;
	search.sites = calloc(LIBRARY_SITES_MAX, sizeof(*search.sites));
	err = search.sites ? search_symbols(&search) : -ENOMEM;
	elf_headers_free(&headers);
	if (err) {
		free(search.sites);
		return err;
	}
	*sites = search.sites;
	*n = search.n;
	return 0;
}
