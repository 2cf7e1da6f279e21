/* Demangles the constants in Rust's v0 names. */
#include <stdio.h>
#include <string.h>

#include "symbolizer/names/rust_v0_parser.h"

static uint64_t hex_value(const char *hex, size_t len, bool *fits)
{
	uint64_t value = 0;

	for (; len && *hex == '0'; len--)
		hex++;
	*fits = len <= 16;
	for (; len && *fits; len--, hex++)
		value = value << 4 | (uint64_t)(*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);
	return value;
}

static void integer(struct rust_v0 *p)
{
	size_t len;
	const char *hex = rust_v0_hex(p, &len);
	bool fits;
	uint64_t value = hex_value(hex, len, &fits);

	if (fits) {
		rust_v0_put_number(p, value);
		return;
	}
	for (; *hex == '0'; len--)
		hex++;
	rust_v0_put(p, "0x");
	rust_v0_put_bytes(p, hex, len);
}

static void boolean(struct rust_v0 *p)
{
	size_t len;
	const char *hex = rust_v0_hex(p, &len);

	if (len != 1 || (*hex != '0' && *hex != '1'))
		p->failed = true;
	else
		rust_v0_put(p, *hex == '1' ? "true" : "false");
}

/* One character of a literal in quotes of that kind. */
static void quoted(struct rust_v0 *p, uint32_t rune, char quote)
{
	static const char plain[] = "\t\n\r\\", escapes[] = "tnr\\";
	const char *found = rune && rune < 0x80 ? strchr(plain, (int)rune) : NULL;
	char text[16];

	if (found)
		snprintf(text, sizeof(text), "\\%c", escapes[found - plain]);
	else if (rune == (unsigned char)quote)
		snprintf(text, sizeof(text), "\\%c", quote);
	else if (!rune)
		snprintf(text, sizeof(text), "\\0");
	else if (rune < 0x20 || rune == 0x7f)
		snprintf(text, sizeof(text), "\\u{%x}", rune);
	else
		text[0] = 0;
	if (text[0])
		rust_v0_put(p, text);
	else
		rust_v0_put_rune(p, rune);
}

static bool is_rune(uint64_t value)
{
	return value < 0xd800 || (value >= 0xe000 && value <= 0x10ffff);
}

static void character(struct rust_v0 *p)
{
	size_t len;
	const char *hex = rust_v0_hex(p, &len);
	bool fits;
	uint64_t value = hex_value(hex, len, &fits);

	if (!len || !fits || !is_rune(value)) {
		p->failed = true;
		return;
	}
	rust_v0_put(p, "'");
	quoted(p, (uint32_t)value, '\'');
	rust_v0_put(p, "'");
}

static unsigned int byte_at(const char *hex)
{
	bool fits;

	return (unsigned int)hex_value(hex, 2, &fits);
}

/* One character of UTF-8 in hex, whose smallest for its length is that. Returns bytes used; 0: it is none. */
static size_t take_utf8(const char *hex, size_t n_bytes, uint32_t *rune)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int byte = byte_at(hex);
	size_t len = byte < 0x80 ? 1 : byte >> 5 == 6 ? 2 : byte >> 4 == 14 ? 3 : byte >> 3 == 30 ? 4 : 0, i;

	if (!len || len > n_bytes)
		return 0;
	*rune = len == 1 ? byte : byte & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		byte = byte_at(hex + 2 * i);
		if (byte >> 6 != 2)
			return 0;
		*rune = *rune << 6 | (byte & 0x3f);
	}
	return *rune >= smallest[len] && is_rune(*rune) ? len : 0;
}

static void string(struct rust_v0 *p)
{
	size_t len, used;
	const char *hex = rust_v0_hex(p, &len);
	uint32_t rune;

	if (len % 2)
		p->failed = true;
	rust_v0_put(p, "\"");
	for (len /= 2; len && !p->failed; len -= used, hex += 2 * used) {
		used = take_utf8(hex, len, &rune);
		if (!used)
			p->failed = true;
		else
			quoted(p, rune, '"');
	}
	rust_v0_put(p, "\"");
}

static void inner(struct rust_v0 *p)
{
	rust_v0_const(p, true);
}

static void field(struct rust_v0 *p)
{
	struct rust_v0_identifier name;

	rust_v0_tagged(p, 's');
	name = rust_v0_identifier(p);
	rust_v0_put_identifier(p, &name);
	rust_v0_put(p, ": ");
	rust_v0_const(p, true);
}

static void tuple(struct rust_v0 *p)
{
	rust_v0_put(p, "(");
	if (rust_v0_list(p, inner, ", ") == 1)
		rust_v0_put(p, ",");
	rust_v0_put(p, ")");
}

/* A value of a struct or an enum: no fields, numbered ones, or named ones. */
static void aggregate(struct rust_v0 *p)
{
	rust_v0_path(p, true);
	switch (rust_v0_take(p)) {
	case 'U':
		break;
	case 'T':
		rust_v0_put(p, "(");
		rust_v0_list(p, inner, ", ");
		rust_v0_put(p, ")");
		break;
	case 'S':
		rust_v0_put(p, " { ");
		rust_v0_list(p, field, ", ");
		rust_v0_put(p, " }");
		break;
	default:
		p->failed = true;
	}
}

/* What stands in braces when it is an argument by itself. */
static void expression(struct rust_v0 *p, char tag)
{
	switch (tag) {
	case 'e':
		rust_v0_put(p, "*");
		string(p);
		break;
	case 'R':
	case 'Q':
		rust_v0_put(p, tag == 'R' ? "&" : "&mut ");
		rust_v0_const(p, true);
		break;
	case 'A':
		rust_v0_put(p, "[");
		rust_v0_list(p, inner, ", ");
		rust_v0_put(p, "]");
		break;
	case 'T':
		tuple(p);
		break;
	case 'V':
		aggregate(p);
		break;
	default:
		p->failed = true;
	}
}

static void any(struct rust_v0 *p, bool in_value)
{
	char tag = rust_v0_take(p);
	size_t back;

	if (tag && strchr("htmyoj", tag)) {
		integer(p);
	} else if (tag && strchr("aslxni", tag)) {
		rust_v0_put(p, rust_v0_eat(p, 'n') ? "-" : "");
		integer(p);
	} else if (tag == 'p') {
		rust_v0_put(p, "_");
	} else if (tag == 'b') {
		boolean(p);
	} else if (tag == 'c') {
		character(p);
	} else if (tag == 'B') {
		if (rust_v0_follow(p, &back)) {
			rust_v0_const(p, in_value);
			p->next = back;
		}
	} else if (tag == 'R' && rust_v0_eat(p, 'e')) {
		string(p);
	} else {
		rust_v0_put(p, in_value ? "" : "{");
		expression(p, tag);
		rust_v0_put(p, in_value ? "" : "}");
	}
}

void rust_v0_const(struct rust_v0 *p, bool in_value)
{
	if (rust_v0_enter(p))
		any(p, in_value);
	rust_v0_leave(p);
}
