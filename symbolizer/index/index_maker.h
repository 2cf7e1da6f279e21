/*
 * Identifies the program that makes the indexes, so that wrong answers of one version are not used by the next. A
 * hash of the build-id of the executable or library that this code is in; 0 when it has none.
 */
#ifndef SYMBOLIZER_INDEX_MAKER_H
#define SYMBOLIZER_INDEX_MAKER_H

#include <stdint.h>

uint64_t index_maker(void);

#endif
