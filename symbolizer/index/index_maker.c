/* Hashes the build-id of the program or library that this code is linked into. */

#include "symbolizer/index/index_maker.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "symbolizer/elf/debug_file.h"
#include "symbolizer/index/index_block.h"

static bool holds(const struct dl_phdr_info *info, uintptr_t address)
{
	ElfW(Half) i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	char *build_id = context;
	const ElfW(Phdr) * phdr;
	int found = 0;
	ElfW(Half) i;

	(void)size;
	if (!holds(info, (uintptr_t)look))
		return 0;
	for (i = 0; i < info->dlpi_phnum && !found; i++) {
		phdr = &info->dlpi_phdr[i];
		if (phdr->p_type == PT_NOTE)
			found = debug_file_build_id_in_notes(
			        (const uint8_t *)(info->dlpi_addr + phdr->p_vaddr), phdr->p_memsz, build_id);
	}
	return 1;
}

uint64_t index_maker(void)
{
	char build_id[BUILD_ID_HEX_SIZE] = "";

	dl_iterate_phdr(look, build_id);
	return *build_id ? index_checksum(build_id, strlen(build_id)) : 0;
}
