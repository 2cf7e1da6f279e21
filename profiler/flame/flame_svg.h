/*
 * A flame graph as one SVG picture, without scripts: a box a function, as wide as its share, the outermost at the
 * bottom; a tooltip says its time and share. Where samples take time back, a box is as wide as what is in it, if that is more.
 */
#ifndef STALLPROF_PROFILER_FLAME_SVG_H
#define STALLPROF_PROFILER_FLAME_SVG_H

#include <stdio.h>

struct flame_data;
struct flame_tree;

/* `unit`: of the values; `title` stands above the graph. Boxes too narrow to be seen are left out, which the picture says. 0;
 * -EIO when writing failed; -ENOMEM. */
int flame_svg_write(FILE *out, const struct flame_data *data, const struct flame_tree *tree,
                    const char *title, const char *unit);

#endif
