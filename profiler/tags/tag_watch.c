/* Finds tagged processes and the files with probes, at the start and while recording. */

#include "profiler/tags/tag_watch_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/file_gate.h"
#include "profiler/tags/context_locate.h"
#include "profiler/process/exec_maps.h"
#include "profiler/process/exit_sweep.h"
#include "profiler/process/followed.h"
#include "profiler/process/look_queue.h"
#include "profiler/tags/probed_files.h"
#include "profiler/process/process_table.h"
#include "profiler/process/python_processes.h"
#include "profiler/format/stamp.h"
#include "profiler/tags/tag_file.h"
#include "profiler/tags/tag_scan.h"
#include "profiler/tracer/tracer.h"

#define TRIES_MAX 8
#define LOOKS_NS  50000000ULL    /* how long a poll looks at processes */
#define LATELY_NS 1000000000ULL  /* the feed may report a mapping so much later */
#define SILENT_NS 1000000000ULL  /* after which a file is tried again whose file system did not answer */
#define KEY_NS    10000000000ULL /* after which a process is looked at again for its key map */
#define KEYS_REST 200            /* no process is, for so many times as long as the last such look took */

struct tag_watch *tag_watch_new(struct tracer *tracer, say_fn say, char *err, size_t err_len)
{
	struct tag_watch *watch = calloc(1, sizeof(*watch));
	const struct exec_maps_handler handler = tag_watch_handler(watch);

	if (watch) {
		watch->tracer = tracer;
		watch->say = say;
		watch->locator = context_locator_new();
		watch->files = probed_files_new(tracer, say);
		watch->looks = look_queue_new();
		watch->followed = followed_new(tracer);
	}
	if (!watch || !watch->locator || !watch->files || !watch->looks || !watch->followed) {
		tag_watch_free(watch);
		snprintf(err, err_len, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	watch->maps = exec_maps_new(&handler, err, err_len);
	if (!watch->maps) /* without this feed tags are found by looking through /proc */
		say(err);
	tag_watch_file(watch, "/proc/self/exe");
	return watch;
}

void tag_watch_free(struct tag_watch *watch)
{
	if (!watch)
		return;
	followed_free(watch->followed);
	exec_maps_free(watch->maps);
	look_queue_free(watch->looks);
	probed_files_free(watch->files);
	context_locator_free(watch->locator);
	free(watch);
}

void tag_watch_tell(struct tag_watch *watch, struct process_table *processes,
                    struct python_processes *pythons, struct symbolizer *symbolizer)
{
	watch->processes = processes;
	watch->pythons = pythons;
	watch->symbolizer = symbolizer;
}

struct exec_maps *tag_watch_maps(struct tag_watch *watch)
{
	return watch->maps;
}

struct followed *tag_watch_follow(struct tag_watch *watch, uint32_t pid)
{
	bool added;
	struct followed *f = followed_add(watch->followed, pid, &added);

	if (f && added && watch->maps)
		exec_maps_meet(watch->maps, pid);
	return f;
}

bool tag_watch_may_follow(const struct tag_watch *watch, uint32_t pid)
{
	return !watch->only_given || followed_is_given(watch->followed, pid);
}

uint64_t tag_watch_attach_file(struct tag_watch *watch, uint32_t pid, const struct context_file *file)
{
	const struct tag_file *facts = file->facts;
	const struct probed_file_at at = { .dev = file->dev,
		                           .inode = file->inode,
		                           .path = file->path,
		                           .probes = facts->probes,
		                           .libraries = facts->libraries,
		                           .of_interest = !pid || tag_watch_may_follow(watch, pid),
		                           .mapped_ns = watch->mapped_ns };

	return probed_files_attach(watch->files, pid, &at, monotonic_ns());
}

void tag_watch_file(struct tag_watch *watch, const char *path)
{
	struct tag_file facts;
	struct stat st;

	if (!file_gate_path("", path) || stat(path, &st) || tag_file_read_path(path, &facts) || !facts.probes)
		return;
	tag_watch_attach_file(watch, 0, &(struct context_file){ &facts, st.st_dev, st.st_ino, path });
}

static void on_file(void *ctx, pid_t pid, const struct context_file *file)
{
	struct tag_watch *watch = ctx;
	uint64_t since_ns = tag_watch_attach_file(watch, (uint32_t)pid, file);

	if (!file->facts->probes)
		return;
	watch->has_probes = true;
	watch->has_log |= file->facts->probes & TAG_FILE_PROBE_LOG && tracer_reads_logs(watch->tracer);
	watch->all_attached &= since_ns != 0;
	watch->was_before |=
	        monotonic_ns() - since_ns < LATELY_NS || (watch->mapped_ns && watch->mapped_ns < since_ns);
	/* It may have tagged itself before that: it is looked at again when it has executed the command. */
	if (tag_file_tags_process(file->facts) && monotonic_ns() - since_ns < LATELY_NS)
		look_queue_ask(watch->looks, (uint32_t)pid, monotonic_ns() + LOOKS_NS, true);
}

void tag_watch_look_again(struct tag_watch *watch, struct followed *f)
{
	if (f->tries < TRIES_MAX)
		look_queue_ask(watch->looks, f->pid, watch->now_ns + (50000000ULL << f->tries), false);
	f->tries++;
}

static void take_located(struct tag_watch *watch, struct followed *f, const struct abi_process *found)
{
	followed_take(f, found, watch->now_ns);
	if (watch->has_probes && watch->all_attached)
		f->process.exact_stalltag = watch->has_log ? ABI_EXACT_LOG : ABI_EXACT_PROBE;
	if (followed_has_slot(f) || f->process.base_tag)
		followed_publish(watch->followed, f);
	watch->may_hold |= f->process.stalltag.kind && watch->was_before;
}

void tag_watch_ask(struct tag_watch *watch, uint32_t pid, uint64_t at_ns, bool first, uint64_t mapped_ns)
{
	look_queue_ask(watch->looks, pid, at_ns, first);
	look_queue_mapped(watch->looks, pid, mapped_ns);
}

/* Whether it keeps tags as is known already, which stands. */
static bool wait_for_answer(struct tag_watch *watch, uint32_t pid, bool first)
{
	const struct followed *f = followed_find(watch->followed, pid);

	tag_watch_ask(watch, pid, watch->now_ns + SILENT_NS, first, watch->mapped_ns);
	return f && followed_has_slot(f);
}

/* `first`: the process was there before us. */
static void look(struct tag_watch *watch, uint32_t pid, bool first)
{
	const struct context_files_wanted wanted = { .file = on_file,
		                                     .ctx = watch,
		                                     .files_only = !tag_watch_may_follow(watch, pid) };
	struct abi_process found = { 0 };
	struct followed *f;
	int result;

	watch->has_probes = watch->has_log = false;
	watch->all_attached = true;
	watch->was_before = first;
	result = context_locate(watch->locator, pid, &found, &wanted);
	if (result == -ETIMEDOUT && wait_for_answer(watch, pid, first))
		return;
	if ((result && result != -EAGAIN && result != -ETIMEDOUT) || wanted.files_only)
		return;
	if (!found.stalltag.kind && !found.otel.kind && result != -EAGAIN) {
		f = followed_find(watch->followed, pid);
		if (f)
			take_located(watch, f, &found);
		return;
	}
	f = tag_watch_follow(watch, pid);
	if (!f)
		return;
	f->given |= watch->only_given;
	take_located(watch, f, &found);
	/* A foreign publisher's key map comes later than its library. */
	f->key_ns = watch->now_ns + KEY_NS;
	if (result == -EAGAIN || (found.otel.kind && found.ai_tag_key == FOLLOWED_NO_KEY))
		tag_watch_look_again(watch, f);
}

/* It may come much later: it is looked for as long as the process lives, of one process a call. */
static void look_for_key(struct tag_watch *watch)
{
	struct followed *f;
	uint64_t began_ns;

	if (watch->now_ns < watch->keys_ns)
		return;
	began_ns = monotonic_ns();
	f = followed_without_key(watch->followed, watch->now_ns);
	if (f) {
		f->key_ns = watch->now_ns + KEY_NS;
		f->process.ai_tag_key = context_locate_key((pid_t)f->pid);
		if (f->process.ai_tag_key != FOLLOWED_NO_KEY)
			followed_publish(watch->followed, f);
	}
	watch->keys_ns = watch->now_ns + (monotonic_ns() - began_ns) * KEYS_REST;
}

int tag_watch_process(struct tag_watch *watch, uint32_t pid, uint64_t base_tag, bool from_exec)
{
	struct followed *f = tag_watch_follow(watch, pid);

	if (!f)
		return -errno;
	f->given = true;
	f->process.base_tag = base_tag;
	f->process.from_exec = from_exec;
	python_processes_look(watch->pythons, pid);
	look(watch, pid, true);
	return followed_publish(watch->followed, f);
}

uint64_t tag_watch_base_tag(const struct tag_watch *watch, uint32_t pid)
{
	const struct followed *f = followed_find(watch->followed, pid);

	return f ? f->process.base_tag : 0;
}

void tag_watch_each_base_tag(const struct tag_watch *watch, void (*on_tag)(void *ctx, uint64_t tag),
                             void *ctx)
{
	followed_each_base_tag(watch->followed, on_tag, ctx);
}

static void on_environment_tag(void *ctx, pid_t pid, uint64_t id, const char *name)
{
	struct tag_watch *watch = ctx;
	struct followed *f = watch->only_given ? NULL : tag_watch_follow(watch, (uint32_t)pid);
	uint64_t key;

	/* It may have been looked at before. */
	if (!f || f->process.base_tag || tracer_add_tag(watch->tracer, name, id, &key))
		return;
	f->process.base_tag = key;
	followed_publish(watch->followed, f);
}

static void on_process(void *ctx, pid_t pid)
{
	struct tag_watch *watch = ctx;

	if (tag_watch_may_follow(watch, pid))
		python_processes_look(watch->pythons, pid);
	look(watch, pid, true);
}

void tag_watch_late(struct tag_watch *watch, uint32_t pid)
{
	look_queue_ask(watch->looks, pid, 0, true);
}

static void on_pid(void *ctx, pid_t pid)
{
	tag_watch_late(ctx, (uint32_t)pid);
}

int tag_watch_scan(struct tag_watch *watch, bool only_given)
{
	watch->only_given = only_given;
	return tag_scan(on_pid, watch);
}

void tag_watch_met(struct tag_watch *watch, uint32_t pid, bool executes)
{
	if (executes)
		look_queue_rouse(watch->looks, pid);
	if (executes || !followed_find(watch->followed, pid))
		look_queue_ask(watch->looks, pid, monotonic_ns(), false);
}

/* Looks at one process at least, so that one that takes long does not keep the others waiting for ever. */
static void look_at_due(struct tag_watch *watch)
{
	const struct tag_scan_handler handler = { .tagged = on_environment_tag, .process = on_process };
	uint64_t began_ns = monotonic_ns(), until_ns = began_ns + LOOKS_NS, now_ns = began_ns;
	struct look due;

	while (now_ns < until_ns && look_queue_take(watch->looks, now_ns, &due)) {
		watch->mapped_ns = due.mapped_ns;
		if (due.first)
			tag_scan_process((pid_t)due.pid, &handler, watch);
		else
			look(watch, due.pid, false);
		began_ns = now_ns;
		now_ns = monotonic_ns();
		look_queue_looked(watch->looks, due.pid, began_ns, now_ns);
	}
	watch->mapped_ns = 0;
}

bool tag_watch_behind(const struct tag_watch *watch)
{
	return look_queue_next_ns(watch->looks) <= monotonic_ns();
}

int tag_watch_fd(const struct tag_watch *watch)
{
	return watch->maps ? exec_maps_fd(watch->maps) : -1;
}

static void ask_again(void *ctx, uint32_t pid)
{
	struct tag_watch *watch = ctx;

	tag_watch_ask(watch, pid, watch->now_ns, false, 0);
}

void tag_watch_poll(struct tag_watch *watch, uint64_t now_ns)
{
	const struct exit_sweep tables = { watch->maps, watch->followed, watch->pythons, watch->processes };
	uint32_t ended[EXIT_SWEEP_MAX];
	size_t n;

	watch->now_ns = now_ns;
	if (watch->maps)
		exec_maps_poll(watch->maps);
	for (n = exit_sweep(&tables, now_ns, &watch->sweep_ns, ended); n; n--)
		tag_watch_ended(watch, ended[n - 1]);
	probed_files_due(watch->files, now_ns, ask_again, watch);
	look_at_due(watch);
	look_for_key(watch);
	probed_files_expire(watch->files, now_ns);
}

bool tag_watch_needs_attach(const struct tag_watch *watch)
{
	return followed_need_attach(watch->followed);
}

bool tag_watch_take_changed(struct tag_watch *watch)
{
	return followed_take_changed(watch->followed);
}

bool tag_watch_take_held(struct tag_watch *watch)
{
	bool may_hold = watch->may_hold;

	watch->may_hold = false;
	return may_hold;
}

int tag_watch_describe(struct tag_watch *watch, struct stamp *stamp)
{
	struct exec_maps_stats maps = { 0 };
	struct context_locator_stats found;
	int err = 0;

	if (watch->maps)
		exec_maps_stats(watch->maps, &maps);
	context_locator_stats(watch->locator, &found);
	const struct stamp_counter grown[TOLD_MAX] = {
		{ "tag_files_refused", probed_files_refused(watch->files) },
		{ "tag_files_beyond", found.files_beyond },
		{ "tag_probes_late_ns", probed_files_late_ns(watch->files) },
		{ "tag_files_unread", found.files_unopened + found.files_corrupt },
		{ "mapping_records_lost", maps.records_lost },
		{ "cpus_covered_late", maps.cpus_late },
		{ "mappings_refused", maps.processes_refused + maps.mappings_refused },
		{ "tag_slots_unlocated", found.slots_unlocated },
		{ "process_contexts_bad", found.contexts_bad },
		{ "tagged_processes_refused", followed_refused(watch->followed) },
	};
	for (size_t i = 0; !err && i < TOLD_MAX; i++)
		err = stamp_add_growth(stamp, grown[i].name, &watch->told[i], grown[i].value);
	/* How many there are, not how many more. */
	return err ? err : stamp_add_counter(stamp, "cpus_not_covered", maps.cpus_not_covered);
}
