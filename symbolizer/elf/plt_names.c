/* Names PLT entries: decodes their jumps and looks up the relocations of the GOT slots they use. */

#include "symbolizer/elf/plt_names.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#define STEP        8  /* entries begin at multiples of it */
#define ENTRY_BYTES 16 /* they have at most */
#define MAX_ENTRIES (1u << 20)
#define MAX_NAME    8192
#define MAX_STRINGS ((size_t)32 << 20)

struct entry {
	struct plt_name name;
	uint64_t slot;   /* of the GOT; 0: by `number` */
	uint32_t number; /* of the relocation in .rela.plt */
};

struct plt_names {
	struct entry *entries;
	size_t n, max, n_named;
	struct arena strings;
};

struct reading {
	struct plt_names *names;
	struct elf_file *file;
	const char *(*function_at)(void *context, uint64_t address);
	void *context;
	struct elf_section relocations, symbols, strings;
};

/* --- the code --------------------------------------------------------------------------------------- */

static bool skip_bytes(const uint8_t **code, const void *bytes, size_t len)
{
	if (memcmp(*code, bytes, len) != 0)
		return false;
	*code += len;
	return true;
}

/*
 * At the start of an entry, ENTRY_BYTES can be read: [endbr64] [bnd] jmp *SLOT(%rip), or [endbr64] push NUMBER
 * followed by [bnd] jmp. False: anything else.
 */
static bool decode(const uint8_t *code, uint64_t address, struct entry *out)
{
	const uint8_t *at = code;
	int32_t distance;

	*out = (struct entry){ .name = { .start = address, .end = address + ENTRY_BYTES } };
	skip_bytes(&at, "\xf3\x0f\x1e\xfa", 4);
	if (skip_bytes(&at, "\x68", 1)) {
		memcpy(&out->number, at, sizeof(out->number));
		at += sizeof(out->number);
		skip_bytes(&at, "\xf2", 1);
		return *at == 0xe9;
	}
	skip_bytes(&at, "\xf2", 1);
	if (!skip_bytes(&at, "\xff\x25", 2))
		return false;
	memcpy(&distance, at, sizeof(distance));
	at += sizeof(distance);
	out->slot = address + (uint64_t)(at - code) + (uint64_t)(int64_t)distance;
	return out->slot != 0;
}

static int add_entry(struct plt_names *p, const struct entry *e)
{
	if (p->n == MAX_ENTRIES)
		return 0;
	if (growing_array_reserve((void **)&p->entries, p->n + 1, &p->max, sizeof(*e), MAX_ENTRIES))
		return -ENOMEM;
	p->entries[p->n++] = *e;
	return 0;
}

static int read_code(struct plt_names *p, struct elf_file *f, const char *section)
{
	uint8_t code[ENTRY_BYTES];
	struct elf_section plt;
	struct entry e;
	size_t at, part, first = p->n;
	int err = 0;

	if (elf_file_section(f, section, &plt))
		return 0;
	for (at = 0; at < plt.len && !err; at += STEP) {
		part = plt.len - at < sizeof(code) ? plt.len - at : sizeof(code);
		memset(code, 0, sizeof(code));
		memcpy(code, plt.data + at, part);
		if (!decode(code, plt.address + at, &e))
			continue;
		if (p->n > first && p->entries[p->n - 1].name.end > e.name.start)
			p->entries[p->n - 1].name.end = e.name.start;
		err = add_entry(p, &e);
	}
	elf_file_release(f, plt.index);
	return err;
}

/* --- the relocations ---------------------------------------------------------------------------------- */

static int compare_slots(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int compare_starts(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->name.start < y->name.start ? -1 : x->name.start > y->name.start;
}

/* What a relocation is for. NULL: nothing with a name. */
static const char *target_of(const struct reading *r, const Elf64_Rela *rela, char buffer[static 32])
{
	uint64_t at = ELF64_R_SYM(rela->r_info) * sizeof(Elf64_Sym);
	const char *name;
	Elf64_Sym sym;
	size_t room;

	if (ELF64_R_TYPE(rela->r_info) == R_X86_64_IRELATIVE) {
		name = r->function_at(r->context, (uint64_t)rela->r_addend);
		if (name)
			return name;
		snprintf(buffer, 32, "*ABS*+0x%llx", (unsigned long long)rela->r_addend);
		return buffer;
	}
	if (!at || at > r->symbols.len || r->symbols.len - at < sizeof(sym))
		return NULL;
	memcpy(&sym, r->symbols.data + at, sizeof(sym));
	if (sym.st_name >= r->strings.len)
		return NULL;
	name = (const char *)r->strings.data + sym.st_name;
	room = r->strings.len - sym.st_name;
	return *name && memchr(name, 0, room < MAX_NAME ? room : MAX_NAME) ? name : NULL;
}

/* The name of all entries for that relocation. NULL: it has none, or there are too many. */
static const char *make_name(struct reading *r, const Elf64_Rela *rela)
{
	char buffer[32], *copy;
	const char *target = target_of(r, rela, buffer);
	size_t len = target ? strnlen(target, MAX_NAME) : 0;

	if (!target || r->names->strings.bytes > MAX_STRINGS)
		return NULL;
	copy = arena_alloc(&r->names->strings, len + sizeof("@plt"));
	if (!copy)
		return NULL;
	memcpy(copy, target, len);
	memcpy(copy + len, "@plt", sizeof("@plt"));
	return copy;
}

/* All entries that go by one slot (.plt and .plt.sec may both), unless they have a name. */
static void name_by_slot(struct reading *r, const Elf64_Rela *rela)
{
	struct plt_names *p = r->names;
	size_t low;
	const char *name;

	low = search_past(i, 0, p->n, p->entries[i].slot < rela->r_offset);
	if (low == p->n || p->entries[low].slot != rela->r_offset || p->entries[low].name.name)
		return;
	name = make_name(r, rela);
	for (; name && low < p->n && p->entries[low].slot == rela->r_offset; low++) {
		p->entries[low].name.name = name;
		p->n_named++;
	}
}

/* Those that go by no slot are the first. */
static void name_by_number(struct reading *r)
{
	struct plt_names *p = r->names;
	Elf64_Rela rela;
	size_t i;

	for (i = 0; i < p->n && !p->entries[i].slot; i++) {
		if (p->entries[i].number >= r->relocations.len / sizeof(rela))
			continue;
		memcpy(&rela, r->relocations.data + p->entries[i].number * sizeof(rela), sizeof(rela));
		p->entries[i].name.name = make_name(r, &rela);
		p->n_named += p->entries[i].name.name != NULL;
	}
}

/* Opens the section and, where it has any, its symbols. */
static bool open_relocations(struct reading *r, const char *section)
{
	if (elf_file_section(r->file, section, &r->relocations) || r->relocations.type != SHT_RELA)
		return false;
	if (elf_file_section_at(r->file, r->relocations.link, &r->symbols) ||
	    elf_file_section_at(r->file, r->symbols.link, &r->strings))
		r->symbols.len = r->strings.len = 0;
	return true;
}

static void read_relocations(struct reading *r, const char *section, bool by_number)
{
	Elf64_Rela rela;
	size_t i;

	if (r->names->n_named == r->names->n || !open_relocations(r, section))
		return;
	if (by_number)
		name_by_number(r);
	for (i = 0; i < r->relocations.len / sizeof(rela); i++) {
		memcpy(&rela, r->relocations.data + i * sizeof(rela), sizeof(rela));
		if (rela.r_offset)
			name_by_slot(r, &rela);
	}
	elf_file_release(r->file, r->relocations.index);
}

static void drop_nameless(struct plt_names *p)
{
	size_t from, to = 0;

	for (from = 0; from < p->n; from++)
		if (p->entries[from].name.name)
			p->entries[to++] = p->entries[from];
	p->n = to;
}

int plt_names_new(struct elf_file *f, const char *(*function_at)(void *context, uint64_t address),
                  void *context, struct plt_names **out)
{
	struct plt_names *p = calloc(1, sizeof(*p));
	struct reading r = { .names = p, .file = f, .function_at = function_at, .context = context };
	int err = p ? 0 : -ENOMEM;

	*out = NULL;
	if (!err && elf_file_machine(f) == EM_X86_64 && elf_file_type(f) != ET_REL) {
		err = read_code(p, f, ".plt");
		err = err ? err : read_code(p, f, ".plt.sec");
		err = err ? err : read_code(p, f, ".plt.got");
		err = err ? err : read_code(p, f, ".iplt");
	}
	if (!err && p->n) {
		qsort(p->entries, p->n, sizeof(*p->entries), compare_slots);
		read_relocations(&r, ".rela.plt", true);
		read_relocations(&r, ".rela.iplt", false);
		read_relocations(&r, ".rela.dyn", false);
		drop_nameless(p);
		qsort(p->entries, p->n, sizeof(*p->entries), compare_starts);
	}
	if (err || !p->n) {
		plt_names_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void plt_names_free(struct plt_names *p)
{
	if (!p)
		return;
	arena_free(&p->strings);
	free(p->entries);
	free(p);
}

const struct plt_name *plt_names_find(const struct plt_names *p, uint64_t address)
{
	size_t low = search_past(i, 0, p->n, p->entries[i].name.start <= address);

	return low && address < p->entries[low - 1].name.end ? &p->entries[low - 1].name : NULL;
}

size_t plt_names_memory(const struct plt_names *p)
{
	return p->max * sizeof(*p->entries) + p->strings.bytes;
}
