/* Gives the sections of relocatable files addresses, and applies their relocations. */

#include "symbolizer/elf/elf_relocate.h"

#include <errno.h>
#include <string.h>

#include "symbolizer/elf/elf_file_state.h"

/* With the sizes and alignments that are taken, and MAX_SECTIONS of them, addresses cannot wrap. */
#define LAID_OUT_AT ((uint64_t)1 << 40)
#define MAX_ALIGN   ((uint64_t)1 << 32)

int elf_relocate_place(struct elf_file *f, uint64_t (*address_of)(const char *name, void *context),
                       void *context)
{
	struct elf_section names;
	const char *name;
	uint32_t i;
	int err;

	if (f->ehdr.e_type != ET_REL)
		return -EINVAL;
	err = elf_file_section_at(f, f->ehdr.e_shstrndx, &names);
	if (err)
		return err;
	for (i = 1; i < f->n_shdrs; i++) {
		if (!(f->shdrs[i].sh_flags & SHF_ALLOC) || f->shdrs[i].sh_name >= names.len)
			continue;
		name = (const char *)names.data + f->shdrs[i].sh_name;
		if (memchr(name, 0, names.len - f->shdrs[i].sh_name))
			f->shdrs[i].sh_addr = address_of(name, context);
	}
	f->placed = true;
	return 0;
}

int elf_relocate_lay_out(struct elf_file *f)
{
	uint64_t next = LAID_OUT_AT, align;
	uint32_t i;
	int err;

	if (f->ehdr.e_type != ET_REL)
		return -EINVAL;
	err = elf_file_need_sections(f);
	if (err)
		return err;
	for (i = 1; i < f->n_shdrs; i++) {
		if (!(f->shdrs[i].sh_flags & SHF_ALLOC))
			continue;
		align = f->shdrs[i].sh_addralign;
		if (align > MAX_ALIGN || align & (align - 1) || f->shdrs[i].sh_size > LAID_OUT_AT)
			return -EBADMSG;
		if (align)
			next = (next + align - 1) & ~(align - 1);
		f->shdrs[i].sh_addr = next;
		next += f->shdrs[i].sh_size;
	}
	f->placed = true;
	return 0;
}

static bool is_symtab(const struct elf_file *f, uint32_t index)
{
	return index < f->n_shdrs && f->shdrs[index].sh_type == SHT_SYMTAB;
}

/*
 * The SHT_RELA section that is about section `index`; 0: none. "Symbols" of another type might have relocations of their own, and those
 * again, as deep as there are sections.
 */
static uint32_t find_rela(const struct elf_file *f, uint32_t index)
{
	uint32_t i;

	for (i = 1; i < f->n_shdrs; i++)
		if (f->shdrs[i].sh_type == SHT_RELA && f->shdrs[i].sh_info == index &&
		    is_symtab(f, f->shdrs[i].sh_link))
			return i;
	return 0;
}

bool elf_relocate_needed(const struct elf_file *f, uint32_t index)
{
	return f->placed && f->shdrs[index].sh_type == SHT_PROGBITS && find_rela(f, index);
}

/* Bytes that a relocation writes when it is plainly "symbol plus addend"; 0: another kind. */
static size_t width_of(uint16_t machine, uint64_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_64 ? 8 : type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
	if (machine == EM_AARCH64)
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	return 0;
}

static bool symbol_value(const struct elf_file *f, const struct elf_section *symbols, uint64_t index,
                         uint64_t *value)
{
	Elf64_Sym sym;

	if (index >= symbols->len / sizeof(sym))
		return false;
	memcpy(&sym, symbols->data + index * sizeof(sym), sizeof(sym));
	*value = sym.st_value;
	if (sym.st_shndx < f->n_shdrs && f->shdrs[sym.st_shndx].sh_flags & SHF_ALLOC)
		*value += f->shdrs[sym.st_shndx].sh_addr;
	return true;
}

static void apply(const struct elf_file *f, const struct elf_section *symbols, const Elf64_Rela *rela,
                  uint8_t *data, size_t len)
{
	size_t width = width_of(f->ehdr.e_machine, ELF64_R_TYPE(rela->r_info));
	uint64_t value;

	if (!width || rela->r_offset > len || width > len - rela->r_offset ||
	    !symbol_value(f, symbols, ELF64_R_SYM(rela->r_info), &value))
		return;
	value += (uint64_t)rela->r_addend;
	memcpy(data + rela->r_offset, &value, width);
}

void elf_relocate_section(struct elf_file *f, uint32_t index, uint8_t *data, size_t len)
{
	struct elf_section relas, symbols;
	Elf64_Rela rela;
	size_t i;

	if (elf_file_section_at(f, find_rela(f, index), &relas))
		return;
	if (!elf_file_section_at(f, relas.link, &symbols)) {
		for (i = 0; i < relas.len / sizeof(rela); i++) {
			memcpy(&rela, relas.data + i * sizeof(rela), sizeof(rela));
			apply(f, &symbols, &rela, data, len);
		}
		elf_file_release(f, symbols.index);
	}
	elf_file_release(f, relas.index);
}
