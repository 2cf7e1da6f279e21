/*
 * Which bytes are text.
 *
 * Tag names, comms, paths and symbol names come from other processes and may hold any byte, while JSON and
 * protobuf strings must be UTF-8: a server that finds one which is not refuses the whole profile. Whoever writes them
 * asks here and escapes or replaces the rest.
 */
#ifndef STALLPROF_PPROF_UTF8_H
#define STALLPROF_PPROF_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Length (1 to 4) of the well-formed UTF-8 sequence at the start of the size bytes at text; 0 when there
 * is none (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF) or size is 0.
 */
size_t utf8_sequence(const char *text, size_t size);

/* Whether all of the size bytes at text are well-formed. */
bool utf8_is_text(const char *text, size_t size);

/* A copy of the text in which U+FFFD stands for each byte that is not well-formed; the caller frees it. NULL: no memory. */
char *utf8_mended(const char *text);

/*
 * Copies what of the size bytes at text has room in out[room], with a NUL: whole characters only, controls and bytes that are no
 * text as '_'.
 */
void utf8_clean(char *out, size_t room, const char *text, size_t size);

#endif
