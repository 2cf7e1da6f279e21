/*
 * When a growth cannot be judged: what differs in the recordings need not be a difference of the builds.
 *
 * A single long stall makes the windows of a side differ so much that any difference is within its bounds, and of a few windows
 * nobody knows how much they differ. "Within noise" would be true of both, and worth nothing: a rule that was checked in such
 * recordings has neither passed nor failed.
 */
#ifndef STALLPROF_PROFILER_DIFF_DOUBT_H
#define STALLPROF_PROFILER_DIFF_DOUBT_H

#include <stdbool.h>
#include <stddef.h>

struct diff;
struct diff_bound;

/* The windows that each side has at least where a growth is judged: the spread of four is known to 40 %, and what comes every tenth
 * second is in none of them. */
#define DIFF_WINDOWS_MIN 5

/* Growths up to it, percent, may well be within noise, which is what the rule's limit asks for: between runs of the same build a
 * disk's waits differ as much (tests/study/diff_noise.py). */
#define DIFF_NOTABLE 10.0

/* A side has fewer than DIFF_WINDOWS_MIN windows. */
bool diff_doubt_few(const struct diff *diff);

/* A side has fewer than DIFF_WINDOWS_MIN windows with anything that the row is divided by: its tags, say, were seldom there. The bound is one of
 * diff_bounds(). */
bool diff_doubt_rare(const struct diff_bound *bound);

/*
 * Whether a growth that is within noise is more than `limit` and DIFF_NOTABLE percent of `whole`, or whether even one by all of
 * `whole` would be within noise. `whole` is BASE's value, or that of its total where the row is one of many.
 */
bool diff_doubt_wide(const struct diff_bound *bound, double limit, double whole);

#define DIFF_DOUBT_BYTES 640
/* "What differs cannot be told from noise (total +40.1 %): ..." where nothing is worse or better and the total is in doubt; else "".
 * Returns text. */
const char *diff_doubt_total(char text[DIFF_DOUBT_BYTES], const struct diff *diff);

/* One sentence: why, and what to do. Returns text. */
const char *diff_doubt_text(char *text, size_t size, const struct diff *diff, const struct diff_bound *bound);

#endif
