/* Reads .symtab or .dynsym into a table of functions sorted by address. */

#include "symbolizer/elf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/elf/plt_names.h"
#include "symbolizer/base/search.h"

/* How many symbols a lookup goes back for one that encloses those after it. */
#define MAX_NESTING 32

#define MAX_NAME 16384

/*
 * To measure and compare all names comes to an end: they may have so many bytes together, and twice what the table of strings
 * has. Names lie side by side there, unless they are made to be one and the same. This takes a tenth of a second.
 */
#define MAX_NAMES ((uint64_t)512 << 20)

/* In how many an address is looked for, again and again: programs have fewer. */
#define MAX_SECTIONS 256

struct symbol {
	uint64_t start, end;
	uint32_t name;   /* offset in the string table */
	uint8_t binding; /* 1: local */
	uint8_t label;   /* not a function */
	uint8_t unsized;
};

struct symtab {
	struct elf_file *file;
	struct elf_section strings;
	struct symbol *symbols; /* by start, one an address */
	size_t n_symbols;
	uint64_t name_bytes; /* of all of them */
	bool is_dynamic;
	struct plt_names *plt; /* NULL: there is none */
};

static bool is_code(const struct elf_file *f, const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	return sym->st_value && elf_file_executable(f, sym->st_value);
}

static bool section_ends(const struct elf_file *f, uint32_t index, uint64_t address, uint64_t *end)
{
	uint64_t start;

	return elf_file_section_range(f, index, &start, end) && address >= start && address < *end;
}

/* Of what has no size: its section's end, at most. Tools that edit programs leave numbers of sections that are wrong. */
static uint64_t end_of_unsized(const struct elf_file *f, const Elf64_Sym *sym)
{
	uint64_t end;
	uint32_t i, n = elf_file_type(f) == ET_REL ? 0 : elf_file_section_count(f);
	bool found = sym->st_shndx < SHN_LORESERVE && section_ends(f, sym->st_shndx, sym->st_value, &end);

	for (i = 1; i < n && i < MAX_SECTIONS && !found; i++)
		found = section_ends(f, i, sym->st_value, &end);
	return found ? end : sym->st_value + 1;
}

static uint64_t end_of(const struct elf_file *f, const Elf64_Sym *sym)
{
	uint64_t end;

	if (!sym->st_size)
		return end_of_unsized(f, sym);
	return __builtin_add_overflow(sym->st_value, sym->st_size, &end) ? UINT64_MAX : end;
}

/* In relocatable files values count from the section's start. */
static void make_absolute(const struct elf_file *f, Elf64_Sym *sym)
{
	uint64_t start, end;

	if (elf_file_type(f) == ET_REL && sym->st_shndx < SHN_LORESERVE &&
	    elf_file_section_range(f, sym->st_shndx, &start, &end))
		sym->st_value += start;
}

/* `f` has the segments, which a debug file has not in a usable form. */
static void add_symbol(struct symtab *t, const struct elf_file *f, const Elf64_Sym *sym)
{
	const char *name;
	size_t len;

	if (sym->st_name >= t->strings.len || !is_code(f, sym))
		return;
	name = (const char *)t->strings.data + sym->st_name;
	if (!*name || *name == '$' || strncmp(name, ".L", 2) == 0)
		return;
	len = strnlen(name, MAX_NAME);
	t->name_bytes += len;
	if (len == MAX_NAME)
		return;
	t->symbols[t->n_symbols++] = (struct symbol){
		.start = sym->st_value,
		.end = end_of(t->file, sym),
		.name = sym->st_name,
		.binding = ELF64_ST_BIND(sym->st_info) == STB_LOCAL,
		.label = ELF64_ST_TYPE(sym->st_info) == STT_NOTYPE,
		.unsized = !sym->st_size,
	};
}

static const char *name_at(const struct symtab *t, uint32_t offset)
{
	return (const char *)t->strings.data + offset;
}

static const char *name_of(const struct symtab *t, const struct symbol *s)
{
	return name_at(t, s->name);
}

/* What of a name decides which one of several is used. */
struct measured {
	const char *name;
	size_t underscores, len;
};

static struct measured measure(const struct symtab *t, const struct symbol *s)
{
	const char *name = name_of(t, s);

	return (struct measured){ .name = name, .underscores = strspn(name, "_"), .len = strlen(name) };
}

/* Negative: a is the better one of two at the same address. */
static int compare_names(const struct measured *a, const struct measured *b)
{
	if (a->underscores != b->underscores)
		return a->underscores < b->underscores ? -1 : 1;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_kinds(const struct symbol *a, const struct symbol *b)
{
	if (a->label != b->label)
		return a->label - b->label;
	if (a->unsized != b->unsized)
		return a->unsized - b->unsized;
	return a->binding - b->binding;
}

static int compare_starts(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The best of those from `first` on that begin where it does; *end becomes where these end. */
static struct symbol best_at(const struct symtab *t, size_t first, size_t *end)
{
	const struct symbol *best = &t->symbols[first], *s = best + 1, *last = t->symbols + t->n_symbols;
	struct measured best_name = { 0 }, name;
	int order;

	for (; s < last && s->start == best->start; s++) {
		order = compare_kinds(s, best);
		if (order > 0 || (!order && s->name == best->name))
			continue;
		if (!best_name.name)
			best_name = measure(t, best);
		name = measure(t, s);
		if (order < 0 || compare_names(&name, &best_name) < 0) {
			best = s;
			best_name = name;
		}
	}
	*end = (size_t)(s - t->symbols);
	return *best;
}

static void keep_best_names(struct symtab *t)
{
	size_t from, end, to = 0;

	for (from = 0; from < t->n_symbols; from = end)
		t->symbols[to++] = best_at(t, from, &end);
	t->n_symbols = to;
}

/* What has no size and lies in a function that has one is a label in it. */
static void drop_labels(struct symtab *t)
{
	uint64_t sized_end = 0;
	size_t from, to = 0;

	for (from = 0; from < t->n_symbols; from++) {
		if (t->symbols[from].unsized && t->symbols[from].start < sized_end)
			continue;
		if (!t->symbols[from].unsized && t->symbols[from].end > sized_end)
			sized_end = t->symbols[from].end;
		t->symbols[to++] = t->symbols[from];
	}
	t->n_symbols = to;
}

/* What has no size ends where the next one begins. */
static void cut_unsized(struct symtab *t)
{
	size_t i;

	for (i = 0; i + 1 < t->n_symbols; i++)
		if (t->symbols[i].unsized && t->symbols[i].end > t->symbols[i + 1].start)
			t->symbols[i].end = t->symbols[i + 1].start;
}

static int load_strings(struct symtab *t, uint32_t index)
{
	int err = elf_file_section_at(t->file, index, &t->strings);

	if (err)
		return err;
	if (t->strings.type != SHT_STRTAB)
		return -EBADMSG;
	return t->strings.len && !t->strings.data[t->strings.len - 1] ? 0 : -EBADMSG;
}

/* Reads the table of `type` in t->file; `f` is the file with usable segments. */
static int read_table(struct symtab *t, const struct elf_file *f, uint32_t type)
{
	struct elf_section table;
	uint64_t max_bytes;
	Elf64_Sym sym;
	size_t i, n;
	int err = elf_file_section_of_type(t->file, type, &table);

	if (err)
		return err;
	n = table.len / sizeof(sym);
	err = load_strings(t, table.link);
	if (!err) {
		t->symbols = malloc((n + 1) * sizeof(*t->symbols));
		err = t->symbols ? 0 : -ENOMEM;
	}
	max_bytes = MAX_NAMES + 2 * (uint64_t)t->strings.len;
	for (i = 0; !err && i < n; i++) {
		memcpy(&sym, table.data + i * sizeof(sym), sizeof(sym));
		make_absolute(t->file, &sym);
		add_symbol(t, f, &sym);
		err = t->name_bytes > max_bytes ? -EFBIG : 0;
	}
	elf_file_release(t->file, table.index);
	if (!err && !t->n_symbols)
		err = -ENOENT;
	return err;
}

static int try_table(struct elf_file *f, struct elf_file *holder, uint32_t type, struct symtab **out)
{
	struct symtab *t = calloc(1, sizeof(*t));
	struct symbol *fitting;
	int err;

	if (!t)
		return -ENOMEM;
	t->file = holder;
	t->is_dynamic = type == SHT_DYNSYM;
	err = read_table(t, f, type);
	if (err) {
		symtab_free(t);
		return err;
	}
	qsort(t->symbols, t->n_symbols, sizeof(*t->symbols), compare_starts);
	keep_best_names(t);
	drop_labels(t);
	cut_unsized(t);
	fitting = realloc(t->symbols, t->n_symbols * sizeof(*t->symbols));
	if (fitting)
		t->symbols = fitting;
	*out = t;
	return 0;
}

/* Index of the first symbol behind `address`. */
static size_t first_behind(const struct symtab *t, uint64_t address)
{
	return search_past(i, 0, t->n_symbols, t->symbols[i].start <= address);
}

static const char *name_of_start(void *context, uint64_t address)
{
	const struct symtab *t = context;
	size_t behind = first_behind(t, address);

	return behind && t->symbols[behind - 1].start == address ? name_of(t, &t->symbols[behind - 1]) : NULL;
}

/* `t` is filled, but for its PLT; or, where no table has a function, it may have nothing else. */
static int add_plt(struct elf_file *f, struct symtab **t)
{
	struct symtab *empty = NULL, *filled;
	int err;

	if (!*t)
		empty = calloc(1, sizeof(*empty));
	filled = *t ? *t : empty;
	if (!filled)
		return -ENOMEM;
	if (empty) {
		empty->file = f;
		empty->is_dynamic = true;
	}
	err = plt_names_new(f, name_of_start, filled, &filled->plt);
	if (!err && !filled->plt && empty)
		err = -ENOENT;
	if (err && empty)
		symtab_free(empty);
	else if (empty)
		*t = empty;
	return err;
}

int symtab_new(struct elf_file *f, struct elf_file *debug, struct symtab **out)
{
	int err = -ENOENT, plt_err;
	bool is_large;

	*out = NULL;
	if (debug)
		err = try_table(f, debug, SHT_SYMTAB, out);
	is_large = err == -EFBIG;
	if (err)
		err = try_table(f, f, SHT_SYMTAB, out);
	is_large |= err == -EFBIG;
	if (err)
		err = try_table(f, f, SHT_DYNSYM, out);
	if (err && err != -ENOENT)
		return err;
	plt_err = add_plt(f, out);
	if (*out)
		return 0;
	return is_large ? -EFBIG : plt_err;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	plt_names_free(t->plt);
	free(t->symbols);
	free(t);
}

bool symtab_is_dynamic(const struct symtab *t)
{
	return t->is_dynamic;
}

int symtab_address(struct elf_file *f, const char *name, uint64_t *address)
{
	struct symtab t = { .file = f };
	struct elf_section table;
	Elf64_Sym sym;
	size_t i;
	int err = elf_file_section_of_type(f, SHT_SYMTAB, &table);

	if (!err)
		err = load_strings(&t, table.link);
	for (i = 0; !err && i < table.len / sizeof(sym); i++) {
		memcpy(&sym, table.data + i * sizeof(sym), sizeof(sym));
		if (sym.st_name >= t.strings.len || strcmp(name_at(&t, sym.st_name), name) != 0)
			continue;
		make_absolute(f, &sym);
		*address = sym.st_value;
		return 0;
	}
	return err ? err : -ENOENT;
}

bool symtab_find(const struct symtab *t, uint64_t address, struct symtab_hit *hit)
{
	size_t behind = first_behind(t, address), i;
	const struct plt_name *plt;

	for (i = 0; i < MAX_NESTING && i < behind; i++) {
		const struct symbol *s = &t->symbols[behind - 1 - i];

		if (address < s->end) {
			*hit = (struct symtab_hit){
				.name = name_of(t, s), .start = s->start, .end = s->end, .unsized = s->unsized
			};
			return true;
		}
	}
	plt = t->plt ? plt_names_find(t->plt, address) : NULL;
	if (!plt)
		return false;
	*hit = (struct symtab_hit){ .name = plt->name, .start = plt->start, .end = plt->end };
	return true;
}

size_t symtab_memory(const struct symtab *t)
{
	return t->n_symbols * sizeof(*t->symbols) + (t->plt ? plt_names_memory(t->plt) : 0);
}
