/*
 * What stallprof doctor has found, as text: the host, then the hooks by their state, so that each reason stands there once with all
 * that hangs on it, then each cause by how much is seen of it.
 */
#ifndef STALLPROF_PROFILER_DOCTOR_TEXT_H
#define STALLPROF_PROFILER_DOCTOR_TEXT_H

struct doctor_findings;

/* Writes to standard output. */
void doctor_print_text(const struct doctor_findings *found);

#endif
