/* Parses the notes of .note.stapsdt, and finds each probe's place in the file. */

#include "profiler/tracer/usdt_notes.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "profiler/tracer/elf_headers.h"

#define NOTES_BYTES_MAX (1 << 20)
#define NOTE_TYPE       3
#define ADDRESSES       3 /* of the probe, of the base, of the semaphore */
#define ALIGNED(n)      (((n) + 3) & ~(size_t)3)

/* The description: the addresses, then provider, name and arguments, each with its NUL. */
static bool parse(const char *text, size_t bytes, struct usdt_note *out)
{
	uint64_t addresses[ADDRESSES];
	size_t len;

	if (bytes <= sizeof(addresses))
		return false;
	memcpy(addresses, text, sizeof(addresses));
	text += sizeof(addresses);
	bytes -= sizeof(addresses);
	len = strnlen(text, bytes);
	if (len + 1 >= bytes || strnlen(text + len + 1, bytes - len - 1) == bytes - len - 1)
		return false;
	*out = (struct usdt_note){ text, text + len + 1, addresses[0], addresses[1], addresses[2] };
	return true;
}

static void each_of_section(const char *notes, size_t bytes,
                            void (*each)(void *ctx, const struct usdt_note *note), void *ctx)
{
	struct usdt_note note;

	while (bytes >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		size_t name_bytes, desc_bytes;

		memcpy(&head, notes, sizeof(head));
		notes += sizeof(head);
		bytes -= sizeof(head);
		name_bytes = ALIGNED((size_t)head.n_namesz);
		desc_bytes = ALIGNED((size_t)head.n_descsz);
		if (name_bytes > bytes || desc_bytes > bytes - name_bytes)
			break;
		if (head.n_type == NOTE_TYPE && head.n_namesz == 8 && !memcmp(notes, "stapsdt", 8) &&
		    parse(notes + name_bytes, head.n_descsz, &note))
			each(ctx, &note);
		notes += name_bytes + desc_bytes;
		bytes -= name_bytes + desc_bytes;
	}
}

int usdt_notes_each(const struct elf_headers *headers, void (*each)(void *ctx, const struct usdt_note *note),
                    void *ctx)
{
	for (size_t i = 0; i < headers->n_sections; i++) {
		const Elf64_Shdr *section = &headers->sections[i];
		char *notes;
		int err;

		if (section->sh_type != SHT_NOTE ||
		    strcmp(elf_headers_section_name(headers, section), ".note.stapsdt"))
			continue;
		err = elf_headers_section_content(headers, section, NOTES_BYTES_MAX, &notes);
		if (err)
			return err;
		each_of_section(notes, section->sh_size, each, ctx);
		elf_headers_content_free(notes);
	}
	return 0;
}

/* --- places in the file --------------------------------------------------------------------------- */

/* How far the file was moved after its notes were written, by prelink for instance, which leaves them as they are. */
static uint64_t moved_by(const struct elf_headers *headers, const struct usdt_note *note)
{
	for (size_t i = 0; note->base && i < headers->n_sections; i++)
		if (!strcmp(elf_headers_section_name(headers, &headers->sections[i]), ".stapsdt.base"))
			return headers->sections[i].sh_addr - note->base;
	return 0;
}

int usdt_note_site(const struct elf_headers *headers, const struct usdt_note *note, struct usdt_site *out)
{
	uint64_t moved = moved_by(headers, note);
	int err = elf_headers_offset_of(headers, note->address + moved, &out->offset);

	out->semaphore = 0;
	if (err || !note->semaphore)
		return err;
	return elf_headers_offset_of(headers, note->semaphore + moved, &out->semaphore);
}
