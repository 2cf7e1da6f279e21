/*
 * Two recordings, or two parts of one, compared.
 *
 *     diff_build(&diff, &task, err, sizeof(err));
 *     diff_print_text(out, &diff) ...               see diff_print.h
 *     diff_free(&diff);
 *
 * What is within noise is named so (diff_bounds.h).
 */
#ifndef STALLPROF_PROFILER_DIFF_H
#define STALLPROF_PROFILER_DIFF_H

#include "profiler/diff/diff_result.h"

/* 0 or -errno, with one line without newline in err; only after 0 is there something to free. The filters are released in both
 * cases. A refused comparison is no error. */
int diff_build(struct diff *diff, struct diff_task *task, char *err, size_t err_size);
void diff_free(struct diff *diff);

#endif
