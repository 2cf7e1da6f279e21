/* Names Python frames, with a cache of the code objects that were read from the process. */

#include "symbolizer/python/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "symbolizer/python/python_code.h"

#define GONE           "[python code gone]"
#define NO_NAME        "[no name]" /* a program may give its functions any name, but a frame has to have one */
#define MAX_CODE_BYTES ((size_t)16 << 20) /* of code objects of one process; over it all are forgotten */

struct code_key {
	uint64_t address, fingerprint;
};

struct entry {
	struct code_key key;
	struct python_code *code;
	UT_hash_handle hh;
};

struct sym_python {
	struct sym_python_layout layout;
	struct python_memory memory; /* `read` NULL: detached */
	struct entry *entries;
	struct sym_python_stats stats;
};

static size_t entry_bytes(const struct entry *e)
{
	return sizeof(*e) + python_code_memory(e->code);
}

static void forget_all(struct sym_python *py)
{
	struct entry *e, *next;

	HASH_ITER (hh, py->entries, e, next) {
		HASH_DEL(py->entries, e);
		python_code_free(e->code);
		free(e);
	}
	py->stats.memory_bytes = 0;
}

int sym_python_open(const struct sym_python_layout *layout, sym_python_read read, void *context,
                    struct sym_python **out)
{
	struct sym_python *py = calloc(1, sizeof(*py));

	if (!py)
		return -ENOMEM;
	py->layout = *layout;
	py->memory = (struct python_memory){ .layout = &py->layout, .read = read, .context = context };
	*out = py;
	return 0;
}

void sym_python_detach(struct sym_python *py)
{
	py->memory.read = NULL;
}

void sym_python_close(struct sym_python *py)
{
	if (!py)
		return;
	forget_all(py);
	free(py);
}

/* NULL: no memory; the code object is not kept then. */
static struct entry *keep(struct sym_python *py, struct python_code *code)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e) {
		python_code_free(code);
		return NULL;
	}
	e->key = (struct code_key){ .address = code->address, .fingerprint = code->fingerprint };
	e->code = code;
	if (py->stats.memory_bytes + entry_bytes(e) > MAX_CODE_BYTES) {
		py->stats.code_evicted += HASH_COUNT(py->entries);
		forget_all(py);
	}
	HASH_ADD(hh, py->entries, key, sizeof(e->key), e);
	if (!e->hh.tbl) {
		python_code_free(code);
		free(e);
		return NULL;
	}
	py->stats.memory_bytes += entry_bytes(e);
	return e;
}

static struct entry *find_code(struct sym_python *py, const struct sym_python_step *step)
{
	struct code_key key = { .address = step->code, .fingerprint = step->fingerprint };
	struct python_code *code;
	struct entry *e;

	HASH_FIND(hh, py->entries, &key, sizeof(key), e);
	if (e || !py->memory.read)
		return e;
	if (python_code_read(&py->memory, step->code, step->fingerprint, &code))
		return NULL;
	py->stats.code_read++;
	return keep(py, code);
}

int sym_python_frame(struct sym_python *py, const struct sym_python_step *step, struct sym_frame *out)
{
	const struct python_memory *memory = py->memory.read ? &py->memory : NULL;
	struct entry *e = step->code ? find_code(py, step) : NULL;
	uint32_t line = 0;

	if (!step->code || (e && python_code_line(e->code, &py->layout, memory, step->instr, &line))) {
		py->stats.frames_not_shown++;
		return -ENODATA;
	}
	if (!e) {
		*out = (struct sym_frame){ .function = GONE };
		py->stats.frames_gone++;
		return -ESTALE;
	}
	*out = (struct sym_frame){ .function = *e->code->function ? e->code->function : NO_NAME,
		                   .file = e->code->file,
		                   .line = line };
	py->stats.frames_named++;
	py->stats.lines_unknown += !line;
	return 0;
}

void sym_python_stats(const struct sym_python *py, struct sym_python_stats *out)
{
	*out = py->stats;
}

static bool is_evaluator_call(const struct sym_python_layout *layout, uint64_t address)
{
	size_t i;

	for (i = 0; i < SYM_PYTHON_EVALUATOR_CALLS && layout->evaluator_calls[i]; i++)
		if (address == layout->evaluator_calls[i] - 1)
			return true;
	return false;
}

enum sym_python_native sym_python_native_kind(const struct sym_python_layout *layout, uint64_t address,
                                              const char *function)
{
	static const char evaluator[] = "_PyEval_EvalFrameDefault", part[] = "_TAIL_CALL_", caller[] = "py::";
	size_t len = sizeof(evaluator) - 1, i;

	if (is_evaluator_call(layout, address))
		return SYM_PYTHON_EVALUATOR_AND_CALLED;
	for (i = 0; i < SYM_PYTHON_EVALUATOR_RANGES; i++)
		if (address >= layout->evaluator[i].start && address < layout->evaluator[i].end)
			return SYM_PYTHON_EVALUATOR;
	/* Parts that the compiler split off have a suffix: .cold, .part.0, .constprop.0 */
	if (strncmp(function, evaluator, len) == 0 && (!function[len] || function[len] == '.'))
		return SYM_PYTHON_EVALUATOR;
	if (!strncmp(function, part, sizeof(part) - 1))
		return SYM_PYTHON_EVALUATOR_PART;
	return strncmp(function, caller, sizeof(caller) - 1) != 0 ? SYM_PYTHON_NOT_EVALUATOR
	                                                          : SYM_PYTHON_EVALUATOR_CALLER;
}
