/*
 * Finds the tags of the host: which processes to follow, and in which files to listen for changes of tags.
 *
 * At the start it lists /proc once, and looks at the processes one after the other: tags that are held already are
 * seen (STALLPROF_TAG in an environment, a thread's context record). From then on the live feed of executable
 * mappings reports each file that is mapped for the first time; one that carries the tag library's probes is
 * attached to, once for all processes that map it, now or later. One like `stallprof tag`, in another file than this
 * program's, may have executed its command by then: that and its children are looked at as those are that were there
 * before. A process that publishes contexts without our
 * probes (an OpenTelemetry SDK) is looked at again after a while, because it publishes some time after its library
 * is mapped; its key map it may publish at any time, and is looked at for that each 10 s, or more seldom where so many
 * have none that this would take more than a 200th of a CPU.
 *
 * Looks wait in a queue (look_queue.h) until tag_watch_poll() has time for them, so that no process, whatever it
 * maps and pushes, keeps the profiler from its work.
 */
#ifndef STALLPROF_PROFILER_TAG_WATCH_H
#define STALLPROF_PROFILER_TAG_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/format/say.h"

struct exec_maps;
struct exec_maps_handler;
struct process_table;
struct python_processes;
struct stamp;
struct symbolizer;
struct tag_watch;
struct tracer;

/* Attaches to this program's own probes (stallprof tag). NULL with errno set and a line. */
struct tag_watch *tag_watch_new(struct tracer *tracer, say_fn say, char *err, size_t err_len);
void tag_watch_free(struct tag_watch *watch);

/* From then on tells the first two of exits and execs, `pythons` also of forks and of files that are mapped, and the symbolizer of code that
 * the kernel makes. Each may be NULL. */
void tag_watch_tell(struct tag_watch *watch, struct process_table *processes,
                    struct python_processes *pythons, struct symbolizer *symbolizer);
/* The feed of mappings; NULL when the kernel refuses it. */
struct exec_maps *tag_watch_maps(struct tag_watch *watch);

/* The functions that the feed calls. For tests, which report forks, execs and exits themselves. */
struct exec_maps_handler tag_watch_handler(struct tag_watch *watch);

/* Attaches to a file's probes, if it has any, before anybody has mapped it. */
void tag_watch_file(struct tag_watch *watch, const char *path);

/* Follows this process with a base tag; `from_exec`: from its next exec on. 0 or -errno. */
int tag_watch_process(struct tag_watch *watch, uint32_t pid, uint64_t base_tag, bool from_exec);
/* The base tag that the process is followed with; 0: none. */
uint64_t tag_watch_base_tag(const struct tag_watch *watch, uint32_t pid);
/* Calls `on_tag` for the base tag of each process that is followed with one. */
void tag_watch_each_base_tag(const struct tag_watch *watch, void (*on_tag)(void *ctx, uint64_t tag),
                             void *ctx);

/* Lists the processes in /proc, for tag_watch_poll() to look at. With `only_given` processes that are not followed
 * already are left out, but their files with probes are attached to. 0 or -errno. */
int tag_watch_scan(struct tag_watch *watch, bool only_given);

/* The process has pushed a tag: it is looked at if nothing is known of it. `executes`: or it executes another program: it is looked at,
 * however lately that was done. */
void tag_watch_met(struct tag_watch *watch, uint32_t pid, bool executes);

/* The process may hold a tag that it got before the programs let its threads through: it is looked at for what it holds already, as those
 * that tag_watch_scan() finds are. */
void tag_watch_late(struct tag_watch *watch, uint32_t pid);

/* Readable when mappings wait; -1 when there is no feed. */
int tag_watch_fd(const struct tag_watch *watch);
/* Applies the mappings that wait and makes the looks that are due. Takes some 100 ms at most. */
void tag_watch_poll(struct tag_watch *watch, uint64_t now_ns);
/* Whether more looks are due now. */
bool tag_watch_behind(const struct tag_watch *watch);

/* Whether a process is alive whose contexts can only be seen with the hot programs attached. */
bool tag_watch_needs_attach(const struct tag_watch *watch);
/* Whether processes were found since the last call whose threads may hold tags that were pushed before their probes
 * were attached to. Such tags are read only with the hot programs attached. */
bool tag_watch_take_held(struct tag_watch *watch);
/* Whether processes were added since the last call, so that the iterator must adopt them. */
bool tag_watch_take_changed(struct tag_watch *watch);

int tag_watch_describe(struct tag_watch *watch, struct stamp *stamp);

#endif
