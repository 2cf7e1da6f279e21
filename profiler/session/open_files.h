/*
 * Raises how many files this process may have open. A host with many CPUs takes more than the usual soft limit of
 * 1,024: a clock, a ring and a feed of mappings for each CPU, two probes for each program that tags.
 *
 * Call order: open_files_raise() once; open_files_restore() in each child before it executes a program, which may
 * rely on the limit (select() does).
 */
#ifndef STALLPROF_PROFILER_OPEN_FILES_H
#define STALLPROF_PROFILER_OPEN_FILES_H

/* Raises the soft limit to the hard one. Where that fails the limit stays as it is. */
void open_files_raise(void);

/* Sets the soft limit to what it was. May be called between fork() and exec(). */
void open_files_restore(void);

#endif
