/* Reads an ELF file for the tag library's probes and thread-local pointers. */

#include "profiler/tags/tag_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "profiler/tracer/elf_headers.h"
#include "profiler/tracer/library_calls.h"
#include "profiler/tracer/usdt_notes.h"
#include "symbolizer/base/regular_file.h"

#define SYMBOLS_BYTES_MAX     (96 << 20)
#define RELOCATIONS_BYTES_MAX (96 << 20)
#define NAMES_READ_MAX        65536 /* thread-local pointers of one file whose name is looked at */

static const char *const slot_symbols[TAG_FILE_SLOTS] = {
	[TAG_FILE_STALLTAG] = TAG_FILE_STALLTAG_SYMBOL,
	[TAG_FILE_OTEL] = TAG_FILE_OTEL_SYMBOL,
};

/* --- notes: the probes -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum tag_file_probe probe;
} probe_names[] = {
	{ "change", TAG_FILE_PROBE_CHANGE },
	{ "process", TAG_FILE_PROBE_PROCESS },
	{ "log", TAG_FILE_PROBE_LOG },
	{ "lost", TAG_FILE_PROBE_LOST },
};

static void look_at_note(void *ctx, const struct usdt_note *note)
{
	struct tag_file *out = ctx;

	if (strcmp(note->provider, "stalltag"))
		return;
	for (size_t i = 0; i < sizeof(probe_names) / sizeof(*probe_names); i++)
		if (!strcmp(note->name, probe_names[i].name))
			out->probes |= probe_names[i].probe;
}

/* --- symbols: the slots ------------------------------------------------------------------------- */

struct symbol_scan {
	const struct elf_headers *headers;
	const Elf64_Shdr *names;
	struct tag_file *out;
	bool dynamic;
	size_t names_read;
	uint32_t index[TAG_FILE_SLOTS]; /* in .dynsym, 0: not there */
};

/* A name in .symtab may be followed by @VERSION. */
static int slot_of_name(const struct symbol_scan *scan, uint32_t name, int *slot)
{
	char text[sizeof(TAG_FILE_STALLTAG_SYMBOL) + 1] = { 0 };
	uint64_t size = scan->names->sh_size;
	size_t len;
	int err;

	*slot = -1;
	if (name >= size)
		return -EBADMSG;
	len = size - name < sizeof(text) - 1 ? (size_t)(size - name) : sizeof(text) - 1;
	err = elf_headers_bytes(scan->headers, scan->names->sh_offset + name, text, len);
	if (err)
		return err;
	text[strcspn(text, "@")] = 0;
	for (int i = 0; i < TAG_FILE_SLOTS; i++)
		if (!strcmp(text, slot_symbols[i]))
			*slot = i;
	return 0;
}

static int look_at_symbol(const void *item, size_t index, void *context)
{
	const Elf64_Sym *symbol = item;
	struct symbol_scan *scan = context;
	int slot, err;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_size != sizeof(uint64_t))
		return 0;
	if (++scan->names_read > NAMES_READ_MAX)
		return -EBADMSG;
	err = slot_of_name(scan, symbol->st_name, &slot);
	if (err || slot < 0 || scan->out->slots[slot].access != TAG_FILE_ABSENT)
		return err;
	if (symbol->st_value > scan->out->block_bytes - sizeof(uint64_t))
		return -EBADMSG;
	scan->out->slots[slot] = (struct tag_file_slot){ .access = TAG_FILE_UNKNOWN,
		                                         .exported = scan->dynamic,
		                                         .value = symbol->st_value };
	if (scan->dynamic)
		scan->index[slot] = (uint32_t)index;
	return 0;
}

static int scan_symbols(struct symbol_scan *scan, uint32_t section_type)
{
	const struct elf_headers *h = scan->headers;
	const Elf64_Shdr *symbols = elf_headers_section(h, section_type);

	if (!symbols)
		return 0;
	if (symbols->sh_link >= h->n_sections || symbols->sh_entsize != sizeof(Elf64_Sym))
		return -EBADMSG;
	scan->names = &h->sections[symbols->sh_link];
	scan->dynamic = section_type == SHT_DYNSYM;
	return elf_headers_each(h, symbols, sizeof(Elf64_Sym), SYMBOLS_BYTES_MAX, look_at_symbol, scan);
}

static bool any_slot(const struct tag_file *file)
{
	for (int i = 0; i < TAG_FILE_SLOTS; i++)
		if (file->slots[i].access != TAG_FILE_ABSENT)
			return true;
	return false;
}

/* --- relocations: how the slots are found ------------------------------------------------------- */

static enum tag_file_access access_of_relocation(uint32_t type)
{
	switch (type) {
	case R_X86_64_TLSDESC:
		return TAG_FILE_TLSDESC;
	case R_X86_64_TPOFF64:
		return TAG_FILE_TPOFF;
	case R_X86_64_DTPMOD64:
		return TAG_FILE_MODULE;
	default:
		return TAG_FILE_ABSENT;
	}
}

/* A relocation of the symbol itself beats one of the file's block, as it follows interposition. */
static int look_at_relocation(const void *item, size_t position, void *context)
{
	const Elf64_Rela *rela = item;
	const struct symbol_scan *scan = context;
	uint32_t symbol = (uint32_t)ELF64_R_SYM(rela->r_info);
	enum tag_file_access access = access_of_relocation((uint32_t)ELF64_R_TYPE(rela->r_info));

	(void)position;
	if (access == TAG_FILE_ABSENT)
		return 0;
	for (int i = 0; i < TAG_FILE_SLOTS; i++) {
		struct tag_file_slot *slot = &scan->out->slots[i];
		bool named = symbol && symbol == scan->index[i];

		if (slot->access == TAG_FILE_ABSENT || (!named && symbol))
			continue;
		if (slot->access != TAG_FILE_UNKNOWN && (!named || !slot->own))
			continue;
		slot->access = access;
		slot->own = !named;
		slot->got = rela->r_offset;
		slot->adjust = (int64_t)((named ? 0 : slot->value) - (uint64_t)rela->r_addend);
		if (access == TAG_FILE_MODULE)
			slot->adjust = 0;
	}
	return 0;
}

static int read_relocations(struct symbol_scan *scan)
{
	const struct elf_headers *h = scan->headers;
	int err = 0;

	for (size_t i = 0; i < h->n_sections && !err; i++) {
		const Elf64_Shdr *section = &h->sections[i];

		if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC))
			continue;
		if (section->sh_entsize != sizeof(Elf64_Rela))
			return -EBADMSG;
		err = elf_headers_each(h, section, sizeof(Elf64_Rela), RELOCATIONS_BYTES_MAX,
		                       look_at_relocation, scan);
	}
	return err;
}

static int read_slots(const struct elf_headers *h, struct tag_file *out)
{
	struct symbol_scan scan = { .headers = h, .out = out };
	int err = scan_symbols(&scan, SHT_DYNSYM);

	/* A library that hides the symbol is looked through only if its notes say that it is stalltag's. */
	if (!err && !any_slot(out) && (out->program || out->probes))
		err = scan_symbols(&scan, SHT_SYMTAB);
	if (!err && any_slot(out))
		err = read_relocations(&scan);
	return err;
}

/* --- segments ----------------------------------------------------------------------------------- */

static bool says_pie(const struct elf_headers *h)
{
	const Elf64_Phdr *dynamic = elf_headers_segment(h, PT_DYNAMIC);
	uint64_t entries = dynamic ? dynamic->p_filesz / sizeof(Elf64_Dyn) : 0;

	for (uint64_t i = 0; i < entries && i < 256; i++) {
		Elf64_Dyn entry;

		if (elf_headers_bytes(h, dynamic->p_offset + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	}
	return false;
}

static bool asks_for_musl(const struct elf_headers *h)
{
	const Elf64_Phdr *interpreter = elf_headers_segment(h, PT_INTERP);
	char path[256];
	size_t len;

	if (!interpreter)
		return false;
	len = interpreter->p_filesz < sizeof(path) - 1 ? (size_t)interpreter->p_filesz : sizeof(path) - 1;
	if (elf_headers_bytes(h, interpreter->p_offset, path, len))
		return false;
	path[len] = 0;
	return strstr(path, "/ld-musl-");
}

static void read_loads(const struct elf_headers *h, struct tag_file *out)
{
	out->low = UINT64_MAX;
	for (size_t i = 0; i < h->n_segments; i++) {
		const Elf64_Phdr *load = &h->segments[i];
		uint64_t end;

		if (load->p_type != PT_LOAD || __builtin_add_overflow(load->p_vaddr, load->p_memsz, &end))
			continue;
		out->low = load->p_vaddr < out->low ? load->p_vaddr : out->low;
		out->high = end > out->high ? end : out->high;
		if ((load->p_flags & PF_X) && out->n_texts < TAG_FILE_TEXTS_MAX)
			out->texts[out->n_texts++] = (struct tag_file_text){ .offset = load->p_offset,
				                                             .bytes = load->p_filesz,
				                                             .address = load->p_vaddr };
	}
}

/* The block ends at the thread pointer, but for what keeps its start at p_vaddr modulo its alignment. */
static int read_block(const struct elf_headers *h, struct tag_file *out)
{
	const Elf64_Phdr *tls = elf_headers_segment(h, PT_TLS);
	uint64_t align, padding;

	if (!tls || tls->p_memsz < sizeof(uint64_t))
		return 0;
	align = tls->p_align ? tls->p_align : 1;
	if ((align & (align - 1)) || align > (1 << 30) || tls->p_memsz > (1 << 30))
		return -EBADMSG;
	padding = (0 - tls->p_vaddr - tls->p_memsz) & (align - 1);
	out->block_bytes = tls->p_memsz;
	out->block_tp_offset = -(int64_t)(tls->p_memsz + padding);
	return 0;
}

int tag_file_read(int fd, struct tag_file *out)
{
	struct elf_headers headers;
	struct tag_file file = { 0 };
	int err = elf_headers_read(fd, &headers);

	*out = file;
	if (err)
		return err;
	file.program = headers.header.e_type == ET_EXEC || says_pie(&headers);
	file.musl = file.program && asks_for_musl(&headers);
	read_loads(&headers, &file);
	err = read_block(&headers, &file);
	if (!err)
		err = usdt_notes_each(&headers, look_at_note, &file);
	if (!err && file.block_bytes)
		err = read_slots(&headers, &file);
	if (!err)
		*out = file;
	elf_headers_free(&headers);
	return err;
}

int tag_file_read_path(const char *path, struct tag_file *out)
{
	int fd = regular_file_open(path, 0);
	int err;

	*out = (struct tag_file){ 0 };
	if (fd < 0)
		return fd == -EBADMSG ? -ENOEXEC : fd;
	err = tag_file_read(fd, out);
	close(fd);
	out->libraries = out->n_texts ? library_calls_of(path) : 0;
	return err;
}

bool tag_file_interesting(const struct tag_file *file)
{
	return file->probes || file->libraries || any_slot(file);
}

bool tag_file_tags_process(const struct tag_file *file)
{
	return file->program && file->probes & TAG_FILE_PROBE_PROCESS;
}

bool tag_file_bias(const struct tag_file *file, uint64_t start, uint64_t offset, uint64_t *bias)
{
	const uint64_t in_page = 4095;

	for (size_t i = 0; i < file->n_texts; i++) {
		const struct tag_file_text *text = &file->texts[i];
		uint64_t first = text->offset & ~in_page;

		if (offset < first ||
		    offset - first >= ((text->offset - first + text->bytes + in_page) & ~in_page))
			continue;
		*bias = start - offset - (text->address - text->offset);
		return true;
	}
	return false;
}
