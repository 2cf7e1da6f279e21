/* Reads the header of a line table, versions 2 to 5: its encoding, directories and file names. */

#include "symbolizer/dwarf/dwarf_line_header.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbolizer/dwarf/dwarf_form.h"

#define MAX_NAMES (1 << 20)

static int add_directory(struct dwarf_line_header *h, const char *name)
{
	size_t n = h->n_directories;
	const char **bigger;

	if (n >= MAX_NAMES)
		return -EBADMSG;
	if (!(n & (n - 1)) && (!n || n >= 16)) {
		bigger = realloc(h->directories, (n ? n * 2 : 16) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		h->directories = bigger;
	}
	h->directories[h->n_directories++] = name;
	return 0;
}

static int add_file(struct dwarf_line_header *h, const char *name, uint64_t directory)
{
	size_t n = h->n_files;
	struct dwarf_file_name *bigger;

	if (n >= MAX_NAMES)
		return -EBADMSG;
	if (!(n & (n - 1)) && (!n || n >= 16)) {
		bigger = realloc(h->files, (n ? n * 2 : 16) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		h->files = bigger;
	}
	h->files[h->n_files++] = (struct dwarf_file_name){
		.name = name, .directory = directory > UINT32_MAX ? UINT32_MAX : (uint32_t)directory
	};
	return 0;
}

/* Versions 2 to 4: strings ended by an empty one; then files ended likewise. */
static int read_old_names(const struct dwarf_unit *u, struct dwarf_cursor *c, struct dwarf_line_header *h)
{
	const char *name;
	uint64_t directory;
	int err = add_directory(h, u->comp_dir ? u->comp_dir : "");

	if (!err)
		err = add_file(h, u->name ? u->name : "", 0);
	while (!err && *(name = dwarf_string(c)))
		err = add_directory(h, name);
	while (!err && !c->failed && *(name = dwarf_string(c))) {
		directory = dwarf_uleb(c);
		dwarf_uleb(c); /* time of modification */
		dwarf_uleb(c); /* length */
		err = add_file(h, name, directory);
	}
	return err ? err : c->failed ? -EBADMSG : 0;
}

/* Version 5 describes the fields of its entries: at most this many here. */
#define MAX_FIELDS 16

struct field {
	uint64_t content; /* DW_LNCT_* */
	struct dwarf_attribute attribute;
};

static size_t read_fields(struct dwarf_cursor *c, struct field *fields)
{
	size_t n = dwarf_u8(c), i;
	uint64_t form;

	if (n > MAX_FIELDS)
		dwarf_fail(c);
	for (i = 0; i < n && !c->failed; i++) {
		fields[i] = (struct field){ .content = dwarf_uleb(c) };
		form = dwarf_uleb(c);
		if (form > UINT16_MAX || form == DW_FORM_implicit_const)
			dwarf_fail(c);
		fields[i].attribute.form = (uint16_t)form;
	}
	return c->failed ? 0 : n;
}

/* A table of directories or of files. */
static int read_new_names(const struct dwarf_info *d, const struct dwarf_unit *u, struct dwarf_cursor *c,
                          struct dwarf_line_header *h, bool are_files)
{
	struct field fields[MAX_FIELDS];
	struct dwarf_value value;
	size_t n_fields = read_fields(c, fields), i;
	uint64_t count = dwarf_uleb(c), directory;
	const char *name, *string;
	int err = 0;

	if (count > dwarf_left(c) || (count && !n_fields))
		return -EBADMSG;
	while (!err && count-- && !c->failed) {
		name = "";
		directory = 0;
		for (i = 0; i < n_fields; i++) {
			dwarf_form_read(u, c, &fields[i].attribute, &value);
			string = dwarf_value_string(d, u, &value);
			if (fields[i].content == DW_LNCT_path && string)
				name = string;
			else if (fields[i].content == DW_LNCT_directory_index)
				directory = value.number;
		}
		err = are_files ? add_file(h, name, directory) : add_directory(h, name);
	}
	return err ? err : c->failed ? -EBADMSG : 0;
}

static void read_encoding(struct dwarf_cursor *c, struct dwarf_line_header *h)
{
	h->min_instruction_length = dwarf_u8(c);
	if (h->version >= 4)
		dwarf_u8(c); /* operations per instruction: 1 but for VLIW machines */
	dwarf_u8(c);         /* default_is_stmt */
	h->line_base = (int8_t)dwarf_u8(c);
	h->line_range = dwarf_u8(c);
	h->opcode_base = dwarf_u8(c);
	h->opcode_lengths = c->pos;
	if (!h->opcode_base || !h->line_range)
		dwarf_fail(c);
	else
		dwarf_skip(c, h->opcode_base - 1u);
}

int dwarf_line_header_read(const struct dwarf_info *d, const struct dwarf_unit *u,
                           struct dwarf_line_header *out)
{
	struct dwarf_cursor c = dwarf_cursor_at(d->line.data, d->line.len, u->stmt_list);
	uint64_t len;
	struct dwarf_unit as_line = *u; /* whose offsets are as wide as the line table's, not the unit's */
	int err;

	*out = (struct dwarf_line_header){ .address_size = u->address_size };
	len = dwarf_initial_length(&c, &out->offset_size);
	if (c.failed)
		return -EBADMSG;
	c.end = c.pos + len;
	as_line.offset_size = out->offset_size;
	out->version = dwarf_u16(&c);
	if (out->version < 2 || out->version > 5)
		return -EBADMSG;
	if (out->version == 5) {
		out->address_size = dwarf_u8(&c);
		dwarf_u8(&c); /* segment selectors: none on our machines */
	}
	len = dwarf_fixed(&c, out->offset_size);
	out->program = c;
	dwarf_skip(&out->program, len);
	read_encoding(&c, out);
	if (c.failed || out->program.failed || (out->address_size != 8 && out->address_size != 4))
		return -EBADMSG;
	if (out->version < 5)
		return read_old_names(&as_line, &c, out);
	err = read_new_names(d, &as_line, &c, out, false);
	return err ? err : read_new_names(d, &as_line, &c, out, true);
}

void dwarf_line_header_release(struct dwarf_line_header *h)
{
	free(h->directories);
	free(h->files);
	h->directories = NULL;
	h->files = NULL;
}
