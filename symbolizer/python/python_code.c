/* Reads a code object out of a process, and finds the line of an instruction in it. */

#include "symbolizer/python/python_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/python/python_lines.h"
#include "symbolizer/python/python_text.h"

#define UNIT_BYTES  2
#define MAX_UNITS   ((uint64_t)1 << 30)
#define MAX_COPIES  65536 /* threads that have ever run */
#define PYTHON_3_10 0x030a
#define PYTHON_3_11 0x030b

/* The fields that matter, as they stand in the object. */
struct fields {
	uint64_t type, name, qualname, filename, linetable, n_units;
	int32_t first_line, first_traceable;
};

static int read_bytes(const struct python_memory *m, uint64_t address, void *buffer, size_t len)
{
	return m->read(m->context, address, buffer, len);
}

static int read_field(const struct python_memory *m, uint64_t address, uint16_t offset, uint64_t *out)
{
	*out = 0;
	if (offset == SYM_PYTHON_ABSENT)
		return 0;
	return read_bytes(m, address + offset, out, sizeof(*out));
}

static int read_fields(const struct python_memory *m, uint64_t address, struct fields *out)
{
	const struct sym_python_layout *l = m->layout;
	int err = read_field(m, address, l->ob_type, &out->type);

	if (!err)
		err = read_field(m, address, l->code_name, &out->name);
	if (!err)
		err = read_field(m, address, l->code_qualname, &out->qualname);
	if (!err)
		err = read_field(m, address, l->code_filename, &out->filename);
	if (!err)
		err = read_field(m, address, l->code_linetable, &out->linetable);
	if (!err)
		err = read_bytes(m, address + l->code_firstlineno, &out->first_line, sizeof(out->first_line));
	/* From 3.11 on a code object has its instructions in itself, and so a size, where byte strings have it. */
	out->n_units = 0;
	if (!err && l->version >= PYTHON_3_11)
		err = read_field(m, address, l->bytes_size, &out->n_units);
	out->first_traceable = 0;
	if (!err && l->code_firsttraceable != SYM_PYTHON_ABSENT)
		err = read_bytes(m, address + l->code_firsttraceable, &out->first_traceable,
		                 sizeof(out->first_traceable));
	return err;
}

static bool is_that_code(const struct sym_python_layout *l, const struct fields *f, uint64_t fingerprint)
{
	return (!l->code_type || f->type == l->code_type) &&
	       sym_python_fingerprint(f->name, f->filename, f->linetable, (uint32_t)f->first_line) ==
	               fingerprint;
}

/* The line table is a byte string. */
static int read_lines(const struct python_memory *m, uint64_t address, struct python_code **out)
{
	struct python_code *code;
	uint64_t len;
	int err = read_bytes(m, address + m->layout->bytes_size, &len, sizeof(len));

	if (err)
		return err;
	if (len > INT64_MAX)
		return -EBADMSG;
	if (len > PYTHON_LINES_MAX_BYTES)
		len = PYTHON_LINES_MAX_BYTES;
	code = calloc(1, sizeof(*code) + len);
	if (!code)
		return -ENOMEM;
	code->lines_bytes = len;
	err = len ? read_bytes(m, address + m->layout->bytes_value, code->lines, len) : 0;
	if (err)
		free(code);
	else
		*out = code;
	return err;
}

static int read_names(const struct python_memory *m, const struct fields *f, struct python_code *code)
{
	const struct sym_python_layout *l = m->layout;
	uint64_t name = l->code_qualname == SYM_PYTHON_ABSENT ? f->name : f->qualname;
	int err = python_text(l, m->read, m->context, name, &code->function);

	return err ? err : python_text(l, m->read, m->context, f->filename, &code->file);
}

/*
 * What the fields point to lives as long as the code object does, so it was read from the right places if
 * the object is still there when all has been read.
 */
int python_code_read(const struct python_memory *m, uint64_t address, uint64_t fingerprint,
                     struct python_code **out)
{
	struct python_code *code = NULL;
	struct fields fields, again;
	int err = read_fields(m, address, &fields);

	if (err)
		return err;
	if (!is_that_code(m->layout, &fields, fingerprint))
		return -ESTALE;
	err = read_lines(m, fields.linetable, &code);
	if (!err)
		err = read_names(m, &fields, code);
	if (!err)
		err = read_fields(m, address, &again);
	if (!err && (!is_that_code(m->layout, &again, fingerprint) || again.qualname != fields.qualname))
		err = -ESTALE;
	if (err) {
		python_code_free(code);
		return err;
	}
	code->address = address;
	code->fingerprint = fingerprint;
	code->first_line = fields.first_line;
	code->first_traceable = fields.first_traceable;
	code->n_units = fields.n_units < MAX_UNITS ? fields.n_units : MAX_UNITS;
	*out = code;
	return 0;
}

void python_code_free(struct python_code *code)
{
	if (!code)
		return;
	free(code->function);
	free(code->file);
	free(code);
}

size_t python_code_memory(const struct python_code *code)
{
	return sizeof(*code) + code->lines_bytes + strlen(code->function) + strlen(code->file) + 2;
}

/* --- lines -------------------------------------------------------------------------------------- */

/* The unit before the first one is where a frame of 3.11 and 3.12 that has not run yet points to. */
static bool is_in(const struct python_code *code, uint64_t first, uint64_t instr, int64_t *offset)
{
	*offset = (int64_t)(instr - first);
	return *offset >= -UNIT_BYTES && *offset < (int64_t)(code->n_units * UNIT_BYTES);
}

/* Threads of a free-threaded 3.14 run copies of their own: an array of them, behind its length. */
static bool is_in_copy(struct python_code *code, const struct python_memory *m, uint64_t instr,
                       int64_t *offset)
{
	uint64_t array, n, copy, i;

	if (code->copy && is_in(code, code->copy, instr, offset))
		return true;
	if (!m || read_field(m, code->address, m->layout->code_tlbc, &array) || !array ||
	    read_bytes(m, array, &n, sizeof(n)))
		return false;
	for (i = 0; i < n && i < MAX_COPIES; i++) {
		if (read_bytes(m, array + 8 + i * 8, &copy, sizeof(copy)))
			return false;
		if (copy && is_in(code, copy, instr, offset)) {
			code->copy = copy;
			return true;
		}
	}
	return false;
}

/* From 3.11 on, where instructions are told by their addresses. */
static int line_of_instr(struct python_code *code, const struct sym_python_layout *l,
                         const struct python_memory *memory, uint64_t instr, uint32_t *line)
{
	int64_t offset;

	*line = 0;
	if (!is_in(code, code->address + l->code_adaptive, instr, &offset) &&
	    (l->code_tlbc == SYM_PYTHON_ABSENT || !is_in_copy(code, memory, instr, &offset)))
		return 0;
	if (offset < (int64_t)code->first_traceable * UNIT_BYTES)
		return -ENODATA;
	*line = python_line(PYTHON_LINES_LOCATIONS, code->lines, code->lines_bytes, code->first_line, offset);
	return 0;
}

int python_code_line(struct python_code *code, const struct sym_python_layout *l,
                     const struct python_memory *memory, uint64_t instr, uint32_t *line)
{
	if (l->version >= PYTHON_3_11)
		return line_of_instr(code, l, memory, instr, line);
	if (l->version == PYTHON_3_10)
		*line = python_line(PYTHON_LINES_RANGES, code->lines, code->lines_bytes, code->first_line,
		                    (int64_t)(int32_t)instr * UNIT_BYTES);
	else
		*line = python_line(PYTHON_LINES_LNOTAB, code->lines, code->lines_bytes, code->first_line,
		                    (int64_t)instr);
	return 0;
}
