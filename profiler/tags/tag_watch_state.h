/* The inside of a tag_watch (tag_watch.h): processes are looked at in tag_watch.c, what the feed tells is taken in tag_watch_feed.c. */
#ifndef STALLPROF_PROFILER_TAG_WATCH_STATE_H
#define STALLPROF_PROFILER_TAG_WATCH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/format/stamp.h"
#include "profiler/tags/tag_watch.h"

#define TOLD_MAX 10

struct context_file;
struct followed;

struct tag_watch {
	struct tracer *tracer;
	say_fn say;
	struct context_locator *locator;
	struct exec_maps *maps;
	struct process_table *processes;
	struct python_processes *pythons;
	struct symbolizer *symbolizer;
	struct probed_files *files;
	struct followed_processes *followed;
	struct look_queue *looks;
	bool only_given, may_hold;
	uint64_t now_ns, sweep_ns;
	uint64_t keys_ns;   /* when some process is looked at for its key map next */
	uint64_t mapped_ns; /* when what is being looked at was mapped, at the earliest; 0: before us */
	struct stamp_growth told[TOLD_MAX];
	bool has_probes, has_log, all_attached, was_before; /* of the look in progress */
};

/* The process's entry, which may be new; NULL: there is no room. */
struct followed *tag_watch_follow(struct tag_watch *watch, uint32_t pid);
bool tag_watch_may_follow(const struct tag_watch *watch, uint32_t pid);

/* Returns since when it is attached to; 0: it is refused. */
uint64_t tag_watch_attach_file(struct tag_watch *watch, uint32_t pid, const struct context_file *file);

/* As look_queue_ask(), for something that was mapped at `mapped_ns`; 0: that is not known. */
void tag_watch_ask(struct tag_watch *watch, uint32_t pid, uint64_t at_ns, bool first, uint64_t mapped_ns);

/* 50 ms, doubling: a library is relocated within milliseconds, a context published some time later. */
void tag_watch_look_again(struct tag_watch *watch, struct followed *f);

void tag_watch_ended(struct tag_watch *watch, uint32_t pid);

#endif
