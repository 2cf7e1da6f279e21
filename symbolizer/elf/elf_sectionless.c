/* Finds symbols and .eh_frame by program headers, for files whose section headers were cut off. */

#include "symbolizer/elf/elf_sectionless.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/elf/elf_file_state.h"

#define MAX_DYNAMIC 4096 /* entries */
#define MAX_SYMBOLS (1u << 24)
#define CHUNK       1024
#define MAX_CHAIN   4096 /* symbols of one bucket */

/* Encodings of pointers in .eh_frame_hdr: those that linkers use. */
#define PE_PCREL_SDATA4 0x1b

enum { NONE, DYNSYM, DYNSTR, EH_FRAME_HDR, EH_FRAME, SHSTRTAB, N_SECTIONS };

#define AT_DYNSYM       1
#define AT_DYNSTR       (AT_DYNSYM + sizeof(".dynsym"))
#define AT_EH_FRAME_HDR (AT_DYNSTR + sizeof(".dynstr"))
#define AT_EH_FRAME     (AT_EH_FRAME_HDR + sizeof(".eh_frame_hdr"))
#define AT_SHSTRTAB     (AT_EH_FRAME + sizeof(".eh_frame"))

static const char names[] = "\0.dynsym\0.dynstr\0.eh_frame_hdr\0.eh_frame\0.shstrtab";

struct dynamic {
	uint64_t symtab, strtab, strsz, hash, gnu_hash; /* 0: not there */
};

/* How many bytes of the file follow what is mapped at that address, in its segment. 0: none. */
static uint64_t offset_of(const struct elf_file *f, uint64_t address, uint64_t *offset)
{
	const struct elf_segment *s;
	size_t i;

	for (i = 0; i < f->n_segments; i++) {
		s = &f->segments[i];
		if (address < s->vaddr || address - s->vaddr >= s->file_size)
			continue;
		*offset = s->offset + (address - s->vaddr);
		return elf_file_within(f, *offset, 1) ? s->file_size - (address - s->vaddr) : 0;
	}
	return 0;
}

static int read_words(const struct elf_file *f, uint64_t address, uint32_t *words, size_t n)
{
	uint64_t offset;

	if (offset_of(f, address, &offset) < n * sizeof(*words))
		return -EBADMSG;
	return elf_file_read(f, offset, words, n * sizeof(*words));
}

static const Elf64_Phdr *segment_of_type(const struct elf_file *f, uint32_t type)
{
	size_t i;

	for (i = 0; i < f->n_phdrs; i++)
		if (f->phdrs[i].p_type == type)
			return &f->phdrs[i];
	return NULL;
}

static struct dynamic read_dynamic(const struct elf_file *f)
{
	const Elf64_Phdr *p = segment_of_type(f, PT_DYNAMIC);
	struct dynamic d = { 0 };
	Elf64_Dyn entry;
	uint64_t i;

	for (i = 0; p && i < MAX_DYNAMIC && i < p->p_filesz / sizeof(entry); i++) {
		if (elf_file_read(f, p->p_offset + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			d.symtab = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			d.strtab = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			d.strsz = entry.d_un.d_val;
		else if (entry.d_tag == DT_HASH)
			d.hash = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_GNU_HASH)
			d.gnu_hash = entry.d_un.d_ptr;
	}
	return d;
}

/* The largest of `n` words, which are read in parts. */
static int largest_word(const struct elf_file *f, uint64_t address, size_t n, uint32_t *largest)
{
	uint32_t words[CHUNK];
	size_t i, part;

	*largest = 0;
	for (; n; n -= part, address += part * sizeof(*words)) {
		part = n < CHUNK ? n : CHUNK;
		if (read_words(f, address, words, part))
			return -EBADMSG;
		for (i = 0; i < part; i++)
			*largest = words[i] > *largest ? words[i] : *largest;
	}
	return 0;
}

/*
 * DT_GNU_HASH: four words (buckets, first hashed symbol, words of a Bloom filter, shift), the filter, the buckets
 * (index of each one's first symbol), and a word for each hashed symbol, odd for the last one of its bucket. So the
 * last symbol of all is found from the bucket that begins last.
 */
static uint32_t count_by_gnu_hash(const struct elf_file *f, uint64_t address)
{
	uint32_t header[4], last, hash = 0, i;
	uint64_t buckets, chains;

	if (!address || read_words(f, address, header, 4))
		return 0;
	buckets = address + sizeof(header) + (uint64_t)header[2] * 8;
	chains = buckets + (uint64_t)header[0] * 4;
	if (header[0] > MAX_SYMBOLS || largest_word(f, buckets, header[0], &last))
		return 0;
	if (last < header[1])
		return header[1] < MAX_SYMBOLS ? header[1] : 0;
	for (i = 0; i < MAX_CHAIN && last < MAX_SYMBOLS && !(hash & 1); i++, last++)
		if (read_words(f, chains + (uint64_t)(last - header[1]) * 4, &hash, 1))
			return 0;
	return hash & 1 ? last : 0;
}

static uint32_t count_by_hash(const struct elf_file *f, uint64_t address)
{
	uint32_t header[2];

	if (!address || read_words(f, address, header, 2) || header[1] > MAX_SYMBOLS)
		return 0;
	return header[1];
}

static void set(struct elf_file *f, unsigned int index, uint32_t name, uint32_t type, uint64_t offset,
                uint64_t size)
{
	f->shdrs[index].sh_name = name;
	f->shdrs[index].sh_type = type;
	f->shdrs[index].sh_offset = offset;
	f->shdrs[index].sh_size = size;
}

static void find_symbols(struct elf_file *f)
{
	struct dynamic d = read_dynamic(f);
	uint64_t symbols, strings, room, n = count_by_gnu_hash(f, d.gnu_hash);

	if (!n)
		n = count_by_hash(f, d.hash);
	n *= sizeof(Elf64_Sym);
	room = offset_of(f, d.symtab, &symbols);
	if (!n || room < n || offset_of(f, d.strtab, &strings) < d.strsz || !d.strsz)
		return;
	set(f, DYNSYM, AT_DYNSYM, SHT_DYNSYM, symbols, n);
	f->shdrs[DYNSYM].sh_addr = d.symtab;
	f->shdrs[DYNSYM].sh_link = DYNSTR;
	set(f, DYNSTR, AT_DYNSTR, SHT_STRTAB, strings, d.strsz);
	f->shdrs[DYNSTR].sh_addr = d.strtab;
}

/* The header: version 1, how three values are encoded, then the address of .eh_frame. */
bool elf_file_eh_frame(const struct elf_file *f, struct elf_eh_frame *out)
{
	const Elf64_Phdr *p = segment_of_type(f, PT_GNU_EH_FRAME);
	size_t len = p && p->p_filesz < sizeof(out->start) ? p->p_filesz : sizeof(out->start);
	uint64_t address, room;
	int32_t distance;

	if (!p || len < 8 || elf_file_read(f, p->p_offset, out->start, len) || out->start[0] != 1 ||
	    out->start[1] != PE_PCREL_SDATA4)
		return false;
	memcpy(&distance, out->start + 4, sizeof(distance));
	address = p->p_vaddr + 4 + (uint64_t)(int64_t)distance;
	room = offset_of(f, address, &out->frames_offset);
	if (room && !elf_file_within(f, out->frames_offset, room))
		room = f->size - out->frames_offset;
	out->hdr_offset = p->p_offset;
	out->hdr = (struct elf_section){ .len = p->p_filesz, .address = p->p_vaddr };
	out->frames = (struct elf_section){ .len = room, .address = address };
	return room;
}

static void find_eh_frame(struct elf_file *f)
{
	struct elf_eh_frame at;

	if (!elf_file_eh_frame(f, &at))
		return;
	set(f, EH_FRAME_HDR, AT_EH_FRAME_HDR, SHT_PROGBITS, at.hdr_offset, at.hdr.len);
	f->shdrs[EH_FRAME_HDR].sh_addr = at.hdr.address;
	set(f, EH_FRAME, AT_EH_FRAME, SHT_PROGBITS, at.frames_offset, at.frames.len);
	f->shdrs[EH_FRAME].sh_addr = at.frames.address;
}

int elf_sectionless_fill(struct elf_file *f)
{
	if (!f->n_segments)
		return 0;
	f->shdrs = calloc(N_SECTIONS, sizeof(*f->shdrs));
	f->loaded = calloc(N_SECTIONS, sizeof(*f->loaded));
	if (!f->shdrs || !f->loaded)
		return -ENOMEM;
	f->n_shdrs = N_SECTIONS;
	f->ehdr.e_shstrndx = SHSTRTAB;
	find_symbols(f);
	find_eh_frame(f);
	set(f, SHSTRTAB, AT_SHSTRTAB, SHT_STRTAB, 0, sizeof(names));
	f->loaded[SHSTRTAB] =
	        (struct loaded){ .data = (const uint8_t *)names, .len = sizeof(names), .is_constant = true };
	return 0;
}
