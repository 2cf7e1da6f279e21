/* What a `struct symbolizer` is made of. */
#ifndef SYMBOLIZER_SYMBOLIZER_STATE_H
#define SYMBOLIZER_SYMBOLIZER_STATE_H

#include "symbolizer/answer.h"
#include "symbolizer/kernel/kernel.h"
#include "symbolizer/lone_file.h"
#include "symbolizer/process.h"

struct symbolizer {
	struct intern *paths; /* and build-ids, of what processes have mapped */
	struct object_environment env;
	struct object_cache *objects;
	struct kernel *kernel;
	struct sym_process *processes; /* uthash by key */
	struct process_environment of_processes;
	struct unwind_cache *unwound;
	uint64_t unwound_generation; /* of `objects`, whose rules are in it */
	struct lone_files files;
	char *debug_dir, *fetched_dir, *proc;
	struct index_dir *dir; /* NULL: none */
	int dir_err;           /* why there is none, though one is wanted */
	struct symbolizer_stats stats;
	struct answer_room room;
};

#endif
