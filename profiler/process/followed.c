/* Table of followed processes, and what the BPF side is told of each. */

#include "profiler/process/followed.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/process/process_life.h"
#include "profiler/tracer/tracer.h"
#include "symbolizer/base/process_stat.h"

struct followed_processes {
	struct tracer *tracer;
	struct followed *by_pid, *swept; /* `swept`: the next one to look at; NULL: the first */
	uint64_t refused;
	bool changed;
};

struct followed_processes *followed_new(struct tracer *tracer)
{
	struct followed_processes *all = calloc(1, sizeof(*all));

	if (all)
		all->tracer = tracer;
	return all;
}

void followed_free(struct followed_processes *all)
{
	struct followed *f, *next;

	if (!all)
		return;
	HASH_ITER (hh, all->by_pid, f, next) {
		HASH_DEL(all->by_pid, f);
		free(f);
	}
	free(all);
}

static struct abi_process_key key_of(const struct followed *f)
{
	return (struct abi_process_key){ .tgid = f->pid, .start_ticks = f->start_ticks };
}

static void drop(struct followed_processes *all, struct followed *f)
{
	struct abi_process_key key = key_of(f);

	tracer_forget_process(all->tracer, &key);
	if (all->swept == f)
		all->swept = f->hh.next;
	HASH_DEL(all->by_pid, f);
	free(f);
}

struct followed *followed_find(const struct followed_processes *all, uint32_t pid)
{
	struct followed *f;

	HASH_FIND(hh, all->by_pid, &pid, sizeof(pid), f);
	return f;
}

struct followed *followed_add(struct followed_processes *all, uint32_t pid, bool *added)
{
	struct followed *f = followed_find(all, pid);
	struct process_stat stat;

	if (process_stat_read("/proc", pid, &stat)) {
		errno = ESRCH;
		return NULL;
	}
	if (f && f->start_ticks != stat.start_ticks) {
		drop(all, f); /* its end was not reported */
		f = NULL;
	}
	if (added)
		*added = !f;
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->pid = pid;
	f->start_ticks = stat.start_ticks;
	f->process.ai_tag_key = FOLLOWED_NO_KEY;
	HASH_ADD(hh, all->by_pid, pid, sizeof(f->pid), f);
	if (f->hh.tbl)
		return f;
	free(f);
	errno = ENOMEM;
	return NULL;
}

void followed_drop(struct followed_processes *all, uint32_t pid)
{
	struct followed *f = followed_find(all, pid);

	if (f)
		drop(all, f);
}

size_t followed_sweep(struct followed_processes *all, size_t n, uint32_t *ended)
{
	struct followed *f = all->swept ? all->swept : all->by_pid;
	size_t found = 0;

	for (; f && n; n--, f = all->swept) {
		enum process_life life = process_life(f->pid, f->start_ticks, 0);

		all->swept = f->hh.next;
		if (life == PROCESS_GONE)
			ended[found++] = f->pid;
		else if (life == PROCESS_ANOTHER)
			drop(all, f);
	}
	return found;
}

struct followed *followed_without_key(const struct followed_processes *all, uint64_t now_ns)
{
	struct followed *f, *first = NULL;

	for (f = all->by_pid; f; f = f->hh.next) {
		if (f->process.otel.kind && f->process.ai_tag_key == FOLLOWED_NO_KEY && f->key_ns <= now_ns &&
		    (!first || f->key_ns < first->key_ns))
			first = f;
	}
	return first;
}

void followed_take(struct followed *f, const struct abi_process *found, uint64_t now_ns)
{
	uint64_t base_tag = f->process.base_tag;
	uint32_t from_exec = f->process.from_exec;

	f->looked_ns = now_ns;
	f->process = *found;
	f->process.base_tag = base_tag;
	f->process.from_exec = from_exec;
}

void followed_reset(struct followed *f)
{
	f->process = (struct abi_process){ .base_tag = f->process.base_tag, .ai_tag_key = FOLLOWED_NO_KEY };
	f->tries = 0;
}

void followed_inherit(struct followed *child, const struct followed *parent)
{
	child->process = parent->process;
	child->process.base_tag = 0;
	child->process.from_exec = 0;
	child->process.ai_tag_key = FOLLOWED_NO_KEY;
	child->given = parent->given;
}

void followed_each_base_tag(const struct followed_processes *all, followed_tag_fn on_tag, void *ctx)
{
	const struct followed *f;

	for (f = all->by_pid; f; f = f->hh.next) {
		if (f->process.base_tag)
			on_tag(ctx, f->process.base_tag);
	}
}

bool followed_is_given(const struct followed_processes *all, uint32_t pid)
{
	struct process_stat stat = { .parent = pid };
	const struct followed *f;

	do {
		pid = (uint32_t)stat.parent;
		f = followed_find(all, pid);
		if (f && f->given)
			return true;
	} while (pid > 1 && !process_stat_read("/proc", pid, &stat));
	return false;
}

int followed_publish(struct followed_processes *all, const struct followed *f)
{
	struct abi_process_key key = key_of(f);
	int result = tracer_set_process(all->tracer, &key, &f->process);

	all->changed |= !result;
	all->refused += result != 0;
	return result;
}

uint64_t followed_refused(const struct followed_processes *all)
{
	return all->refused;
}

bool followed_take_changed(struct followed_processes *all)
{
	bool changed = all->changed;

	all->changed = false;
	return changed;
}

bool followed_need_attach(const struct followed_processes *all)
{
	const struct followed *f;

	for (f = all->by_pid; f; f = f->hh.next) {
		if (f->process.base_tag || f->process.otel.kind ||
		    (f->process.stalltag.kind && !f->process.exact_stalltag))
			return true;
	}
	return false;
}
