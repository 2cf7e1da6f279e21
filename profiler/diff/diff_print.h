/*
 * A comparison for people (text, Markdown) and for programs (JSON, JUnit).
 *
 * JSON:
 *
 *     { "verdict", "status", "refused": [LINE], "remarks": [LINE], "type", "unit", "normalize", "by", "confidence", "min_change",
 *       "base": {place, filter: [{label, value, not}], seconds, windows, slices}, "new": as base,
 *       "total": {base, new, diff, percent, low, high, verdict},
 *       "rows": [ as total, and {name, flat_base, flat_new, own_base, own_new} ],
 *       "rules": [ {rule, outcome, text}, and of a growth as total ],
 *       "overlap": { buckets, bucket_ns, blocks, timeline, rows: [ {class, stall, device, whole_ns, together_ns, expected_ns,
 *                    caused_ns, low_ns, high_ns} ] } }
 *
 * The verdict is "refused", else "worse" when a row is worse beyond noise, "cannot be judged" when the status is 2, "better" when rows are better and none worse,
 * "no bounds" when there are differences and no bounds, else "within noise" or "same". percent is null where BASE has none; low and high
 * are null without bounds. flat and own are normalised, too. overlap is there where two filters of one profile were compared, NEW's of whole
 * classes of tags.
 * A refused comparison has no rows.
 */
#ifndef STALLPROF_PROFILER_DIFF_PRINT_H
#define STALLPROF_PROFILER_DIFF_PRINT_H

#include <stddef.h>
#include <stdio.h>

struct diff;
struct diff_overlap_row;

/* `limit`: rows at most; 0: all. Text and Markdown leave out rows that repeat others (diff_table_show()). Each: 0, -EIO, -ENOMEM. */
int diff_print_text(FILE *out, struct diff *diff, size_t limit);
int diff_print_markdown(FILE *out, struct diff *diff, size_t limit);
int diff_print_json(FILE *out, struct diff *diff, size_t limit);
/* A test case for each rule; without rules one for the comparison. */
int diff_print_junit(FILE *out, struct diff *diff, size_t limit);

/* One sentence: what the whole comparison comes to. */
const char *diff_verdict(const struct diff *diff);

/* "1.20 s of 3.10 s of train_step's block_io on vda (38.7 %)", and what bounds it. */
#define DIFF_OVERLAP_BYTES 512
const char *diff_overlap_text(char text[DIFF_OVERLAP_BYTES], const struct diff_overlap_row *row);

#endif
