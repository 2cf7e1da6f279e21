/* What the live feed of mappings tells: new files, programs, children, and ends of processes. */

#include "profiler/tags/tag_watch_state.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "symbolizer/base/clock.h"
#include "profiler/process/cached_stat.h"
#include "profiler/process/exec_maps.h"
#include "profiler/process/followed.h"
#include "profiler/process/look_queue.h"
#include "profiler/process/process_table.h"
#include "profiler/process/python_processes.h"
#include "profiler/tags/context_locate.h"
#include "profiler/tags/probed_files.h"
#include "profiler/tags/tag_file.h"
#include "symbolizer/symbolizer.h"

/* Is not left to the look at the process, by which it may be gone. One that tags itself may have done so before the probe is attached to;
 * then the command that it executes has that in its environment. */
static void on_mapped_file(void *ctx, pid_t pid, const struct context_file *file)
{
	struct tag_watch *watch = ctx;

	tag_watch_attach_file(watch, (uint32_t)pid, file);
	if (tag_file_tags_process(file->facts))
		tag_watch_ask(watch, (uint32_t)pid, 0, true, watch->mapped_ns);
}

/* For those that map it later, though this process is gone by now. 1: it is of interest; 0: it is not; -1: the path is another's. */
static int look_at_file(struct tag_watch *watch, uint32_t pid, const struct exec_mapping *mapping)
{
	struct tag_file facts;
	struct statx st;

	if (mapping->path[0] != '/' || cached_stat(0, mapping->path, &st) || st.stx_ino != mapping->inode ||
	    tag_file_read_path(mapping->path, &facts))
		return -1;
	if (facts.probes || facts.libraries)
		tag_watch_attach_file(watch, pid,
		                      &(struct context_file){ &facts,
		                                              makedev(st.stx_dev_major, st.stx_dev_minor),
		                                              st.stx_ino, mapping->path });
	return tag_file_interesting(&facts);
}

static void on_any_mapped(void *ctx, uint32_t pid, const struct exec_mapping *mapping, uint64_t at_ns)
{
	struct tag_watch *watch = ctx;

	process_table_mapped(watch->processes, pid, mapping, at_ns);
}

static bool on_mapped(void *ctx, uint32_t pid, const struct exec_mapping *mapping, uint64_t at_ns)
{
	struct tag_watch *watch = ctx;
	const struct context_files_wanted wanted = { .file = on_mapped_file, .ctx = watch };
	int interest;

	watch->mapped_ns = at_ns;
	interest = context_locator_interest(watch->locator, (pid_t)pid, mapping->start, mapping->end,
	                                    mapping->path, &wanted);
	if (tag_watch_may_follow(watch, pid))
		python_processes_mapped(watch->pythons, pid, mapping->path);
	if (interest == 1 || interest == -EAGAIN)
		tag_watch_ask(watch, pid, monotonic_ns(), false, at_ns);
	else if (interest < 0)
		interest = look_at_file(watch, pid, mapping);
	watch->mapped_ns = 0;
	/* Of the file, whoever maps it now. */
	return interest != 0 || (watch->pythons && sym_python_may_be(mapping->path));
}

/* May come later than what made us look at the new program already (tag_watch_met): what that look found stands. */
static void on_exec(void *ctx, uint32_t pid, uint64_t since_ns)
{
	struct tag_watch *watch = ctx;
	struct followed *f;

	process_table_exec(watch->processes, pid);
	python_processes_executed(watch->pythons, pid);
	probed_files_left(watch->files, pid, monotonic_ns());
	look_queue_executed(watch->looks, pid);
	f = followed_find(watch->followed, pid);
	if (!f)
		return;
	if (f->looked_ns <= since_ns) {
		followed_reset(f);
		look_queue_rouse(watch->looks, pid);
	}
	f->process.from_exec = 0;
	followed_publish(watch->followed, f);
}

static void on_fork(void *ctx, uint32_t child, uint32_t parent)
{
	struct tag_watch *watch = ctx;
	struct followed *p, *c;
	struct look look;

	python_processes_forked(watch->pythons, child, parent);
	probed_files_forked(watch->files, child, parent);
	/* What the parent maps is yet to be looked at: its child maps it, too, and may hold a tag by then. */
	if (look_queue_waits(watch->looks, parent, &look))
		tag_watch_ask(watch, child, monotonic_ns(), look.first, look.mapped_ns);
	p = followed_find(watch->followed, parent);
	c = p && followed_has_slot(p) ? tag_watch_follow(watch, child) : NULL;
	if (!c)
		return;
	followed_inherit(c, p);
	followed_publish(watch->followed, c);
	tag_watch_look_again(watch, c);
}

void tag_watch_ended(struct tag_watch *watch, uint32_t pid)
{
	process_table_exited(watch->processes, pid);
	python_processes_exited(watch->pythons, pid);
	probed_files_left(watch->files, pid, monotonic_ns());
	look_queue_forget(watch->looks, pid);
	followed_drop(watch->followed, pid);
}

static void on_exit_of(void *ctx, uint32_t pid)
{
	tag_watch_ended(ctx, pid);
}

static void on_kernel_code(void *ctx, uint64_t start, uint64_t bytes, const char *name)
{
	struct tag_watch *watch = ctx;

	if (watch->symbolizer)
		symbolizer_kernel_code(watch->symbolizer, start, bytes, name);
}

static void on_kernel_code_lost(void *ctx)
{
	struct tag_watch *watch = ctx;

	if (watch->symbolizer)
		symbolizer_kernel_code_lost(watch->symbolizer);
}

struct exec_maps_handler tag_watch_handler(struct tag_watch *watch)
{
	return (struct exec_maps_handler){ .file = on_mapped,
		                           .mapped = on_any_mapped,
		                           .fork = on_fork,
		                           .exec = on_exec,
		                           .exit = on_exit_of,
		                           .kernel_code = on_kernel_code,
		                           .kernel_code_lost = on_kernel_code_lost,
		                           .ctx = watch };
}
