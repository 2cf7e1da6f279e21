/* Function names from DWARF. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_scopes.h"
#include "symbolizer/base/search.h"

#define MAX_ORIGINS 16
#define MAX_OUTER   32

static bool read_die_at(struct dwarf_info *d, uint64_t offset, struct dwarf_unit **unit,
                        struct dwarf_die *out)
{
	struct dwarf_cursor c;

	*out = (struct dwarf_die){ 0 };
	*unit = dwarf_unit_at(d, offset);
	if (!*unit || dwarf_unit_prepare(d, *unit))
		return false;
	c = dwarf_unit_cursor(d, *unit, offset);
	return dwarf_read_die(d, *unit, &c, out) == 1;
}

struct dwarf_name dwarf_function_name(struct dwarf_info *d, uint64_t offset)
{
	struct dwarf_name result = { 0 };
	struct dwarf_unit *unit;
	struct dwarf_die die;
	const char *found;
	int i;

	for (i = 0; i < MAX_ORIGINS && read_die_at(d, offset, &unit, &die); i++) {
		found = dwarf_value_string(d, unit, &die.linkage_name);
		if (found && *found)
			return (struct dwarf_name){
				.name = found, .is_mangled = true, .info = d, .die = offset
			};
		/* The last of them that has the name is the declaration, which stands inside its class. */
		found = dwarf_value_string(d, unit, &die.name);
		if (found && *found)
			result = (struct dwarf_name){ .name = found, .info = d, .die = offset };
		if (!die.origin.form || !dwarf_value_reference(d, unit, &die.origin, &d, &offset))
			break;
	}
	return result;
}

/* The innermost enclosing scope around a DIE; UINT32_MAX: none. */
static uint32_t innermost_around(const struct dwarf_scopes *s, uint64_t die)
{
	size_t low;
	uint32_t i;

	low = search_past(at, 0, s->n_enclosing, s->enclosing[at].start < die);
	for (i = low ? (uint32_t)low - 1 : UINT32_MAX; i != UINT32_MAX && s->enclosing[i].end <= die;)
		i = s->enclosing[i].outer;
	return i;
}

/* NULL: a structure without a name, such as a lambda's. */
static const char *part_of_name(const struct dwarf_enclosing_scope *n)
{
	if (n->name && *n->name)
		return n->name;
	return n->tag == DW_TAG_namespace ? "(anonymous namespace)" : NULL;
}

void dwarf_scopes_qualify(const struct dwarf_scopes *s, uint64_t die, const char *name, char *out,
                          size_t size)
{
	const char *parts[MAX_OUTER];
	size_t n = 0, len = 0, part_len;
	uint32_t i = innermost_around(s, die);

	for (; i != UINT32_MAX && n < MAX_OUTER; i = s->enclosing[i].outer)
		parts[n++] = part_of_name(&s->enclosing[i]);
	while (n--) {
		if (!parts[n])
			continue;
		part_len = strlen(parts[n]);
		if (part_len + 3 > size - len)
			break;
		memcpy(out + len, parts[n], part_len);
		memcpy(out + len + part_len, "::", 2);
		len += part_len + 2;
	}
	snprintf(out + len, size - len, "%s", name);
}
