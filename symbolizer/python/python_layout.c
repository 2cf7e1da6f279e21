/*
 * Where the numbers come from: the headers of CPython 3.8.18, 3.9.2, 3.9.18, 3.10.13, 3.11.2, 3.11.7 and
 * 3.12.1, for x86-64; tests/unit/data/python_layout.c compiles a program against a version's headers that prints them.
 * Debug builds have the same, builds with Py_TRACE_REFS others. The order of _Py_DebugOffsets' words is that of
 * 3.13.0, 3.13.18 and 3.14.10, where it is promised to stay within a version.
 */
#include "symbolizer/python/python_layout.h"

#include <errno.h>
#include <string.h>

#define ABSENT      SYM_PYTHON_ABSENT
#define TAG_MASK    (~7ull) /* objects are aligned to 8 bytes at least */
#define OWNER_SHIM  3       /* 3.12, 3.13: the C stack; 3.14: the interpreter, and above it the C stack */
#define HEAP_OBJECT 8       /* ob_type */
#define OFFSET_MAX  0x7fff

/* Strings and byte strings were the same in all of 3.8 - 3.11; then the strings lost a field. */
#define OBJECTS_38_TO_311                                                                                    \
	.ob_type = HEAP_OBJECT, .bytes_size = 16, .bytes_value = 32, .unicode_length = 16,                   \
	.unicode_state = 32, .unicode_ascii_size = 48, .unicode_compact_size = 72

#define COMMON_38_TO_310                                                                                     \
	.is_lasti = true, .interpreters_head = 32, .interp_next = 0, .interp_threads_head = 8,               \
	.tstate_next = 8, .tstate_thread_id = 176, .tstate_native_thread_id = ABSENT, .tstate_frame = 24,    \
	.cframe_current_frame = ABSENT, .frame_previous = 24, .frame_executable = 32, .frame_owner = ABSENT, \
	.shim_owner = ABSENT, .frame_entry = ABSENT, .code_firstlineno = 40, .code_filename = 104,           \
	.code_name = 112, .code_linetable = 120, .code_qualname = ABSENT, .code_adaptive = ABSENT,           \
	OBJECTS_38_TO_311

/* clang-format off */
static const struct sym_python_layout tables[] = {
	{ .version = 0x0308, .frame_instr = 104, .frame_size = 108, COMMON_38_TO_310 },
	{ .version = 0x0309, .frame_instr = 104, .frame_size = 108, COMMON_38_TO_310 },
	{ .version = 0x030a, .frame_instr = 96, .frame_size = 100, COMMON_38_TO_310 },
	{ .version = 0x030b,
	  .interpreters_head = 40, .interp_next = 0, .interp_threads_head = 16,
	  .tstate_next = 8, .tstate_thread_id = 152, .tstate_native_thread_id = 160,
	  .tstate_frame = 56, .cframe_current_frame = 8,
	  .frame_size = 70, .frame_previous = 48, .frame_executable = 32, .frame_instr = 56,
	  .frame_owner = ABSENT, .shim_owner = ABSENT, .frame_entry = 68,
	  .code_firstlineno = 72, .code_filename = 112, .code_name = 120, .code_linetable = 136,
	  .code_qualname = 128, .code_adaptive = 184, OBJECTS_38_TO_311 },
	{ .version = 0x030c,
	  .interpreters_head = 40, .interp_next = 0, .interp_threads_head = 72,
	  .tstate_next = 8, .tstate_thread_id = 136, .tstate_native_thread_id = 144,
	  .tstate_frame = 56, .cframe_current_frame = 0,
	  .frame_size = 71, .frame_previous = 8, .frame_executable = 0, .frame_instr = 56,
	  .frame_owner = 70, .shim_owner = OWNER_SHIM, .frame_entry = ABSENT,
	  .code_firstlineno = 68, .code_filename = 112, .code_name = 120, .code_linetable = 136,
	  .code_qualname = 128, .code_adaptive = 192,
	  .ob_type = HEAP_OBJECT, .bytes_size = 16, .bytes_value = 32, .unicode_length = 16,
	  .unicode_state = 32, .unicode_ascii_size = 40, .unicode_compact_size = 56 },
};
/* clang-format on */

/*
 * _Py_DebugOffsets has it not. It is an int in a word of its own; then comes co_extra, in a free-threaded 3.14
 * co_tlbc, then the instructions.
 */
static uint16_t firsttraceable(const struct sym_python_layout *layout)
{
	uint16_t behind = layout->code_tlbc == ABSENT ? 16 : 24;

	return layout->code_adaptive == ABSENT || layout->code_adaptive < behind
	               ? ABSENT
	               : layout->code_adaptive - behind;
}

int python_layout_by_table(uint16_t version, struct sym_python_layout *out)
{
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (tables[i].version != version)
			continue;
		*out = tables[i];
		out->executable_mask = TAG_MASK;
		out->code_tlbc = ABSENT;
		out->code_firsttraceable = firsttraceable(out);
		return 0;
	}
	return -ENOTSUP;
}

/* --- _Py_DebugOffsets --------------------------------------------------------------------------- */

#define COOKIE          0x7970677562656478ull /* "xdebugpy" */
#define RELEASE_LEVEL   0xf0                  /* of the version number */
#define RELEASE_RC      0xc0
#define WORD_COOKIE     0
#define WORD_VERSION    1
#define WORD_THREADING  2
#define UNICODE_POINTER 8 /* by which PyUnicodeObject is longer than PyCompactUnicodeObject */

/* Which word of _Py_DebugOffsets goes where. */
struct word_use {
	uint8_t word_313, word_314; /* 0: that version has none */
	uint16_t field;             /* offset in struct sym_python_layout of a uint16_t */
};

#define USE(word_313, word_314, name)                                                                        \
	{                                                                                                    \
		word_313, word_314, offsetof(struct sym_python_layout, name)                                 \
	}
static const struct word_use uses[] = {
	USE(5, 5, interpreters_head),
	USE(8, 8, interp_next),
	USE(9, 9, interp_threads_head),
	USE(21, 24, tstate_next),
	USE(23, 26, tstate_frame),
	USE(24, 27, tstate_thread_id),
	USE(25, 28, tstate_native_thread_id),
	USE(29, 32, frame_previous),
	USE(30, 33, frame_executable),
	USE(31, 34, frame_instr),
	USE(33, 36, frame_owner),
	USE(35, 40, code_filename),
	USE(36, 41, code_name),
	USE(37, 42, code_qualname),
	USE(38, 43, code_linetable),
	USE(39, 44, code_firstlineno),
	USE(43, 48, code_adaptive),
	USE(0, 49, code_tlbc),
	USE(45, 51, ob_type),
	USE(65, 75, bytes_size),
	USE(66, 76, bytes_value),
	USE(67, 77, unicode_compact_size),
	USE(68, 78, unicode_state),
	USE(69, 79, unicode_length),
	USE(70, 80, unicode_ascii_size),
};

static void put_field(struct sym_python_layout *layout, const struct word_use *use, uint16_t value)
{
	memcpy((char *)layout + use->field, &value, sizeof(value));
}

static int take_words(const uint64_t *words, size_t n, struct sym_python_layout *out)
{
	size_t i, word;

	for (i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		word = out->version == 0x030d ? uses[i].word_313 : uses[i].word_314;
		if (word && (word >= n || words[word] > OFFSET_MAX))
			return -EBADMSG;
		put_field(out, &uses[i], word ? (uint16_t)words[word] : ABSENT);
	}
	return 0;
}

/* What has to be read of a frame, from its beginning. */
static uint16_t frame_extent(const struct sym_python_layout *layout)
{
	const uint16_t words[] = { layout->frame_previous, layout->frame_executable, layout->frame_instr };
	uint16_t extent = layout->frame_owner + 1;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (extent < words[i] + 8)
			extent = words[i] + 8;
	return extent;
}

static int known_version(uint64_t version)
{
	uint64_t minor = version >> 16;

	if ((minor != 0x030d && minor != 0x030e) || (version & RELEASE_LEVEL) < RELEASE_RC)
		return -ENOTSUP;
	return (int)minor;
}

int python_layout_by_debug_offsets(const uint64_t *words, size_t n, struct sym_python_layout *out)
{
	int version, err;

	if (n <= WORD_THREADING || words[WORD_COOKIE] != COOKIE)
		return -EBADMSG;
	version = known_version(words[WORD_VERSION]);
	if (version < 0)
		return version;
	*out = (struct sym_python_layout){ .version = (uint16_t)version,
		                           .free_threaded = words[WORD_THREADING] != 0,
		                           .executable_mask = TAG_MASK,
		                           .cframe_current_frame = ABSENT,
		                           .frame_entry = ABSENT,
		                           .shim_owner = OWNER_SHIM };
	err = take_words(words, n, out);
	if (err)
		return err;
	if (!out->free_threaded)
		out->code_tlbc = ABSENT;
	if (out->unicode_compact_size < UNICODE_POINTER)
		return -EBADMSG;
	out->unicode_compact_size -= UNICODE_POINTER;
	out->code_firsttraceable = firsttraceable(out);
	out->frame_size = frame_extent(out);
	return 0;
}
