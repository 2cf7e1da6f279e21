/*
 * The files from which a command that is about to run may have the tag library's probes: its own file, and
 * libstalltag.so in the places where it would be found: of the system, and of the Python that the command is or belongs to (a
 * virtual environment's). They are attached to before the command starts, so that its first tag is seen when it is pushed; a
 * library elsewhere is attached to when it is mapped.
 */
#ifndef STALLPROF_PROFILER_TAG_LIBRARY_H
#define STALLPROF_PROFILER_TAG_LIBRARY_H

typedef void (*tag_library_fn)(void *ctx, const char *path);

/* Calls `found` for each file that exists and can be read. `command` may be NULL, or a name to be looked up in
 * PATH. */
void tag_library_candidates(const char *command, tag_library_fn found, void *ctx);

#endif
