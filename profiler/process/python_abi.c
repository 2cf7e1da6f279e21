/* Turns offsets of CPython's structs into ranges to read, and offsets in those. */

#include "profiler/process/python_abi.h"

#include "bpf/abi.h"
#include "symbolizer/python/python.h"

_Static_assert(ABI_PYTHON_FRAME_BYTES <= UINT16_MAX && ABI_PYTHON_CODE_BYTES <= UINT16_MAX,
               "offsets are u16");

static uint32_t entry_kind(const struct sym_python_layout *layout)
{
	if (layout->frame_entry != SYM_PYTHON_ABSENT)
		return ABI_PYTHON_ENTRY_BYTE;
	return layout->frame_owner != SYM_PYTHON_ABSENT ? ABI_PYTHON_ENTRY_SHIM : ABI_PYTHON_ENTRY_EACH;
}

/* Finds the range to read for fields at these offsets: *from and *bytes. The offsets become relative to it. */
static void narrow(uint32_t *const fields[], size_t n, uint32_t *from, uint32_t *bytes)
{
	uint32_t end = 0;
	size_t i;

	*from = UINT32_MAX;
	for (i = 0; i < n; i++) {
		if (*fields[i] < *from)
			*from = *fields[i];
		if (*fields[i] + 8 > end)
			end = *fields[i] + 8;
	}
	for (i = 0; i < n; i++)
		*fields[i] -= *from;
	*bytes = end - *from;
}

bool python_abi_layout(const struct sym_python_layout *from, struct abi_python *to)
{
	uint32_t *const frame[] = { &to->frame_previous, &to->frame_code, &to->frame_instr,
		                    &to->frame_entry };
	uint32_t *const code[] = { &to->code_name, &to->code_file, &to->code_lines, &to->code_first_line };
	uint32_t kind = entry_kind(from);

	*to = (struct abi_python){
		.interpreters = from->runtime + from->interpreters_head,
		.code_mask = from->executable_mask,
		.interpreter_next = from->interp_next,
		.interpreter_threads = from->interp_threads_head,
		.thread_next = from->tstate_next,
		.thread_id = from->tstate_thread_id,
		.thread_frame = from->tstate_frame,
		.frame_indirect = from->cframe_current_frame != SYM_PYTHON_ABSENT,
		.cframe_frame = from->cframe_current_frame,
		.frame_previous = from->frame_previous,
		.frame_code = from->frame_executable,
		.frame_instr = from->frame_instr,
		.frame_entry = from->frame_executable, /* not looked at */
		.instr_bytes = from->is_lasti ? 4 : 8,
		.entry_kind = kind,
		.shim = from->shim_owner,
		.code_name = from->code_name,
		.code_file = from->code_filename,
		.code_lines = from->code_linetable,
		.code_first_line = from->code_firstlineno,
	};
	if (kind != ABI_PYTHON_ENTRY_EACH)
		to->frame_entry = kind == ABI_PYTHON_ENTRY_BYTE ? from->frame_entry : from->frame_owner;
	narrow(frame, sizeof(frame) / sizeof(frame[0]), &to->frame_from, &to->frame_bytes);
	narrow(code, sizeof(code) / sizeof(code[0]), &to->code_from, &to->code_bytes);
	return to->frame_bytes <= ABI_PYTHON_FRAME_BYTES && to->code_bytes <= ABI_PYTHON_CODE_BYTES;
}
