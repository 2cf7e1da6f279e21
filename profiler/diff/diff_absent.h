/*
 * None of something: whether that is what happened, or whether nobody looked, or the name is wrong.
 *
 * A stall is truly absent where its hooks were attached, a kind of wait that is no stall where the ledger has no more of it
 * than may have been in waits too short for samples, a class of tags where the ledger has it all the same.
 */
#ifndef STALLPROF_PROFILER_DIFF_ABSENT_H
#define STALLPROF_PROFILER_DIFF_ABSENT_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/diff/diff_side.h"
#include "profiler/diff/diff_sound.h"
#include "profiler/top/top_names.h"

/* Whether a side that has none of `name` is known to have none; else why not is in text. side_name: "BASE", "NEW". */
bool diff_absent_is_true(const struct diff_side *side, const char *side_name, enum top_by what,
                         const char *name, char *text, size_t size);

/* Adds to `against` why a side has nothing that could be compared: its filter lets nothing pass, it is empty, or waits are asked
 * for of which it has no samples. */
void diff_absent_check(const struct diff_side *side, const char *side_name, struct diff_lines *against);

/* Adds to `against` that a side's waits are left out as those of idle threads while the other side has waits of pushed tags. `paired`: the
 * sides are of one recording. */
void diff_absent_pushed(const struct diff_side side[2], bool paired, struct diff_lines *against);

/* Adds a remark if NEW waited longer than BASE for what is no stall, and both sides leave that out. */
void diff_absent_waits(const struct diff_side side[2], struct diff_lines *remarks);

/* Of comparisons of CPU time: adds a line if one side has it outside of stalls, and the other was recorded without. */
void diff_absent_oncpu(const struct diff_side side[2], struct diff_lines *against);

/* Adds a remark if NEW waited longer than BASE for a CPU, unless a filter asks for some of the waits alone. */
void diff_absent_runqueue(const struct diff_side side[2], struct diff_lines *remarks);

#endif
