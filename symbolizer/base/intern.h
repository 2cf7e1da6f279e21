/* Strings kept once each, at one address, until the table is freed. */
#ifndef SYMBOLIZER_INTERN_H
#define SYMBOLIZER_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern;

/* `max_bytes` bounds strings and table together. NULL with errno set. */
struct intern *intern_new(size_t max_bytes);
void intern_free(struct intern *t);

/*
 * The kept copy of s[0..len), cut to INTERN_MAX_LENGTH bytes where a character of UTF-8 begins. When the table is full,
 * or memory is short, new strings all become INTERN_FULL, so the answer is never NULL.
 */
#define INTERN_FULL       "[too many names]"
#define INTERN_MAX_LENGTH ((size_t)16 << 10)
const char *intern_bytes(struct intern *t, const char *s, size_t len);
const char *intern_string(struct intern *t, const char *s);

size_t intern_memory(const struct intern *t);

/* How often the answer was INTERN_FULL. */
uint64_t intern_refused(const struct intern *t);

#endif
