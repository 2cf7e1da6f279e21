/* Files that are looked at by themselves, mapped nowhere: executables, libraries, vmlinux, kernel modules. */
#ifndef SYMBOLIZER_LONE_FILE_H
#define SYMBOLIZER_LONE_FILE_H

#include "symbolizer/symbolizer.h"

/* Frees a whole list of them, for symbolizer_free(). NULL: an empty one. */
void lone_files_free(struct sym_file *first);

/* object_save() for all of them. True: some index was written. */
bool lone_files_save(struct sym_file *first, bool last);

/* What their tables and theirs alone hold. */
size_t lone_files_memory(const struct sym_file *first);

#endif
