/*
 * Which program makes the indexes: answers of one version must not outlive a fix of them in the next. A number made
 * of the build-id of the executable or library that this code is in; 0 when it has none.
 */
#ifndef SYMBOLIZER_INDEX_MAKER_H
#define SYMBOLIZER_INDEX_MAKER_H

#include <stdint.h>

uint64_t index_maker(void);

#endif
