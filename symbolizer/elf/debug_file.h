/* Finds the file with another file's debug information, by build-id and by debug link. */
#ifndef SYMBOLIZER_DEBUG_FILE_H
#define SYMBOLIZER_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/elf/elf_file.h"

#define BUILD_ID_HEX_SIZE 129 /* 64 bytes in hex, and a NUL */

/* The NT_GNU_BUILD_ID note in lower-case hex; "" when there is none. */
void debug_file_build_id(struct elf_file *f, char hex[BUILD_ID_HEX_SIZE]);

/* The same from ELF notes in memory. Returns 1 when it is among them, else 0. */
int debug_file_build_id_in_notes(const uint8_t *notes, size_t len, char hex[BUILD_ID_HEX_SIZE]);

/* Where to look. */
struct debug_file_place {
	const char *debug_dir;   /* /usr/lib/debug: ours, and below `root` the process's own */
	const char *fetched_dir; /* another folder with .build-id in it, ours only; NULL: none */
	const char *root;        /* that of the process: "", or PROC/PID/root */
	const char *path;        /* the file's path, as its process sees it */
};

/* Has the process ended whose root that is, so that nothing is found there? Asks no file system but /proc. */
bool debug_file_root_has_gone(const char *root);

/*
 * Opens the separate debug file of `f`: .build-id/ab/cdef.debug in DEBUG_DIR, FETCHED_DIR and the DEBUG_DIR below
 * ROOT, when its build-id is the same; else by .gnu_debuglink beside the file, in .debug/ beside it, and in
 * either DEBUG_DIR/its folder; there the build-id, or without one the CRC, has to agree. -ENOENT: none; -EFBIG: none, and one
 * was too large for its CRC to be computed.
 *
 * What lies beside the file is as hostile as the file. Only regular files are opened, of any size (1 GiB at most
 * when the CRC has to be computed); only those in our own folders that nobody but root or we may write to are
 * mapped, and only from file systems that keep their pages (regular_file_keeps_pages()). Below ROOT every path is resolved as for the process: no link and no ".." leads out of it.
 */
int debug_file_open(struct elf_file *f, const struct debug_file_place *place, size_t max_bytes,
                    struct elf_file **out);

/*
 * The file that dwz moved shared debug information into, named by .gnu_debugaltlink or .debug_sup of `debug`: looked for in
 * DEBUG_DIR by build-id and by name (leading "../" left out), beside the file, and, when the name is
 * absolute, below ROOT, or on our own root in DEBUG_DIR only. The same rules. -ENOENT: none; -EBADMSG.
 */
int debug_file_open_alt(struct elf_file *debug, const struct debug_file_place *place, size_t max_bytes,
                        struct elf_file **out);

/*
 * Opens the file that the process calls `path` (place->path is not used). It may be any ELF file:
 * the caller checks that it is the right one. With an empty ROOT `path` is one of ours. -errno; -EBADMSG: no regular
 * file, or no ELF.
 */
int debug_file_open_path(const struct debug_file_place *place, const char *path, size_t max_bytes,
                         struct elf_file **out);

#endif
