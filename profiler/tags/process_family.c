/* Lists all descendants of a process from /proc. */

#include "profiler/tags/process_family.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

#include "symbolizer/base/process_stat.h"
#include "profiler/tags/tag_scan.h"
#include "symbolizer/base/search.h"

struct member {
	uint32_t pid, parent;
};

struct processes {
	struct member *all;
	size_t n, allocated;
	bool no_memory;
};

static void add(void *ctx, pid_t pid)
{
	struct processes *p = ctx;
	struct process_stat stat;
	struct member *grown;
	size_t want;

	if (p->no_memory || process_stat_read("/proc", (uint32_t)pid, &stat))
		return;
	if (p->n == p->allocated) {
		want = p->allocated ? p->allocated * 2 : 256;
		grown = realloc(p->all, want * sizeof(*grown));
		p->no_memory = !grown;
		if (!grown)
			return;
		p->all = grown;
		p->allocated = want;
	}
	p->all[p->n++] = (struct member){ .pid = (uint32_t)pid, .parent = (uint32_t)stat.parent };
}

static int by_parent(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->parent < y->parent ? -1 : x->parent > y->parent;
}

static size_t first_child(const struct processes *p, uint32_t parent)
{
	return search_past(i, 0, p->n, p->all[i].parent < parent);
}

/* Generation by generation. `found` has room for all: each process has one parent. */
static void walk(const struct processes *p, uint32_t pid, struct member *found,
                 void (*child)(void *ctx, uint32_t pid, uint32_t parent), void *ctx)
{
	size_t n = 0, done = 0, i;

	for (;;) {
		for (i = first_child(p, pid); i < p->n && p->all[i].parent == pid && n < p->n; i++) {
			found[n++] = p->all[i];
			child(ctx, p->all[i].pid, pid);
		}
		if (done == n)
			return;
		pid = found[done++].pid;
	}
}

int process_family(uint32_t pid, void (*child)(void *ctx, uint32_t pid, uint32_t parent), void *ctx)
{
	struct processes p = { 0 };
	int err = tag_scan(add, &p);
	struct member *found = malloc((p.n + 1) * sizeof(*found));

	if (!err && (!found || p.no_memory))
		err = -ENOMEM;
	if (!err) {
		qsort(p.all, p.n, sizeof(*p.all), by_parent);
		walk(&p, pid, found, child, ctx);
	}
	free(found);
	free(p.all);
	return err;
}
