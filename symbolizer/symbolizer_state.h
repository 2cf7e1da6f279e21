/* What a `struct symbolizer` is made of. */
#ifndef SYMBOLIZER_SYMBOLIZER_STATE_H
#define SYMBOLIZER_SYMBOLIZER_STATE_H

#include "symbolizer/kernel.h"
#include "symbolizer/process.h"

struct symbolizer {
	struct intern *strings;
	struct object_environment env;
	struct object_cache *objects;
	struct kernel *kernel;
	struct sym_process *processes; /* uthash by key */
	uint64_t versions;             /* that processes' mappings have had */
	struct unwind_cache *unwound;  /* NULL before the first stack */
	uint64_t unwound_generation;   /* of `objects`, whose rules are in it */
	struct sym_file *files;        /* the last one opened */
	char *debug_dir, *fetched_dir, *proc;
	struct index_folder *folder; /* NULL: none */
	int folder_err;              /* why there is none, though one is wanted */
	struct symbolizer_stats stats;
	struct sym_frame single; /* of results that have no frames of their own */
	char unnamed[512];       /* its name, when that tells just an address: there is no end to those */
};

/* Fills in frames and source, and counts. Without frames in the answer: "[no symbols: FILE+0xADDRESS]". */
void symbolizer_answer(struct symbolizer *s, const struct object_answer *answer, const char *file,
                       struct sym_result *out);

#endif
