/* Removes template and generic arguments from a demangled name. */

#include "symbolizer/names/name_arguments.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MAX_DEPTH 256 /* of brackets */

/* A position in the name, and the brackets open there: '(', '[', '{', '<', and 'A' for those of arguments. */
struct scan {
	const char *name;
	size_t at;
	char open[MAX_DEPTH];
	size_t depth, cut_depth; /* cut_depth: of the outermost 'A', plus 1; 0: in none */
};

static bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* "operator<", "operator->" and the like: how long it is, with the blank before its arguments. 0: is none. */
static size_t operator_length(const struct scan *s)
{
	static const char *const symbols[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=",
		                               ">=",  "->",  "()",  "[]",  "<",  ">" };
	const char *here = s->name + s->at;
	size_t i, len;

	if (!starts_with(here, "operator") || (s->at && is_identifier(here[-1])))
		return 0;
	for (i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		len = strlen("operator") + strlen(symbols[i]);
		if (starts_with(here + strlen("operator"), symbols[i]))
			return len + (here[len] == ' ' && here[len + 1] == '<');
	}
	return 0;
}

/* Are the brackets that open here those of arguments, rather than of Rust's <T as Trait>? */
static bool opens_arguments(const struct scan *s)
{
	const char *here = s->name + s->at;

	if (!s->at || starts_with(here, "<impl "))
		return false;
	return is_identifier(here[-1]) || strchr(":]}", here[-1]);
}

/* Steps over a bracket. False: they don't match. */
static bool step_bracket(struct scan *s, bool is_after_operator)
{
	char c = s->name[s->at], top = s->depth ? s->open[s->depth - 1] : 0;

	if (strchr("([{<", c)) {
		if (s->depth == MAX_DEPTH)
			return false;
		if (c == '<' && (is_after_operator || opens_arguments(s)))
			c = 'A';
		s->open[s->depth++] = c;
		if (c == 'A' && !s->cut_depth)
			s->cut_depth = s->depth;
		return true;
	}
	if (c == '>' && top != '<' && top != 'A')
		return top != 0; /* an operator in an expression */
	if (!top || (c == ')' && top != '(') || (c == ']' && top != '[') || (c == '}' && top != '{'))
		return false;
	s->depth--;
	return true;
}

/* Arguments may be set off by what goes with them: Rust's f::<T>, C++'s operator< <int>. */
static size_t without_joint(const char *name, size_t len)
{
	if (len >= 2 && memcmp(name + len - 2, "::", 2) == 0)
		return len - 2;
	return len && name[len - 1] == ' ' ? len - 1 : len;
}

/*
 * Goes over the whole name, and, when `to` is not NULL, puts there what stays. False: brackets don't match.
 */
static bool scan_name(const char *name, char *to)
{
	struct scan s = { .name = name };
	bool is_after_operator = false;
	size_t kept = 0, len, i;
	bool was_cut;

	for (; name[s.at]; s.at += len) {
		len = operator_length(&s);
		was_cut = s.cut_depth;
		if (len) {
			is_after_operator = name[s.at + len] == '<';
		} else {
			len = 1;
			if (name[s.at] == '-' && name[s.at + 1] == '>')
				len = 2;
			else if (strchr("()[]{}<>", name[s.at]) && !step_bracket(&s, is_after_operator))
				return false;
			is_after_operator = false;
		}
		if (to && s.cut_depth && !was_cut)
			kept = without_joint(to, kept);
		for (i = 0; i < len && !s.cut_depth && to; i++)
			to[kept++] = name[s.at + i];
		if (s.cut_depth > s.depth)
			s.cut_depth = 0;
	}
	if (to)
		to[kept] = 0;
	return !s.depth;
}

void name_arguments_cut(char *name)
{
	if (strchr(name, '<') && scan_name(name, NULL))
		scan_name(name, name);
}
