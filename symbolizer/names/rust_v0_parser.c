/* Reads numbers, identifiers (with Punycode) and back references of Rust's v0 names. */

#include "symbolizer/names/rust_v0_parser.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH    200
#define MAX_STEPS    (1u << 18)
#define MAX_PUNYCODE 256 /* characters of an identifier */

bool rust_v0_enter(struct rust_v0 *p)
{
	p->depth++;
	if (p->depth > MAX_DEPTH || ++p->steps > MAX_STEPS)
		p->failed = true;
	return !p->failed;
}

void rust_v0_leave(struct rust_v0 *p)
{
	p->depth--;
}

char rust_v0_peek(const struct rust_v0 *p)
{
	return p->failed || p->next >= p->len ? 0 : p->text[p->next];
}

char rust_v0_take(struct rust_v0 *p)
{
	char c = rust_v0_peek(p);

	if (c)
		p->next++;
	else
		p->failed = true;
	return c;
}

bool rust_v0_eat(struct rust_v0 *p, char wanted)
{
	if (rust_v0_peek(p) != wanted)
		return false;
	p->next++;
	return true;
}

void rust_v0_put_bytes(struct rust_v0 *p, const char *text, size_t len)
{
	if (!p->failed && !p->skipping && !name_output_put(p->out, text, len))
		p->failed = true;
}

void rust_v0_put(struct rust_v0 *p, const char *text)
{
	rust_v0_put_bytes(p, text, strlen(text));
}

void rust_v0_put_number(struct rust_v0 *p, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	rust_v0_put(p, text);
}

void rust_v0_put_rune(struct rust_v0 *p, uint32_t rune)
{
	char bytes[4];
	size_t len = 0;

	if (rune < 0x80) {
		bytes[len++] = (char)rune;
	} else if (rune < 0x800) {
		bytes[len++] = (char)(0xc0 | rune >> 6);
	} else if (rune < 0x10000) {
		bytes[len++] = (char)(0xe0 | rune >> 12);
		bytes[len++] = (char)(0x80 | (rune >> 6 & 0x3f));
	} else {
		bytes[len++] = (char)(0xf0 | rune >> 18);
		bytes[len++] = (char)(0x80 | (rune >> 12 & 0x3f));
		bytes[len++] = (char)(0x80 | (rune >> 6 & 0x3f));
	}
	if (rune >= 0x80)
		bytes[len++] = (char)(0x80 | (rune & 0x3f));
	rust_v0_put_bytes(p, bytes, len);
}

static int base62_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

uint64_t rust_v0_base62(struct rust_v0 *p)
{
	uint64_t value = 0;
	int digit;

	if (rust_v0_eat(p, '_'))
		return 0;
	while (!p->failed && !rust_v0_eat(p, '_')) {
		digit = base62_digit(rust_v0_take(p));
		if (digit < 0 || __builtin_mul_overflow(value, 62u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			p->failed = true;
	}
	if (__builtin_add_overflow(value, 1u, &value))
		p->failed = true;
	return p->failed ? 0 : value;
}

uint64_t rust_v0_tagged(struct rust_v0 *p, char tag)
{
	uint64_t value;

	if (!rust_v0_eat(p, tag))
		return 0;
	value = rust_v0_base62(p);
	if (value == UINT64_MAX)
		p->failed = true;
	return p->failed ? 0 : value + 1;
}

static size_t decimal(struct rust_v0 *p)
{
	size_t value = 0;
	char c = rust_v0_take(p);

	if (c < '0' || c > '9')
		p->failed = true;
	else
		value = (size_t)(c - '0');
	if (!value)
		return 0;
	while ((c = rust_v0_peek(p)) >= '0' && c <= '9' && !p->failed) {
		value = value * 10 + (size_t)(c - '0');
		p->next++;
		if (value > p->len)
			p->failed = true;
	}
	return value;
}

struct rust_v0_identifier rust_v0_identifier(struct rust_v0 *p)
{
	struct rust_v0_identifier name = { .ascii = "" };
	bool is_punycode = rust_v0_eat(p, 'u');
	size_t len = decimal(p), i;

	rust_v0_eat(p, '_');
	if (p->failed || len > p->len - p->next) {
		p->failed = true;
		return name;
	}
	name.ascii = p->text + p->next;
	name.ascii_len = len;
	p->next += len;
	if (!is_punycode)
		return name;
	for (i = len; i && name.ascii[i - 1] != '_'; i--)
		;
	name.punycode = name.ascii + i;
	name.punycode_len = len - i;
	name.ascii_len = i ? i - 1 : 0;
	if (!name.punycode_len)
		p->failed = true;
	return name;
}

/* --- Punycode (RFC 3492), with "_" before what stands for the other characters ---------------------------- */

struct runes {
	uint32_t at[MAX_PUNYCODE];
	size_t n;
};

static bool insert_rune(struct runes *runes, size_t at, uint64_t rune)
{
	if (runes->n == MAX_PUNYCODE || rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000))
		return false;
	memmove(runes->at + at + 1, runes->at + at, (runes->n - at) * sizeof(*runes->at));
	runes->at[at] = (uint32_t)rune;
	runes->n++;
	return true;
}

static uint64_t adapt(uint64_t delta, uint64_t n, bool is_first)
{
	uint64_t k = 0;

	delta /= is_first ? 700 : 2;
	delta += delta / n;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* One generalized variable-length integer. False: there is none. */
static bool take_delta(const char **pos, const char *end, uint64_t bias, uint64_t *delta)
{
	uint64_t weight = 1, k, digit, threshold;
	char c;

	*delta = 0;
	for (k = 36;; k += 36) {
		c = *pos < end ? *(*pos)++ : 0;
		if (c >= 'a' && c <= 'z')
			digit = (uint64_t)(c - 'a');
		else if (c >= '0' && c <= '9')
			digit = (uint64_t)(c - '0') + 26;
		else
			return false;
		threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
		*delta += digit * weight;
		if (digit < threshold)
			return true;
		weight *= 36 - threshold;
		if (weight > UINT32_MAX || *delta > UINT32_MAX)
			return false;
	}
}

static bool decode(const struct rust_v0_identifier *name, struct runes *runes)
{
	const char *pos = name->punycode, *end = pos + name->punycode_len;
	uint64_t rune = 0x80, bias = 72, at = 0, delta;
	bool is_first = true;
	size_t i;

	for (i = 0; i < name->ascii_len; i++)
		if (!insert_rune(runes, runes->n, (unsigned char)name->ascii[i]))
			return false;
	while (pos < end) {
		if (!take_delta(&pos, end, bias, &delta))
			return false;
		at += delta;
		bias = adapt(delta, runes->n + 1, is_first);
		is_first = false;
		rune += at / (runes->n + 1);
		at %= runes->n + 1;
		if (!insert_rune(runes, (size_t)at, rune))
			return false;
		at++;
	}
	return true;
}

void rust_v0_put_identifier(struct rust_v0 *p, const struct rust_v0_identifier *name)
{
	struct runes runes = { .n = 0 };
	size_t i;

	if (!name->punycode_len) {
		rust_v0_put_bytes(p, name->ascii, name->ascii_len);
	} else if (decode(name, &runes)) {
		for (i = 0; i < runes.n; i++)
			rust_v0_put_rune(p, runes.at[i]);
	} else {
		rust_v0_put(p, "punycode{");
		rust_v0_put_bytes(p, name->ascii, name->ascii_len);
		rust_v0_put(p, name->ascii_len ? "-" : "");
		rust_v0_put_bytes(p, name->punycode, name->punycode_len);
		rust_v0_put(p, "}");
	}
}

const char *rust_v0_hex(struct rust_v0 *p, size_t *len)
{
	size_t start = p->next;
	char c;

	while ((c = rust_v0_take(p)) && c != '_')
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			p->failed = true;
	*len = p->failed ? 0 : p->next - 1 - start;
	return p->text + start;
}

bool rust_v0_follow(struct rust_v0 *p, size_t *back)
{
	size_t start = p->next - 1;
	uint64_t target = rust_v0_base62(p);

	if (target >= start)
		p->failed = true;
	if (p->failed || p->skipping)
		return false;
	*back = p->next;
	p->next = (size_t)target;
	return true;
}

size_t rust_v0_list(struct rust_v0 *p, void (*each)(struct rust_v0 *p), const char *between)
{
	size_t n = 0;

	for (; !p->failed && !rust_v0_eat(p, 'E'); n++) {
		if (n)
			rust_v0_put(p, between);
		each(p);
	}
	return n;
}
