/* Demangles Rust's v0 names: paths, types, and the grammar around them. */

#include "symbolizer/names/rust_v0.h"

#include <string.h>

#include "symbolizer/names/rust_v0_parser.h"

#define MAX_LIFETIMES 1024 /* bound at a time */

static void type(struct rust_v0 *p);

static const char *basic_type(char tag)
{
	static const char *const names[] = {
		['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
		['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
		['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
		['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
		['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
		['z' - 'a'] = "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void lifetime_of(struct rust_v0 *p, uint64_t index)
{
	uint64_t depth = p->bound_lifetimes - index;
	char letter[2] = { (char)('a' + depth % 26), 0 };

	if (p->skipping)
		return;
	rust_v0_put(p, "'");
	if (!index) {
		rust_v0_put(p, "_");
	} else if (index > p->bound_lifetimes) {
		p->failed = true;
	} else if (depth < 26) {
		rust_v0_put(p, letter);
	} else {
		rust_v0_put(p, "_");
		rust_v0_put_number(p, depth);
	}
}

/* "for<'a, 'b> ": returns how many lifetimes it binds, for unbind(). */
static uint64_t bind(struct rust_v0 *p)
{
	uint64_t n = rust_v0_tagged(p, 'G'), i;

	if (n > MAX_LIFETIMES) {
		p->failed = true;
		return 0;
	}
	for (i = 0; i < n; i++) {
		rust_v0_put(p, i ? ", " : "for<");
		p->bound_lifetimes++;
		lifetime_of(p, 1);
	}
	rust_v0_put(p, n ? "> " : "");
	return n;
}

static void unbind(struct rust_v0 *p, uint64_t n)
{
	p->bound_lifetimes -= n;
}

static void generic_argument(struct rust_v0 *p)
{
	if (rust_v0_eat(p, 'L'))
		lifetime_of(p, rust_v0_base62(p));
	else if (rust_v0_eat(p, 'K'))
		rust_v0_const(p, false);
	else
		type(p);
}

/* What an impl is found in is told by hashes and modules that nobody wants to read. */
static void skip_impl_path(struct rust_v0 *p)
{
	p->skipping++;
	rust_v0_tagged(p, 's');
	rust_v0_path(p, false);
	p->skipping--;
}

/* "N" NAMESPACE PATH IDENTIFIER: upper-case namespaces are the compiler's own. */
static void nested(struct rust_v0 *p, bool in_value)
{
	char space = rust_v0_take(p), letter[2] = { space, 0 };
	struct rust_v0_identifier name;
	uint64_t number;

	rust_v0_path(p, in_value);
	number = rust_v0_tagged(p, 's');
	name = rust_v0_identifier(p);
	if (space >= 'A' && space <= 'Z') {
		rust_v0_put(p, "::{");
		rust_v0_put(p, space == 'C' ? "closure" : space == 'S' ? "shim" : letter);
		rust_v0_put(p, name.ascii_len || name.punycode_len ? ":" : "");
		rust_v0_put_identifier(p, &name);
		rust_v0_put(p, "#");
		rust_v0_put_number(p, number);
		rust_v0_put(p, "}");
	} else if (space < 'a' || space > 'z') {
		p->failed = true;
	} else if (name.ascii_len || name.punycode_len) {
		rust_v0_put(p, "::");
		rust_v0_put_identifier(p, &name);
	}
}

/* The arguments of "I" PATH ARGUMENTS "E", but for the ">". */
static void open_generics(struct rust_v0 *p, bool in_value)
{
	rust_v0_path(p, in_value);
	rust_v0_put(p, in_value ? "::<" : "<");
	rust_v0_list(p, generic_argument, ", ");
}

static void qualified(struct rust_v0 *p, bool has_trait)
{
	rust_v0_put(p, "<");
	type(p);
	if (has_trait) {
		rust_v0_put(p, " as ");
		rust_v0_path(p, false);
	}
	rust_v0_put(p, ">");
}

static void path_of(struct rust_v0 *p, bool in_value)
{
	struct rust_v0_identifier name;
	char tag = rust_v0_take(p);
	size_t back;

	switch (tag) {
	case 'C':
		rust_v0_tagged(p, 's');
		name = rust_v0_identifier(p);
		rust_v0_put_identifier(p, &name);
		break;
	case 'N':
		nested(p, in_value);
		break;
	case 'M':
	case 'X':
		skip_impl_path(p);
		qualified(p, tag == 'X');
		break;
	case 'Y':
		qualified(p, true);
		break;
	case 'I':
		open_generics(p, in_value);
		rust_v0_put(p, ">");
		break;
	case 'B':
		if (rust_v0_follow(p, &back)) {
			rust_v0_path(p, in_value);
			p->next = back;
		}
		break;
	default:
		p->failed = true;
	}
}

void rust_v0_path(struct rust_v0 *p, bool in_value)
{
	if (rust_v0_enter(p))
		path_of(p, in_value);
	rust_v0_leave(p);
}

/* As a path, but generic arguments stay open for those that follow. Are they? */
static bool open_path(struct rust_v0 *p)
{
	bool is_open = false;
	size_t back;

	if (rust_v0_enter(p)) {
		if (rust_v0_eat(p, 'B')) {
			if (rust_v0_follow(p, &back)) {
				is_open = open_path(p);
				p->next = back;
			}
		} else if (rust_v0_eat(p, 'I')) {
			open_generics(p, false);
			is_open = true;
		} else {
			rust_v0_path(p, false);
		}
	}
	rust_v0_leave(p);
	return is_open;
}

/* Trait<Arguments, Associated = Type> */
static void dyn_trait(struct rust_v0 *p)
{
	bool is_open = open_path(p);
	struct rust_v0_identifier name;

	while (rust_v0_eat(p, 'p')) {
		rust_v0_put(p, is_open ? ", " : "<");
		is_open = true;
		name = rust_v0_identifier(p);
		rust_v0_put_identifier(p, &name);
		rust_v0_put(p, " = ");
		type(p);
	}
	rust_v0_put(p, is_open ? ">" : "");
}

static void dyn(struct rust_v0 *p)
{
	uint64_t bound, lifetime;

	rust_v0_put(p, "dyn ");
	bound = bind(p);
	rust_v0_list(p, dyn_trait, " + ");
	unbind(p, bound);
	if (!rust_v0_eat(p, 'L'))
		p->failed = true;
	lifetime = rust_v0_base62(p);
	if (lifetime) {
		rust_v0_put(p, " + ");
		lifetime_of(p, lifetime);
	}
}

/* "K" has been taken: "C", or a name in which "_" stands for "-". */
static void abi(struct rust_v0 *p)
{
	struct rust_v0_identifier name = { .ascii = "C", .ascii_len = 1 };
	size_t i;

	if (!rust_v0_eat(p, 'C'))
		name = rust_v0_identifier(p);
	if (!name.ascii_len || name.punycode_len)
		p->failed = true;
	rust_v0_put(p, "extern \"");
	for (i = 0; i < name.ascii_len; i++)
		rust_v0_put_bytes(p, name.ascii[i] == '_' ? "-" : name.ascii + i, 1);
	rust_v0_put(p, "\" ");
}

static void function(struct rust_v0 *p)
{
	uint64_t bound = bind(p);

	if (rust_v0_eat(p, 'U'))
		rust_v0_put(p, "unsafe ");
	if (rust_v0_eat(p, 'K'))
		abi(p);
	rust_v0_put(p, "fn(");
	rust_v0_list(p, type, ", ");
	rust_v0_put(p, ")");
	if (!rust_v0_eat(p, 'u')) {
		rust_v0_put(p, " -> ");
		type(p);
	}
	unbind(p, bound);
}

static void reference(struct rust_v0 *p, bool is_mutable)
{
	uint64_t lifetime = rust_v0_eat(p, 'L') ? rust_v0_base62(p) : 0;

	rust_v0_put(p, "&");
	if (lifetime) {
		lifetime_of(p, lifetime);
		rust_v0_put(p, " ");
	}
	rust_v0_put(p, is_mutable ? "mut " : "");
	type(p);
}

static void array(struct rust_v0 *p, bool has_length)
{
	rust_v0_put(p, "[");
	type(p);
	if (has_length) {
		rust_v0_put(p, "; ");
		rust_v0_const(p, true);
	}
	rust_v0_put(p, "]");
}

static void tuple(struct rust_v0 *p)
{
	rust_v0_put(p, "(");
	if (rust_v0_list(p, type, ", ") == 1)
		rust_v0_put(p, ",");
	rust_v0_put(p, ")");
}

static void pattern(struct rust_v0 *p)
{
	if (rust_v0_eat(p, 'R')) {
		rust_v0_const(p, false);
		rust_v0_put(p, "..=");
		rust_v0_const(p, false);
	} else if (rust_v0_eat(p, 'O')) {
		if (rust_v0_enter(p))
			rust_v0_list(p, pattern, " | ");
		rust_v0_leave(p);
	} else if (rust_v0_eat(p, 'N')) {
		rust_v0_put(p, "!null");
	} else {
		p->failed = true;
	}
}

static void type_of(struct rust_v0 *p, char tag)
{
	size_t back;

	switch (tag) {
	case 'R':
	case 'Q':
		reference(p, tag == 'Q');
		break;
	case 'P':
	case 'O':
		rust_v0_put(p, tag == 'P' ? "*const " : "*mut ");
		type(p);
		break;
	case 'A':
	case 'S':
		array(p, tag == 'A');
		break;
	case 'T':
		tuple(p);
		break;
	case 'F':
		function(p);
		break;
	case 'D':
		dyn(p);
		break;
	case 'B':
		if (rust_v0_follow(p, &back)) {
			type(p);
			p->next = back;
		}
		break;
	case 'W':
		type(p);
		rust_v0_put(p, " is ");
		pattern(p);
		break;
	default:
		p->next--;
		rust_v0_path(p, false);
	}
}

static void type(struct rust_v0 *p)
{
	const char *basic;
	char tag;

	if (rust_v0_enter(p)) {
		tag = rust_v0_take(p);
		basic = basic_type(tag);
		if (basic)
			rust_v0_put(p, basic);
		else if (tag)
			type_of(p, tag);
	}
	rust_v0_leave(p);
}

static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if (*text & 0x80)
			return false;
	return true;
}

bool rust_v0_demangle(const char *name, struct name_output *out, const char **tail)
{
	struct rust_v0 p = { .out = out };

	/* A digit would be the version of another encoding. */
	if (strncmp(name, "_R", 2) != 0 || name[2] < 'A' || name[2] > 'Z' || !is_ascii(name))
		return false;
	p.text = name + 2;
	p.len = strlen(p.text);
	rust_v0_path(&p, true);
	if (rust_v0_peek(&p) >= 'A' && rust_v0_peek(&p) <= 'Z') {
		p.skipping++;
		rust_v0_path(&p, false); /* the crate that made the instance */
	}
	*tail = p.text + p.next;
	return !p.failed && (!**tail || **tail == '.' || **tail == '$');
}
