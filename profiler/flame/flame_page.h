/*
 * The page that `stallprof flame` writes: one HTML file, built from profiler/flame/page/ and put into the program when
 * that is built, around a profile's data. The data stand in it as JSON in which each '<' is written as \u003c, so that no text of a
 * profile can end the element that holds it.
 */
#ifndef STALLPROF_PROFILER_FLAME_PAGE_H
#define STALLPROF_PROFILER_FLAME_PAGE_H

#include <stdbool.h>
#include <stdio.h>

struct flame_json;

/* Whether the program was built with the page, which takes npm. */
bool flame_page_is_there(void);

/* 0; -ENOTSUP: built without the page; -EIO when writing failed; -ENOMEM. */
int flame_page_write(FILE *out, const struct flame_json *what);

#endif
