/*
 * From a tag's name to its class, the value of the series label `ai_tag`.
 *
 * A name is path-like and unbounded (checkpoint_write/run42/step80000); every class is a time series in
 * whoever stores the profiles. So rules cut names to classes, and a cap bounds them:
 *   1. the first rule whose pattern matches decides. A pattern with any of * ? [ is a shell glob over the
 *      whole name (* also crosses slashes); any other is a path prefix: "a/b" matches "a/b" and "a/b/c",
 *      not "a/bc".
 *   2. A rule without a class, or no rule: the name's first path component that is not empty, or
 *      TAG_CLASS_UNNAMED when there is none.
 *   3. The class is cut to TAG_CLASS_BYTES_MAX bytes, on a character's border; control characters and bytes
 *      that are not UTF-8 become '_'.
 *   4. The first max_classes distinct classes are kept; any later one is TAG_CLASS_OTHER (which is itself not
 *      counted among them), and the distinct classes that were turned away are counted.
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_TAG_CLASS_H
#define STALLPROF_PROFILER_TAG_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define TAG_CLASS_OTHER     "other"
#define TAG_CLASS_UNNAMED   "unnamed"
#define TAG_CLASS_BYTES_MAX 128
#define TAG_CLASS_RULES_MAX 256

#define TAG_CLASS_REFUSED_MAX 4096

struct tag_classes;

/* NULL with errno ENOMEM, or EINVAL for max_classes 0. */
struct tag_classes *tag_classes_new(size_t max_classes);
void tag_classes_free(struct tag_classes *classes);

/* Appends a rule; class NULL or "" keeps the first path component. 0, -EINVAL (empty pattern), -ENOSPC
 * (TAG_CLASS_RULES_MAX), -ENOMEM. Call before the first tag_classes_of. */
int tag_classes_add_rule(struct tag_classes *classes, const char *pattern, const char *class);

/* The class of a name; never NULL (TAG_CLASS_OTHER without memory). Lives as long as classes. */
const char *tag_classes_of(struct tag_classes *classes, const char *name);

/* How many distinct classes were turned away since the last call; TAG_CLASS_REFUSED_MAX: that many or more. */
uint64_t tag_classes_take_refused(struct tag_classes *classes);

#endif
