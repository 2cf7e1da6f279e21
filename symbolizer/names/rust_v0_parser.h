/*
 * Reads the numbers, identifiers and back references of Rust's v0 names, and prints. Used by rust_v0*.c only.
 *
 * An error is sticky: after it every function here does nothing, and says "end of text" or 0, so that only loops
 * need to look at `failed`.
 */
#ifndef SYMBOLIZER_RUST_V0_PARSER_H
#define SYMBOLIZER_RUST_V0_PARSER_H

#include <stdint.h>

#include "symbolizer/names/name_output.h"

struct rust_v0 {
	const char *text; /* behind "_R", which back references count from */
	size_t len, next;
	struct name_output *out;
	bool failed;
	unsigned int skipping; /* parse only: nothing is printed, and back references are not followed */
	unsigned int depth, steps;
	uint64_t bound_lifetimes;
};

/* Call both around each part that may be nested. False: too deep, or too many steps. */
bool rust_v0_enter(struct rust_v0 *p);
void rust_v0_leave(struct rust_v0 *p);

char rust_v0_peek(const struct rust_v0 *p); /* 0: the end */
char rust_v0_take(struct rust_v0 *p);       /* fails at the end */
bool rust_v0_eat(struct rust_v0 *p, char wanted);

void rust_v0_put(struct rust_v0 *p, const char *text);
void rust_v0_put_bytes(struct rust_v0 *p, const char *text, size_t len);
void rust_v0_put_number(struct rust_v0 *p, uint64_t number);
void rust_v0_put_rune(struct rust_v0 *p, uint32_t rune); /* in UTF-8 */

uint64_t rust_v0_base62(struct rust_v0 *p);
/* 0: there is none; else the number after `tag`, plus 1. */
uint64_t rust_v0_tagged(struct rust_v0 *p, char tag);

struct rust_v0_identifier {
	const char *ascii, *punycode;
	size_t ascii_len, punycode_len;
};
struct rust_v0_identifier rust_v0_identifier(struct rust_v0 *p);
void rust_v0_put_identifier(struct rust_v0 *p, const struct rust_v0_identifier *name);

/* Lower-case hex digits up to "_", which is taken. */
const char *rust_v0_hex(struct rust_v0 *p, size_t *len);

/*
 * Follows a back reference, after its "B" was taken. True: read what is there, then set `next` to *back. False: while
 * skipping, or when it does not point back.
 */
bool rust_v0_follow(struct rust_v0 *p, size_t *back);

/* In rust_v0_const.c and rust_v0.c. */
void rust_v0_const(struct rust_v0 *p, bool in_value);
void rust_v0_path(struct rust_v0 *p, bool in_value);

/* Calls `each` until "E", which is taken; returns the number of calls. */
size_t rust_v0_list(struct rust_v0 *p, void (*each)(struct rust_v0 *p), const char *between);

#endif
