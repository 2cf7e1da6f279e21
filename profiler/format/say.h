/* What is told to the user while the program runs. */
#ifndef STALLPROF_PROFILER_SAY_H
#define STALLPROF_PROFILER_SAY_H

/* Says a line, seldom several; there is no newline at the end. The text is the caller's, and copied if it is kept. */
typedef void (*say_fn)(const char *line);

#endif
