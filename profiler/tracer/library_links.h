/*
 * Attaches BPF programs to the entries of the functions in library_calls.h, in all processes that run them,
 * file by file, and only while something is tagged: each call of a function that is attached to takes microseconds more.
 * Part of the tracer: see tracer.h.
 *
 *	links = library_links_new(programs, multi);
 *	file = library_links_add(links, path, libraries);	attached to from now on, if hot
 *	library_links_set_hot(links, true);			all files are attached to
 *	library_links_remove(links, file);
 *	library_links_free(links);
 */
#ifndef STALLPROF_PROFILER_LIBRARY_LINKS_H
#define STALLPROF_PROFILER_LIBRARY_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct library_links;

#define LIBRARY_LINKS_FILES_MAX 256 /* each holds a descriptor, and two more while it is attached to */

/* The programs are those of the probe table in `object`, which must outlive it. `multi`: they were prepared for
 * uprobe_multi links (uprobe_links.h). NULL without memory. */
struct library_links *library_links_new(const struct bpf_object *object, bool multi);
/* Waits until all are detached. */
void library_links_free(struct library_links *links);

/* `libraries`: bits of library_calls_of(). Returns a number for library_links_remove(), also when the file has none of the
 * functions; -ENOSPC: there are too many files; -errno of reading it, or of attaching. */
int library_links_add(struct library_links *links, const char *path, uint32_t libraries);
void library_links_remove(struct library_links *links, int file);

/* What cannot be attached to now is told by library_links_error(). Detaching returns at once. */
void library_links_set_hot(struct library_links *links, bool hot);

/* Of the library with that hook and cause in the probe table: 0: it is or was attached to; -ENOENT: no file with its functions was
 * seen; -EAGAIN: one was seen, and nothing tagged since; else why it could not be attached to. */
int library_links_error(const struct library_links *links, const char *cause, const char *hook);

#endif
