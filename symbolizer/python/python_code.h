/* One code object, read out of a process: what is needed to name its frames without reading again. */
#ifndef SYMBOLIZER_PYTHON_CODE_H
#define SYMBOLIZER_PYTHON_CODE_H

#include "symbolizer/python/python.h"

#define PYTHON_LINES_MAX_BYTES                                                                               \
	((size_t)1 << 20) /* of one line table; of a longer one the beginning is kept */

struct python_memory {
	const struct sym_python_layout *layout;
	sym_python_read read;
	void *context;
};

struct python_code {
	uint64_t address, fingerprint;
	char *function, *file;
	int32_t first_line;
	int32_t first_traceable; /* unit before which nothing of the function has run; 0 before 3.11 */
	uint64_t n_units; /* of two bytes: instructions with their caches; 0: before 3.11, not needed */
	uint64_t
	        copy; /* free-threaded 3.14: a thread's copy of the instructions that was asked for; 0: none */
	size_t lines_bytes;
	uint8_t lines[];
};

/*
 * Reads the code object at an address; the caller frees *out by python_code_free(). -ESTALE: the object there has another
 * fingerprint, or is no code object; -errno of reading; -EBADMSG: malformed name or line table; -ENOMEM.
 */
int python_code_read(const struct python_memory *memory, uint64_t address, uint64_t fingerprint,
                     struct python_code **out);

/* NULL is allowed. */
void python_code_free(struct python_code *code);
size_t python_code_memory(const struct python_code *code);

/*
 * The line of the frame whose instruction pointer or f_lasti this is. 0: not known. `memory` NULL: the process
 * is gone. -ENODATA: the frame is one that is not shown.
 */
int python_code_line(struct python_code *code, const struct sym_python_layout *layout,
                     const struct python_memory *memory, uint64_t instr, uint32_t *line);

#endif
