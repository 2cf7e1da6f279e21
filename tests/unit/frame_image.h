/* Makes an ELF file in memory with nothing but sections of call frame information. */
#ifndef STALLPROF_TESTS_FRAME_IMAGE_H
#define STALLPROF_TESTS_FRAME_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_IMAGE_SECTIONS 3

struct frame_section {
	const void *data; /* NULL: the file lacks it; else the image's copy may be changed afterwards */
	size_t len;
	uint64_t address;
};

struct frame_image {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[FRAME_IMAGE_SECTIONS + 2];
	char names[64];
	uint8_t content[];
};

/*
 * `sections` are .eh_frame, .debug_frame and .eh_frame_hdr. The caller frees the result; *len becomes its size. NULL:
 * no memory.
 */
static inline struct frame_image *frame_image_new(uint16_t machine, const struct frame_section *sections,
                                                  size_t *len)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.eh_frame_hdr\0.shstrtab";
	static const uint32_t at[FRAME_IMAGE_SECTIONS + 1] = { 1, 11, 24, 38 };
	size_t i, used = 0, size = sizeof(struct frame_image);
	struct frame_image *image;

	for (i = 0; i < FRAME_IMAGE_SECTIONS; i++)
		size += sections[i].data ? sections[i].len : 0;
	image = calloc(1, size);
	if (!image)
		return NULL;
	memcpy(image->ehdr.e_ident, ELFMAG, SELFMAG);
	image->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	image->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	image->ehdr.e_machine = machine;
	image->ehdr.e_shoff = offsetof(struct frame_image, shdrs);
	image->ehdr.e_shentsize = sizeof(Elf64_Shdr);
	image->ehdr.e_shnum = FRAME_IMAGE_SECTIONS + 2;
	image->ehdr.e_shstrndx = FRAME_IMAGE_SECTIONS + 1;
	memcpy(image->names, names, sizeof(names));
	for (i = 0; i < FRAME_IMAGE_SECTIONS; i++) {
		if (!sections[i].data)
			continue;
		image->shdrs[i + 1] = (Elf64_Shdr){ .sh_name = at[i],
			                            .sh_type = SHT_PROGBITS,
			                            .sh_flags = SHF_ALLOC,
			                            .sh_addr = sections[i].address,
			                            .sh_offset = offsetof(struct frame_image, content) + used,
			                            .sh_size = sections[i].len };
		memcpy(image->content + used, sections[i].data, sections[i].len);
		used += sections[i].len;
	}
	image->shdrs[i + 1] = (Elf64_Shdr){ .sh_name = at[i],
		                            .sh_type = SHT_STRTAB,
		                            .sh_offset = offsetof(struct frame_image, names),
		                            .sh_size = sizeof(image->names) };
	*len = size;
	return image;
}

#endif
