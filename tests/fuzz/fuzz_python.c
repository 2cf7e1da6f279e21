/*
 * Fuzzes the memory of a process that claims to be a Python: its objects may be anything. The first bytes choose the
 * version, or give _Py_DebugOffsets; all are the memory, again and again at ever higher addresses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/python/python.h"
#include "symbolizer/python/python_file.h"
#include "symbolizer/python/python_layout.h"
#include "symbolizer/python/python_lines.h"

#define MAX_STEPS 64
#define MAX_READS 100000 /* of one input: a walk of its own has a bound, but a high one */

struct memory {
	const uint8_t *data;
	size_t size;
	unsigned int reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(void *context, uint64_t address, void *buffer, size_t len)
{
	struct memory *m = context;
	size_t offset = address & 0xffff;

	if (m->reads++ > MAX_READS || offset > m->size || len > m->size - offset)
		return -EFAULT;
	memcpy(buffer, m->data + offset, len);
	return 0;
}

static int choose_layout(const uint8_t *data, size_t size, struct sym_python_layout *out)
{
	uint64_t words[PYTHON_DEBUG_OFFSETS_MAX] = { 0 };

	if (data[0] < 5)
		return python_layout_by_table(0x0308 + data[0], out);
	memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
	return python_layout_by_debug_offsets(words, PYTHON_DEBUG_OFFSETS_MAX, out);
}

static void name_all(const struct sym_python_layout *layout, struct memory *m,
                     const struct sym_python_step *steps, size_t n)
{
	struct sym_python *py;
	struct sym_frame frame;
	size_t i, len = 0;

	if (!sym_python_open(layout, read_memory, m, &py)) {
		for (i = 0; i < n; i++)
			if (sym_python_frame(py, &steps[i], &frame) != -ENODATA)
				len += strlen(frame.function) + (frame.file ? strlen(frame.file) : 0);
		sym_python_close(py);
	}
	if (len == SIZE_MAX)
		abort();
}

static void look_at_lines(const uint8_t *data, size_t size)
{
	int64_t offset;
	int form;

	for (form = PYTHON_LINES_LNOTAB; form <= PYTHON_LINES_LOCATIONS; form++)
		for (offset = -2; offset < 64; offset += 2)
			python_line((enum python_lines_form)form, data, size, data[0], offset);
}

static void look_at_file(const uint8_t *data, size_t size)
{
	struct sym_python_layout layout;
	struct elf_file *f;

	if (elf_file_open_image(data, size, 1 << 20, &f))
		return;
	python_file_layout(f, &layout);
	elf_file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = { .data = data, .size = size };
	struct sym_python_layout layout;
	struct sym_python_step steps[MAX_STEPS];
	size_t n;

	if (!size)
		return 0;
	look_at_lines(data, size);
	look_at_file(data, size);
	if (choose_layout(data, size, &layout))
		return 0;
	layout.runtime = 0x10000;
	sym_python_walk(&layout, read_memory, &m, 0, steps, MAX_STEPS, &n);
	name_all(&layout, &m, steps, n);
	return 0;
}
