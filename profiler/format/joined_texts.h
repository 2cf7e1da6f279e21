/* Several texts as one key of a hash table. */
#ifndef STALLPROF_PROFILER_JOINED_TEXTS_H
#define STALLPROF_PROFILER_JOINED_TEXTS_H

#include <stddef.h>

/* The texts one behind the other, each with its NUL; *length: of all. To be freed; NULL without memory. */
char *joined_texts(const char *const *texts, size_t n, size_t *length);

#endif
