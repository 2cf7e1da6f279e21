/*
 * The environment that this program was started with, which is what the command that it runs is to have.
 *
 * The dynamic linker takes LD_LIBRARY_PATH, LD_PRELOAD, TMPDIR and others out of the environment of a program that has file
 * capabilities. They are not for us, but the command has no capabilities, and runs as it would without us. The kernel's copy is still
 * on the stack.
 *
 *     given_environment_begin(argc, argv)     once, first in main()
 *     given_environment()                     for execvpe(), before a fork
 *     given_environment_value(NAME)           what getenv() would say
 *
 * Not for several threads.
 */
#ifndef STALLPROF_PROFILER_GIVEN_ENVIRONMENT_H
#define STALLPROF_PROFILER_GIVEN_ENVIRONMENT_H

void given_environment_begin(int argc, char **argv);

/* `environ`, with what the linker took out of it; `environ` alone if that was nothing, or there is no memory. It stands until the next
 * call, and `environ` must not be changed meanwhile. */
char **given_environment(void);

/* The value of a variable, or NULL. It stands as long as the program. */
const char *given_environment_value(const char *name);

/* For tests: as begin, of strings from `at` to before `end`. */
void given_environment_set(const char *at, const char *end);

#endif
