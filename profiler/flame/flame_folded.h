/*
 * Folded stacks: a line each, its functions from the outermost inward, then a blank and the value.
 *
 *     main;write_shard;io_schedule 50000000
 *
 * In names ';' becomes ':', and what is no printable UTF-8 is written as \xHH.
 */
#ifndef STALLPROF_PROFILER_FLAME_FOLDED_H
#define STALLPROF_PROFILER_FLAME_FOLDED_H

#include <stdio.h>

struct flame_data;
struct flame_tree;

/* Stacks whose sum is 0 are left out. 0; -EIO when writing failed. */
int flame_folded_write(FILE *out, const struct flame_data *data, const struct flame_tree *tree);

#endif
