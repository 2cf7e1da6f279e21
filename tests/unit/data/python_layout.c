/*
 * Prints where a version of CPython keeps its fields, by its own headers: a name and a number a line. This is
 * where the table in symbolizer/python/python_layout.c comes from, and what tests/unit/symbolizer/python/test_python_layout.c checks:
 *	cc -w -I FOLDER -I FOLDER/internal -o show tests/unit/data/python_layout.c && ./show
 * FOLDER has Python.h and internal/: ~/.pyenv/versions/3.12.1/include/python3.12, /usr/include/python3.11 of
 * libpython3.11-dev.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_runtime.h"
#include "internal/pycore_interp.h"
#else
#include "internal/pycore_pystate.h"
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#elif PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#endif
#include <stddef.h>
#include <stdio.h>
#define OFFSET(name, type, field) printf(#name " %zu\n", offsetof(type, field))

int main(void)
{
	printf("version %d\n", PY_VERSION_HEX >> 16);
	OFFSET(interpreters_head, _PyRuntimeState, interpreters.head);
	OFFSET(interp_next, PyInterpreterState, next);
	OFFSET(tstate_next, PyThreadState, next);
	OFFSET(tstate_thread_id, PyThreadState, thread_id);
	OFFSET(code_firstlineno, PyCodeObject, co_firstlineno);
	OFFSET(code_filename, PyCodeObject, co_filename);
	OFFSET(code_name, PyCodeObject, co_name);
#if PY_VERSION_HEX >= 0x030b0000
	OFFSET(interp_threads_head, PyInterpreterState, threads.head);
	OFFSET(tstate_native_thread_id, PyThreadState, native_thread_id);
	OFFSET(frame_previous, _PyInterpreterFrame, previous);
	OFFSET(code_qualname, PyCodeObject, co_qualname);
	OFFSET(code_adaptive, PyCodeObject, co_code_adaptive);
	OFFSET(code_firsttraceable, PyCodeObject, _co_firsttraceable);
#else
	OFFSET(interp_threads_head, PyInterpreterState, tstate_head);
	OFFSET(tstate_frame, PyThreadState, frame);
	OFFSET(frame_previous, PyFrameObject, f_back);
	OFFSET(frame_executable, PyFrameObject, f_code);
	OFFSET(frame_instr, PyFrameObject, f_lasti);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	OFFSET(tstate_frame, PyThreadState, current_frame);
	OFFSET(frame_executable, _PyInterpreterFrame, f_executable);
	OFFSET(frame_instr, _PyInterpreterFrame, instr_ptr);
#elif PY_VERSION_HEX >= 0x030b0000
	OFFSET(tstate_frame, PyThreadState, cframe);
	OFFSET(cframe_current_frame, _PyCFrame, current_frame);
	OFFSET(frame_executable, _PyInterpreterFrame, f_code);
	OFFSET(frame_instr, _PyInterpreterFrame, prev_instr);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	OFFSET(frame_owner, _PyInterpreterFrame, owner);
#elif PY_VERSION_HEX >= 0x030b0000
	OFFSET(frame_entry, _PyInterpreterFrame, is_entry);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	printf("shim_owner %d\n", FRAME_OWNED_BY_INTERPRETER);
#elif PY_VERSION_HEX >= 0x030c0000
	printf("shim_owner %d\n", FRAME_OWNED_BY_CSTACK);
#endif
#if PY_VERSION_HEX >= 0x030a0000
	OFFSET(code_linetable, PyCodeObject, co_linetable);
#else
	OFFSET(code_linetable, PyCodeObject, co_lnotab);
#endif
	OFFSET(ob_type, PyObject, ob_type);
	OFFSET(bytes_size, PyVarObject, ob_size);
	OFFSET(bytes_value, PyBytesObject, ob_sval);
	OFFSET(unicode_length, PyASCIIObject, length);
	OFFSET(unicode_state, PyASCIIObject, state);
	printf("unicode_ascii_size %zu\nunicode_compact_size %zu\n", sizeof(PyASCIIObject),
	       sizeof(PyCompactUnicodeObject));
	return 0;
}
