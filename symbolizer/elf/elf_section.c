/* Finds and loads the sections of an ELF file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/elf/elf_decompress.h"
#include "symbolizer/elf/elf_file_state.h"
#include "symbolizer/elf/elf_relocate.h"

bool elf_file_section_range(const struct elf_file *f, uint32_t index, uint64_t *start, uint64_t *end)
{
	elf_file_need_sections(f);
	if (!index || index >= f->n_shdrs || !(f->shdrs[index].sh_flags & SHF_ALLOC))
		return false;
	*start = f->shdrs[index].sh_addr;
	*end = *start + f->shdrs[index].sh_size;
	return *end >= *start;
}

uint32_t elf_file_section_count(const struct elf_file *f)
{
	elf_file_need_sections(f);
	return (uint32_t)f->n_shdrs;
}

static void unload(struct elf_file *f, struct loaded *l)
{
	if (l->is_constant)
		return;
	if (l->owned)
		f->memory -= l->len;
	free(l->owned);
	*l = (struct loaded){ 0 };
}

void elf_file_release(struct elf_file *f, uint32_t index)
{
	if (index < f->n_shdrs && f->loaded[index].holders && !--f->loaded[index].holders)
		unload(f, &f->loaded[index]);
}

void elf_file_release_all(struct elf_file *f)
{
	uint32_t i;

	for (i = 0; i < f->n_shdrs; i++)
		unload(f, &f->loaded[i]);
}

static size_t room_for(const struct elf_file *f)
{
	return f->max_bytes > f->memory ? f->max_bytes - f->memory : 0;
}

/* The section's bytes as they stand in the file. */
static int load_raw(struct elf_file *f, const Elf64_Shdr *shdr, struct loaded *out)
{
	int err;

	if (!elf_file_within(f, shdr->sh_offset, shdr->sh_size))
		return -EBADMSG;
	out->len = shdr->sh_size;
	if (f->image) {
		out->data = f->image + shdr->sh_offset;
		return 0;
	}
	if (shdr->sh_size > room_for(f))
		return -EFBIG;
	out->owned = malloc(out->len + 1);
	if (!out->owned)
		return -ENOMEM;
	err = elf_file_read(f, shdr->sh_offset, out->owned, out->len);
	if (err) {
		free(out->owned);
		out->owned = NULL;
	}
	out->data = out->owned;
	return err;
}

static int decompress(struct elf_file *f, const struct loaded *raw, bool is_zdebug, struct loaded *out)
{
	int err = elf_decompress(raw->data, raw->len, is_zdebug, room_for(f), &out->owned, &out->len);

	free(raw->owned);
	out->data = out->owned;
	return err;
}

/* A copy of our own, when it is not one already. */
static int make_writable(struct loaded *l)
{
	uint8_t *copy;

	if (l->owned)
		return 0;
	copy = malloc(l->len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, l->data, l->len);
	l->data = l->owned = copy;
	return 0;
}

static int load(struct elf_file *f, uint32_t index, bool is_zdebug)
{
	const Elf64_Shdr *shdr = &f->shdrs[index];
	struct loaded raw = { 0 }, *l = &f->loaded[index];
	int err;

	if (shdr->sh_type == SHT_NOBITS || shdr->sh_type == SHT_NULL)
		return -ENOENT;
	err = load_raw(f, shdr, &raw);
	if (err)
		return err;
	if (!is_zdebug && !(shdr->sh_flags & SHF_COMPRESSED))
		*l = raw;
	else
		err = decompress(f, &raw, is_zdebug, l);
	if (!err && elf_relocate_needed(f, index)) {
		err = make_writable(l);
		if (!err)
			elf_relocate_section(f, index, l->owned, l->len);
	}
	if (err)
		*l = (struct loaded){ 0 };
	else if (l->owned)
		f->memory += l->len;
	return err;
}

static int section_at(struct elf_file *f, uint32_t index, bool is_zdebug, struct elf_section *out)
{
	struct loaded *l;
	int err = elf_file_need_sections(f);

	if (err)
		return err;
	if (!index || index >= f->n_shdrs)
		return -ENOENT;
	l = &f->loaded[index];
	if (!l->data) {
		err = load(f, index, is_zdebug);
		if (err)
			return err;
	}
	l->holders++;
	*out = (struct elf_section){ .data = l->data,
		                     .len = l->len,
		                     .address = f->shdrs[index].sh_addr,
		                     .index = index,
		                     .type = f->shdrs[index].sh_type,
		                     .link = f->shdrs[index].sh_link };
	return 0;
}

int elf_file_section_at(struct elf_file *f, uint32_t index, struct elf_section *out)
{
	return section_at(f, index, false, out);
}

int elf_file_section_of_type(struct elf_file *f, uint32_t type, struct elf_section *out)
{
	uint32_t i;
	int err = elf_file_need_sections(f);

	for (i = 1; i < f->n_shdrs; i++)
		if (f->shdrs[i].sh_type == type)
			return elf_file_section_at(f, i, out);
	return err ? err : -ENOENT;
}

static bool zdebug_name_is(const char *have, const char *want)
{
	return want[0] == '.' && want[1] == 'd' && have[0] == '.' && have[1] == 'z' &&
	       strcmp(have + 2, want + 1) == 0;
}

/* -EBADMSG: the last one does not end. */
static int section_names(struct elf_file *f, struct elf_section *out)
{
	uint32_t index = f->ehdr.e_shstrndx;
	int err = elf_file_need_sections(f);

	if (err)
		return err;
	if (index == SHN_XINDEX && f->n_shdrs)
		index = f->shdrs[0].sh_link;
	err = elf_file_section_at(f, index, out);
	if (err)
		return err;
	return out->len && !((const char *)out->data)[out->len - 1] ? 0 : -EBADMSG;
}

/* NULL: it has none. */
static const char *name_of(const struct elf_file *f, uint32_t index, const struct elf_section *names)
{
	uint32_t at = f->shdrs[index].sh_name;

	return at < names->len ? (const char *)names->data + at : NULL;
}

/* Behind the index `after`. -ENOENT: there is none with content. */
static int find_named(struct elf_file *f, const char *name, uint32_t after, uint32_t *index, bool *is_zdebug)
{
	struct elf_section names;
	const char *have;
	uint32_t i;
	int err = section_names(f, &names);

	if (err)
		return err;
	for (i = after + 1; i < f->n_shdrs; i++) {
		have = f->shdrs[i].sh_type == SHT_NOBITS ? NULL : name_of(f, i, &names);
		if (!have)
			continue;
		*index = i;
		*is_zdebug = zdebug_name_is(have, name);
		if (*is_zdebug || strcmp(have, name) == 0)
			return 0;
	}
	return -ENOENT;
}

int elf_file_section_after(struct elf_file *f, const char *name, uint32_t after, struct elf_section *out)
{
	bool is_zdebug;
	uint32_t index;
	int err = find_named(f, name, after, &index, &is_zdebug);

	return err ? err : section_at(f, index, is_zdebug, out);
}

int elf_file_section(struct elf_file *f, const char *name, struct elf_section *out)
{
	return elf_file_section_after(f, name, 0, out);
}

int elf_file_section_place(struct elf_file *f, const char *name, struct elf_section *out, uint64_t *offset)
{
	const Elf64_Shdr *shdr;
	bool is_zdebug;
	uint32_t index;
	int err = find_named(f, name, 0, &index, &is_zdebug);

	if (err)
		return err;
	shdr = &f->shdrs[index];
	if (f->image || is_zdebug || shdr->sh_flags & SHF_COMPRESSED || elf_relocate_needed(f, index))
		return -ENOTSUP;
	if (!elf_file_within(f, shdr->sh_offset, shdr->sh_size))
		return -EBADMSG;
	*out = (struct elf_section){ .len = shdr->sh_size, .address = shdr->sh_addr, .index = index };
	*offset = shdr->sh_offset;
	return 0;
}

bool elf_file_has_section(struct elf_file *f, const char *name)
{
	bool is_zdebug;
	uint32_t index;

	return !find_named(f, name, 0, &index, &is_zdebug);
}

bool elf_file_section_around(const struct elf_file *f, uint64_t address, uint32_t *index, uint64_t *start,
                             uint64_t *end)
{
	elf_file_need_sections(f);
	for (*index = 1; *index < f->n_shdrs; ++*index)
		if (elf_file_section_range(f, *index, start, end) && address >= *start && address < *end)
			return true;
	return false;
}

bool elf_file_section_range_named(struct elf_file *f, const char *name, uint64_t *start, uint64_t *end)
{
	struct elf_section names;
	const char *have;
	uint32_t i;

	if (section_names(f, &names))
		return false;
	for (i = 1; i < f->n_shdrs; i++) {
		have = name_of(f, i, &names);
		if (have && strcmp(have, name) == 0 && elf_file_section_range(f, i, start, end))
			return true;
	}
	return false;
}
