/*
 * Whether two recordings may be compared: what one saw and the other did not is no difference of what was recorded.
 *
 * Hooks: a cause that was looked for on one side alone; not signals of the host, which are not compared. Losses: counters of what was lost, where the share of the whole that was lost
 * differs by more than that loss can be ignored. Files: windows that could not be read, ledgers that are not there.
 */
#ifndef STALLPROF_PROFILER_DIFF_SOUND_H
#define STALLPROF_PROFILER_DIFF_SOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/diff/diff_side.h"

#define DIFF_LINES_MAX      24
#define DIFF_LINE_BYTES_MAX 512

/* Lines for people, without newline. */
struct diff_lines {
	char text[DIFF_LINES_MAX][DIFF_LINE_BYTES_MAX];
	size_t count;
	size_t more; /* that found no room */
};

void diff_lines_add(struct diff_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to `against` why the comparison is unsound (nothing: it is not), to `remarks` what else is to be known. */
void diff_sound_check(const struct diff_side side[2], struct diff_lines *against, struct diff_lines *remarks);

/* For values per second of wall time: says of which class of tags one side did many more steps in it. */
void diff_sound_steps(const struct diff_side side[2], struct diff_lines *remarks);

/* For values per step: -ENODATA, with one line in err, where one side has hardly a step of a class of which the other has many, as its tags
 * have no ids; and says where windows have too few for narrow bounds. Else 0. */
int diff_sound_ids(const struct diff_side side[2], struct diff_lines *remarks, char *err, size_t err_size);

/* Whether a stall was looked for, all of it, as the stamp has it; else why not is in text. */
bool diff_sound_looked_for(const struct stamp *stamp, const char *stall, char *text, size_t size);

#endif
