/* Files given by path, which no process has mapped: executables, libraries, vmlinux, kernel modules. */
#ifndef SYMBOLIZER_LONE_FILE_H
#define SYMBOLIZER_LONE_FILE_H

#include "symbolizer/answer.h"

/* The files of one symbolizer. `env` and `room` outlive them. */
struct lone_files {
	const struct object_environment *env;
	struct answer_room *room;
	struct sym_file *first; /* the last one opened */
};

/* As symbolizer_file() and symbolizer_file_find(). */
int lone_files_open(struct lone_files *files, const char *path, struct sym_file **out);
int lone_file_find(struct sym_file *f, const char *section, uint64_t address, struct sym_result *out);

void lone_files_free(struct lone_files *files);

/* object_save() for all of them. True: some index was written. */
bool lone_files_save(struct lone_files *files, bool last);

/* Bytes of the tables that belong to these files alone. */
size_t lone_files_memory(const struct lone_files *files);

#endif
