/*
 * Reads which static probes a file has from its notes in .note.stapsdt (stalltag/usdt.h describes them), and finds
 * the file offsets of each probe and of its semaphore, which the kernel needs to attach to it.
 */
#ifndef STALLPROF_PROFILER_USDT_NOTES_H
#define STALLPROF_PROFILER_USDT_NOTES_H

#include <stdint.h>

struct elf_headers;

struct usdt_note {
	const char *provider, *name; /* valid during the call */
	/* ELF addresses, as they were when `base` was that of .stapsdt.base; no semaphore: 0. */
	uint64_t address, base, semaphore;
};

/* Calls `each` for each note; those after a malformed one are not looked at. 0 or -errno, as
 * elf_headers_section_content(). */
int usdt_notes_each(const struct elf_headers *headers, void (*each)(void *ctx, const struct usdt_note *note),
                    void *ctx);

struct usdt_site {
	uint64_t offset, semaphore; /* in the file; no semaphore: 0 */
};

/* -EBADMSG: they lie in no segment of the file. */
int usdt_note_site(const struct elf_headers *headers, const struct usdt_note *note, struct usdt_site *out);

#endif
