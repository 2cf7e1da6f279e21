/*
 * Which bytes are text.
 *
 * Tag names, comms and symbol names come from other processes and may hold any byte, while JSON and
 * protobuf strings must be UTF-8. Whoever writes them asks here and escapes the rest.
 */
#ifndef STALLPROF_PROFILER_UTF8_H
#define STALLPROF_PROFILER_UTF8_H

#include <stddef.h>

/*
 * Length (1 to 4) of the well-formed UTF-8 sequence at the start of the size bytes at text; 0 when there
 * is none (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF) or size is 0.
 */
size_t utf8_sequence(const char *text, size_t size);

/*
 * Copies what of the size bytes at text has room in out[room], with a NUL: whole characters only, controls and bytes that are no
 * text as '_'.
 */
void utf8_clean(char *out, size_t room, const char *text, size_t size);

#endif
