/*
 * libdw_lookups FILE: what libdw says of ELF addresses (hexadecimal, one a line): each address, then for each frame, innermost
 * first, its function and file:line, as eu-addr2line -a -f prints them. It is the oracle of test_symbols_libdw, and the peer of
 * tests/bench/symbols: libdw is called directly, and everything that it can keep from one address to the next is kept.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SCOPES 256

struct range {
	Dwarf_Addr start, end;
	Dwarf_Off unit;
};

struct ranges {
	struct range *all;
	size_t n, room;
};

static void add_range(struct ranges *r, struct range range)
{
	if (r->n == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		r->all = reallocarray(r->all, r->room, sizeof(*r->all));
		if (!r->all)
			err(1, "ranges");
	}
	r->all[r->n++] = range;
}

static int by_start(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Of a file without .debug_aranges, which clang writes none of. */
static void read_ranges(Dwarf *dwarf, struct ranges *r)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		struct range range = { .unit = dwarf_dieoffset(&unit) };
		Dwarf_Addr base;
		ptrdiff_t next = 0;

		while ((next = dwarf_ranges(&unit, next, &base, &range.start, &range.end)) > 0)
			add_range(r, range);
	}
	qsort(r->all, r->n, sizeof(*r->all), by_start);
}

static bool find_unit(Dwarf *dwarf, struct ranges *r, Dwarf_Addr address, Dwarf_Die *unit)
{
	size_t low = 0, high;

	if (dwarf_addrdie(dwarf, address, unit))
		return true;
	if (!r->room)
		read_ranges(dwarf, r);
	for (high = r->n; low < high;) {
		size_t middle = (low + high) / 2;

		if (r->all[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < r->all[low - 1].end && dwarf_offdie(dwarf, r->all[low - 1].unit, unit);
}

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned linkage[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	Dwarf_Attribute attribute;
	const char *name;
	size_t i;

	for (i = 0; i < 2; i++) {
		name = dwarf_formstring(dwarf_attr_integrate(die, linkage[i], &attribute));
		if (name)
			return name;
	}
	name = dwarf_diename(die);
	return name ? name : "??";
}

static unsigned number_of(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, which, &attribute), &value) ? 0 : (unsigned)value;
}

static void print_line(const char *function, const char *file, int line)
{
	printf("%s\n%s:%d\n", function, file ? file : "??", line);
}

/* Each function on the way from scopes[0] out; the place in an outer one is where the inner one was called. */
static void print_frames(Dwarf_Die *unit, Dwarf_Die *scopes, int n, const char *file, int line)
{
	Dwarf_Files *files = NULL;
	bool found = false;
	int i;

	for (i = 0; i < n; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		print_line(name_of(&scopes[i]), file, line);
		found = true;
		if (tag == DW_TAG_subprogram)
			return;
		if (!files && dwarf_getsrcfiles(unit, &files, NULL))
			files = NULL;
		file = files ? dwarf_filesrc(files, number_of(&scopes[i], DW_AT_call_file), NULL, NULL)
		             : NULL;
		line = (int)number_of(&scopes[i], DW_AT_call_line);
	}
	if (!found)
		print_line("??", file, line);
}

/*
 * The DIEs of code around the address, the innermost first, into scopes[]. dwarf_getscopes() goes through the whole unit, and needs
 * dwarf_getscopes_die() to do so again for what is around an inlined function; this goes down where the address is, which is the
 * fastest that the library can.
 */
static int descend(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *scopes, int room)
{
	Dwarf_Die die;
	int n, more = dwarf_child(parent, &die);

	for (; more == 0; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);
		bool holds =
		        tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;

		if (!holds && tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine &&
		    tag != DW_TAG_lexical_block)
			continue;
		if (!holds && dwarf_haspc(&die, address) <= 0)
			continue;
		n = room ? descend(&die, address, scopes, room - 1) : 0;
		if (holds && !n)
			continue;
		if (n < room)
			scopes[n++] = die;
		return n;
	}
	return 0;
}

static int find_scopes(Dwarf_Die *unit, Dwarf_Addr address, bool whole, Dwarf_Die *scopes)
{
	Dwarf_Die *inner = NULL, *chain = NULL;
	int n;

	if (!whole)
		return descend(unit, address, scopes, MAX_SCOPES);
	n = dwarf_getscopes(unit, address, &inner);
	if (n > 0)
		n = dwarf_getscopes_die(&inner[0], &chain);
	n = n < MAX_SCOPES ? n : MAX_SCOPES;
	if (n > 0)
		memcpy(scopes, chain, (size_t)n * sizeof(*scopes));
	free(inner);
	free(chain);
	return n;
}

static void look_up(Dwarf *dwarf, struct ranges *r, Dwarf_Addr address, bool whole)
{
	Dwarf_Die unit, scopes[MAX_SCOPES];
	const char *file = NULL;
	Dwarf_Line *line;
	int number = 0;

	printf("%#018" PRIx64 "\n", address);
	if (!find_unit(dwarf, r, address, &unit)) {
		print_line("??", NULL, 0);
		return;
	}
	line = dwarf_getsrc_die(&unit, address);
	if (line) {
		file = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &number);
	}
	print_frames(&unit, scopes, find_scopes(&unit, address, whole, scopes), file, number);
}

int main(int argc, char **argv)
{
	struct ranges ranges = { 0 };
	char text[64];
	Dwarf *dwarf;
	int fd;

	if (argc != 2 && (argc != 3 || strcmp(argv[2], "getscopes")))
		errx(2, "usage: libdw_lookups FILE [getscopes] < ADDRESSES");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
	if (!dwarf)
		errx(1, "%s: %s", argv[1], dwarf_errmsg(-1));
	while (fgets(text, sizeof(text), stdin))
		look_up(dwarf, &ranges, strtoull(text, NULL, 16), argc == 3);
	dwarf_end(dwarf);
	free(ranges.all);
	return 0;
}
