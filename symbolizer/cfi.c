#include "symbolizer/cfi.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/cfi_program.h"

#define MAX_ENTRIES (1 << 24)

struct entry {
	uint64_t start;
	uint32_t length; /* of the code */
	uint32_t fde;    /* offset in its section */
	uint8_t section;
};

struct cfi {
	struct cfi_section sections[2]; /* .eh_frame, .debug_frame */
	struct entry *entries;          /* by start */
	size_t n_entries, max_entries;
};

/* An entry of either kind, once its length and CIE pointer have been read. */
struct header {
	struct dwarf_cursor c; /* behind the CIE pointer, to the entry's end */
	size_t next;           /* where the next entry begins */
	bool is_cie;
	uint64_t cie; /* offset of an FDE's CIE */
};

static bool read_header(const struct cfi_section *s, size_t offset, struct header *out)
{
	struct dwarf_cursor c = dwarf_cursor_at(s->data, s->len, offset);
	uint8_t offset_size;
	uint64_t len = dwarf_initial_length(&c, &offset_size), at, pointer;

	if (c.failed)
		return false;
	c.end = c.pos + len;
	out->next = (size_t)(c.end - s->data);
	out->is_cie = false;
	out->cie = UINT64_MAX;
	out->c = c;
	if (!len)
		return true; /* a terminator; others may follow */
	at = (uint64_t)(c.pos - s->data);
	pointer = dwarf_fixed(&c, s->is_eh ? 4 : offset_size);
	out->c = c;
	if (c.failed)
		return true;
	if (s->is_eh) {
		out->is_cie = !pointer;
		out->cie = at - pointer;
	} else {
		out->is_cie = pointer == (offset_size == 4 ? UINT32_MAX : UINT64_MAX);
		out->cie = pointer;
	}
	return true;
}

/* What the letters behind 'z' stand for. */
static void read_augmentation(const struct cfi_section *s, struct dwarf_cursor *c, const char *letters,
                              struct cfi_cie *out)
{
	struct dwarf_cursor data = *c;
	uint8_t encoding;

	for (; *letters && !data.failed; letters++) {
		switch (*letters) {
		case 'R':
			out->pointer_encoding = dwarf_u8(&data);
			break;
		case 'P':
			/* Where the personality routine is does not matter, only how long that takes to say.
			 */
			encoding = dwarf_u8(&data);
			cfi_pointer(s, &data, encoding & 0x0f, out->address_size);
			break;
		case 'L':
			dwarf_u8(&data);
			break;
		case 'S':
			out->is_signal = true;
			break;
		default:
			return;
		}
	}
}

static int read_cie(const struct cfi_section *s, uint64_t offset, struct cfi_cie *out)
{
	struct header h;
	uint64_t len;
	uint8_t version;
	const char *augmentation;

	*out = (struct cfi_cie){ .address_size = 8 };
	if (offset >= s->len || !read_header(s, offset, &h) || !h.is_cie)
		return -EBADMSG;
	version = dwarf_u8(&h.c);
	augmentation = dwarf_string(&h.c);
	if (version >= 4) {
		out->address_size = dwarf_u8(&h.c);
		dwarf_u8(&h.c); /* segment selector size */
	}
	out->code_alignment = dwarf_uleb(&h.c);
	out->data_alignment = dwarf_sleb(&h.c);
	out->return_register = version == 1 ? dwarf_u8(&h.c) : dwarf_uleb(&h.c);
	if (h.c.failed || (out->address_size != 8 && out->address_size != 4))
		return -EBADMSG;
	if (*augmentation == 'z') {
		out->has_augmentation_data = true;
		len = dwarf_uleb(&h.c);
		read_augmentation(s, &h.c, augmentation + 1, out);
		dwarf_skip(&h.c, len);
	} else if (*augmentation) {
		return -EBADMSG;
	}
	out->program = h.c;
	return h.c.failed ? -EBADMSG : 0;
}

/* Leaves the cursor at the instructions. */
static bool read_range(const struct cfi_section *s, const struct cfi_cie *cie, struct dwarf_cursor *c,
                       uint64_t *start, uint64_t *length)
{
	*start = cfi_pointer(s, c, cie->pointer_encoding, cie->address_size);
	*length = cfi_pointer(s, c, cie->pointer_encoding & 0x0f, cie->address_size);
	if (cie->has_augmentation_data)
		dwarf_skip(c, dwarf_uleb(c));
	return !c->failed;
}

static int add_entry(struct cfi *t, uint64_t start, uint64_t length, size_t fde, uint8_t section)
{
	struct entry *bigger;
	size_t more;

	if (t->n_entries == t->max_entries) {
		more = t->max_entries ? t->max_entries * 2 : 256;
		bigger = more > MAX_ENTRIES ? NULL : realloc(t->entries, more * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		t->entries = bigger;
		t->max_entries = more;
	}
	t->entries[t->n_entries++] = (struct entry){
		.start = start, .length = (uint32_t)length, .fde = (uint32_t)fde, .section = section
	};
	return 0;
}

static int scan(struct cfi *t, uint8_t section, const struct elf_file *f)
{
	const struct cfi_section *s = &t->sections[section];
	uint64_t start, length, known_cie = UINT64_MAX;
	struct cfi_cie cie = { 0 };
	bool usable = false;
	struct header h;
	size_t offset;
	int err = 0;

	for (offset = 0; !err && offset < s->len && read_header(s, offset, &h); offset = h.next) {
		if (h.is_cie || h.cie == UINT64_MAX)
			continue;
		if (h.cie != known_cie) {
			known_cie = h.cie;
			usable = !read_cie(s, h.cie, &cie);
		}
		if (!usable || !read_range(s, &cie, &h.c, &start, &length))
			continue;
		if (length && length <= UINT32_MAX && offset <= UINT32_MAX && elf_file_executable(f, start))
			err = add_entry(t, start, length, offset, section);
	}
	return err;
}

/* Of two entries for one address the one in .eh_frame comes first. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->section < y->section ? -1 : x->section > y->section;
}

static void load_section(struct elf_file *f, const char *name, struct cfi_section *out)
{
	struct elf_section section;

	if (!f || out->data || elf_file_section(f, name, &section))
		return;
	*out = (struct cfi_section){
		.data = section.data, .len = section.len, .address = section.address, .is_eh = name[1] == 'e'
	};
}

int cfi_new(struct elf_file *f, struct elf_file *debug, struct cfi **out)
{
	struct cfi *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	load_section(f, ".eh_frame", &t->sections[0]);
	load_section(f, ".debug_frame", &t->sections[1]);
	load_section(debug, ".debug_frame", &t->sections[1]);
	err = scan(t, 0, f);
	if (!err)
		err = scan(t, 1, f);
	if (!err && !t->n_entries)
		err = -ENOENT;
	if (err) {
		cfi_free(t);
		return err;
	}
	qsort(t->entries, t->n_entries, sizeof(*t->entries), compare_entries);
	*out = t;
	return 0;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	free(c->entries);
	free(c);
}

static const struct entry *find_entry(const struct cfi *t, uint64_t address)
{
	size_t low = 0, high = t->n_entries, mid;
	const struct entry *e;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->entries[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	e = &t->entries[low - 1];
	while (e > t->entries && e[-1].start == e->start)
		e--;
	return address - e->start < e->length ? e : NULL;
}

int cfi_find(const struct cfi *c, uint64_t address, struct cfi_row *out)
{
	const struct entry *e = find_entry(c, address);
	const struct cfi_section *s;
	uint64_t start, length;
	struct cfi_cie cie;
	struct header h;

	if (!e)
		return -ENOENT;
	s = &c->sections[e->section];
	if (!read_header(s, e->fde, &h) || read_cie(s, h.cie, &cie) ||
	    !read_range(s, &cie, &h.c, &start, &length))
		return -EBADMSG;
	return cfi_program_run(s, &cie, h.c, start, start + length, address, out);
}

size_t cfi_memory(const struct cfi *c)
{
	return c->max_entries * sizeof(*c->entries);
}
