#include "profiler/tag_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "profiler/context_locate.h"
#include "profiler/exec_maps.h"
#include "profiler/probed_files.h"
#include "profiler/process_table.h"
#include "profiler/process_tree.h"
#include "profiler/python_processes.h"
#include "profiler/stamp.h"
#include "profiler/tag_file.h"
#include "profiler/tag_scan.h"
#include "profiler/tracer.h"

#define TRIES_MAX 8
#define TOLD_MAX  8
#define NO_KEY    256 /* no attribute has this index */

struct followed {
	uint32_t pid;
	struct abi_process process;
	bool given;          /* by tag_watch_process, or a child of one that was */
	unsigned int tries;  /* looks that found relocations or contexts unfinished */
	uint64_t look_at_ns; /* 0: no further look is due */
	UT_hash_handle hh;
};

struct tag_watch {
	struct tracer *tracer;
	tag_watch_say_fn say;
	struct context_locator *locator;
	struct exec_maps *maps;
	struct process_table *processes;
	struct python_processes *pythons;
	struct probed_files *files;
	struct followed *followed;
	bool only_given, changed;
	uint64_t now_ns;
	uint64_t told[TOLD_MAX]; /* what tag_watch_describe has told already */
	/* of the look in progress */
	bool has_probes, all_attached;
};

static bool on_mapped(void *ctx, uint32_t pid, const struct exec_mapping *mapping);
static void on_fork(void *ctx, uint32_t child, uint32_t parent);
static void on_exec(void *ctx, uint32_t pid);
static void on_exit_of(void *ctx, uint32_t pid);

/* The feed is an improvement, not a need: without it tags are found by looking through /proc. */
static void open_feed(struct tag_watch *watch)
{
	const struct exec_maps_handler handler = {
		.file = on_mapped,
		.fork = on_fork,
		.exec = on_exec,
		.exit = on_exit_of,
		.ctx = watch,
	};
	char err[512];

	watch->maps = exec_maps_new(&handler, err, sizeof(err));
	if (!watch->maps)
		watch->say(err);
}

struct tag_watch *tag_watch_new(struct tracer *tracer, tag_watch_say_fn say, char *err, size_t err_len)
{
	struct tag_watch *watch = calloc(1, sizeof(*watch));

	if (!watch) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	watch->tracer = tracer;
	watch->say = say;
	watch->locator = context_locator_new();
	watch->files = probed_files_new(tracer, say);
	if (!watch->locator || !watch->files) {
		tag_watch_free(watch);
		snprintf(err, err_len, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	open_feed(watch);
	tag_watch_file(watch, "/proc/self/exe");
	return watch;
}

void tag_watch_free(struct tag_watch *watch)
{
	struct followed *f, *next;

	if (!watch)
		return;
	HASH_ITER (hh, watch->followed, f, next) {
		HASH_DEL(watch->followed, f);
		free(f);
	}
	exec_maps_free(watch->maps);
	probed_files_free(watch->files);
	context_locator_free(watch->locator);
	free(watch);
}

void tag_watch_set_processes(struct tag_watch *watch, struct process_table *processes,
                             struct python_processes *pythons)
{
	watch->processes = processes;
	watch->pythons = pythons;
}

struct exec_maps *tag_watch_maps(struct tag_watch *watch)
{
	return watch->maps;
}

static struct followed *follow(struct tag_watch *watch, uint32_t pid)
{
	struct followed *f;

	HASH_FIND(hh, watch->followed, &pid, sizeof(pid), f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->pid = pid;
	f->process.ai_tag_key = NO_KEY;
	if (watch->maps)
		exec_maps_meet(watch->maps, pid);
	HASH_ADD(hh, watch->followed, pid, sizeof(f->pid), f);
	return f;
}

static int publish(struct tag_watch *watch, struct followed *f)
{
	int result = tracer_set_process(watch->tracer, f->pid, &f->process);

	watch->changed |= !result;
	return result;
}

void tag_watch_file(struct tag_watch *watch, const char *path)
{
	struct tag_file facts;
	struct stat st;

	if (stat(path, &st) || tag_file_read_path(path, &facts) || !facts.probes)
		return;
	probed_files_attach(watch->files, st.st_dev, st.st_ino, path, facts.probes);
}

static void on_file(void *ctx, pid_t pid, const struct context_file *file)
{
	struct tag_watch *watch = ctx;

	(void)pid;
	watch->has_probes = true;
	watch->all_attached &=
	        probed_files_attach(watch->files, file->dev, file->inode, file->path, file->facts->probes);
}

/* 50 ms, doubling: a library is relocated within milliseconds, a context published some time later. */
static void look_again(struct tag_watch *watch, struct followed *f)
{
	f->look_at_ns = f->tries < TRIES_MAX ? watch->now_ns + (50000000ULL << f->tries) : 0;
	f->tries++;
}

static bool has_slot(const struct abi_process *process)
{
	return process->stalltag.kind || process->otel.kind;
}

static void take_located(struct tag_watch *watch, struct followed *f, const struct abi_process *found)
{
	uint64_t base_tag = f->process.base_tag;

	f->process = *found;
	f->process.base_tag = base_tag;
	f->process.exact_stalltag = watch->has_probes && watch->all_attached;
	if (has_slot(&f->process) || base_tag)
		publish(watch, f);
}

static bool may_follow(struct tag_watch *watch, uint32_t pid)
{
	uint32_t ancestor = pid;
	struct followed *f;

	if (!watch->only_given)
		return true;
	do {
		HASH_FIND(hh, watch->followed, &ancestor, sizeof(ancestor), f);
		if (f && f->given)
			return true;
		ancestor = process_tree_parent(ancestor);
	} while (ancestor > 1);
	return false;
}

void tag_watch_look(struct tag_watch *watch, uint32_t pid)
{
	const struct context_files_wanted wanted = { .file = on_file, .ctx = watch };
	struct abi_process found = { 0 };
	struct followed *f;
	int result;

	watch->has_probes = false;
	watch->all_attached = true;
	result = context_locate(watch->locator, pid, &found, &wanted);
	if ((result && result != -EAGAIN && result != -ENOTSUP) || !may_follow(watch, pid))
		return;
	if (!has_slot(&found) && result != -EAGAIN) {
		HASH_FIND(hh, watch->followed, &pid, sizeof(pid), f);
		if (f)
			take_located(watch, f, &found);
		return;
	}
	f = follow(watch, pid);
	if (!f)
		return;
	f->given |= watch->only_given;
	take_located(watch, f, &found);
	/* A foreign publisher's key map comes later than its library. */
	if (result == -EAGAIN || (found.otel.kind && found.ai_tag_key == NO_KEY))
		look_again(watch, f);
}

int tag_watch_process(struct tag_watch *watch, uint32_t pid, uint64_t base_tag)
{
	struct followed *f = follow(watch, pid);

	if (!f)
		return -ENOMEM;
	f->given = true;
	f->process.base_tag = base_tag;
	python_processes_look(watch->pythons, pid);
	tag_watch_look(watch, pid);
	return publish(watch, f);
}

static void on_environment_tag(void *ctx, pid_t pid, uint64_t id, const char *name)
{
	struct tag_watch *watch = ctx;
	struct followed *f;
	uint64_t key;

	if (watch->only_given || tracer_add_tag(watch->tracer, name, id, &key))
		return;
	f = follow(watch, pid);
	if (!f)
		return;
	f->process.base_tag = key;
	publish(watch, f);
}

static void on_process(void *ctx, pid_t pid)
{
	struct tag_watch *watch = ctx;

	if (may_follow(watch, pid))
		python_processes_look(watch->pythons, pid);
	tag_watch_look(watch, pid);
}

int tag_watch_scan(struct tag_watch *watch, bool only_given)
{
	const struct tag_scan_handler handler = { .tagged = on_environment_tag, .process = on_process };

	watch->only_given = only_given;
	return tag_scan(&handler, watch);
}

/* A process that is gone by now cannot be looked at, but its file can, for those that map it later. 1: it is of
 * interest; 0: it is not; -1: the path is not that file here. */
static int look_at_file(struct tag_watch *watch, const struct exec_mapping *mapping)
{
	struct tag_file facts;
	struct stat st;

	if (mapping->path[0] != '/' || stat(mapping->path, &st) || st.st_ino != mapping->inode ||
	    tag_file_read_path(mapping->path, &facts))
		return -1;
	if (facts.probes)
		probed_files_attach(watch->files, st.st_dev, st.st_ino, mapping->path, facts.probes);
	return tag_file_interesting(&facts);
}

static bool on_mapped(void *ctx, uint32_t pid, const struct exec_mapping *mapping)
{
	struct tag_watch *watch = ctx;
	int interest =
	        context_locator_interest(watch->locator, pid, mapping->start, mapping->end, mapping->path);
	bool python = may_follow(watch, pid) && python_processes_mapped(watch->pythons, pid, mapping->path);

	if (interest == 1)
		tag_watch_look(watch, pid);
	else if (interest < 0)
		interest = look_at_file(watch, mapping);
	return interest != 0 || python;
}

static void on_exec(void *ctx, uint32_t pid)
{
	struct tag_watch *watch = ctx;
	struct followed *f;

	if (watch->processes)
		process_table_exec(watch->processes, pid);
	python_processes_executed(watch->pythons, pid);
	HASH_FIND(hh, watch->followed, &pid, sizeof(pid), f);
	if (!f)
		return;
	f->process = (struct abi_process){ .base_tag = f->process.base_tag, .ai_tag_key = NO_KEY };
	f->tries = 0;
	publish(watch, f);
}

/* A child has its parent's memory, and so its parent's slots; the process context it must publish itself. */
static void on_fork(void *ctx, uint32_t child, uint32_t parent)
{
	struct tag_watch *watch = ctx;
	struct followed *p, *c;

	python_processes_forked(watch->pythons, child, parent);
	HASH_FIND(hh, watch->followed, &parent, sizeof(parent), p);
	if (!p || !has_slot(&p->process))
		return;
	c = follow(watch, child);
	if (!c)
		return;
	c->process = p->process;
	c->process.base_tag = 0; /* inherited by the BPF side */
	c->process.ai_tag_key = NO_KEY;
	c->given = p->given;
	publish(watch, c);
	look_again(watch, c);
}

static void on_exit_of(void *ctx, uint32_t pid)
{
	struct tag_watch *watch = ctx;
	struct followed *f;

	if (watch->processes)
		process_table_exited(watch->processes, pid);
	python_processes_exited(watch->pythons, pid);
	HASH_FIND(hh, watch->followed, &pid, sizeof(pid), f);
	if (!f)
		return;
	tracer_forget_process(watch->tracer, pid);
	HASH_DEL(watch->followed, f);
	free(f);
}

int tag_watch_fd(const struct tag_watch *watch)
{
	return watch->maps ? exec_maps_fd(watch->maps) : -1;
}

void tag_watch_poll(struct tag_watch *watch, uint64_t now_ns)
{
	struct followed *f, *next;

	watch->now_ns = now_ns;
	if (watch->maps)
		exec_maps_poll(watch->maps);
	HASH_ITER (hh, watch->followed, f, next) {
		if (!f->look_at_ns || f->look_at_ns > now_ns)
			continue;
		f->look_at_ns = 0;
		tag_watch_look(watch, f->pid);
	}
}

bool tag_watch_needs_attach(const struct tag_watch *watch)
{
	const struct followed *f;

	for (f = watch->followed; f; f = f->hh.next) {
		if (f->process.base_tag || f->process.otel.kind ||
		    (f->process.stalltag.kind && !f->process.exact_stalltag))
			return true;
	}
	return false;
}

bool tag_watch_take_changed(struct tag_watch *watch)
{
	bool changed = watch->changed;

	watch->changed = false;
	return changed;
}

/* The growth of a counter since it was told last. */
static int tell(struct tag_watch *watch, struct stamp *stamp, unsigned int which, const char *name,
                uint64_t now)
{
	uint64_t before = watch->told[which];

	watch->told[which] = now;
	return stamp_add_counter(stamp, name, now - before);
}

int tag_watch_describe(struct tag_watch *watch, struct stamp *stamp)
{
	struct exec_maps_stats maps = { 0 };
	struct context_locator_stats found;
	unsigned int n = 0;
	int err;

	if (watch->maps)
		exec_maps_stats(watch->maps, &maps);
	context_locator_stats(watch->locator, &found);
	err = tell(watch, stamp, n++, "tag_files_refused", probed_files_refused(watch->files));
	if (!err)
		err = tell(watch, stamp, n++, "mapping_records_lost", maps.records_lost);
	if (!err)
		err = tell(watch, stamp, n++, "mappings_refused",
		           maps.processes_refused + maps.mappings_refused);
	if (!err)
		err = tell(watch, stamp, n++, "tag_slots_unlocated", found.slots_unlocated);
	if (!err)
		err = tell(watch, stamp, n++, "process_contexts_bad", found.contexts_bad);
	if (!err) /* how many there are, not how many more */
		err = stamp_add_counter(stamp, "cpus_not_covered", maps.cpus_not_covered);
	return err;
}
