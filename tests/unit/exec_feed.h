/*
 * The feed of exec_maps.h for its tests, with what its handler was told.
 *
 *	maps = open_feed(&seen);
 *	…
 *	poll_all(maps);
 *	calls(&seen, 'e', pid, 0)	how often
 */
#ifndef STALLPROF_TESTS_EXEC_FEED_H
#define STALLPROF_TESTS_EXEC_FEED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "profiler/process/exec_maps.h"
#include "symbolizer/base/clock.h"
#include "tests/unit/need_root.h"

/* The feed is that of all processes of the host, whatever else it runs. */
#define CALLS_MAX  (1 << 18)
#define PASSES_MAX 100

struct call {
	char what; /* f, x, e, k: file, exec, exit, fork */
	uint32_t pid;
	uint64_t inode;
};

struct seen {
	struct call calls[CALLS_MAX];
	size_t n;
	bool answer;
};

static inline void note(struct seen *seen, char what, uint32_t pid, uint64_t inode)
{
	if (seen->n < CALLS_MAX)
		seen->calls[seen->n++] = (struct call){ what, pid, inode };
}

static inline bool on_file(void *ctx, uint32_t pid, const struct exec_mapping *mapping, uint64_t at_ns)
{
	struct seen *seen = ctx;

	assert_true(at_ns && at_ns <= monotonic_ns());
	note(seen, 'f', pid, mapping->inode);
	return seen->answer;
}

static inline void on_fork(void *ctx, uint32_t child, uint32_t parent)
{
	note(ctx, 'k', child, parent);
}

static inline void on_exec(void *ctx, uint32_t pid, uint64_t since_ns)
{
	assert_true(since_ns && since_ns <= monotonic_ns());
	note(ctx, 'x', pid, 0);
}

static inline void on_exit_of(void *ctx, uint32_t pid)
{
	note(ctx, 'e', pid, 0);
}

static inline int calls(const struct seen *seen, char what, uint32_t pid, uint64_t inode)
{
	int n = 0;

	assert_true(seen->n < CALLS_MAX);
	for (size_t i = 0; i < seen->n; i++)
		n += seen->calls[i].what == what && (!pid || seen->calls[i].pid == pid) &&
		     (!inode || seen->calls[i].inode == inode);
	return n;
}

/* Skips the test where the kernel does not let us. */
static inline struct exec_maps *open_feed(struct seen *seen)
{
	const struct exec_maps_handler handler = {
		.file = on_file, .fork = on_fork, .exec = on_exec, .exit = on_exit_of, .ctx = seen
	};
	struct exec_maps *maps;
	char err[256] = "";

	*seen = (struct seen){ .n = 0 };
	maps = exec_maps_new(&handler, err, sizeof(err));
	if (!maps) {
		assert_true(errno == EACCES || errno == EPERM || errno == ENOSYS);
		skip_for(err);
	}
	return maps;
}

/* Until all that happened before the call is handed out: a pass may leave a part to the next one. */
static inline void poll_all(struct exec_maps *maps)
{
	int n = 1;

	for (int i = 0; n && i < PASSES_MAX; i++) {
		usleep(5000);
		n = exec_maps_poll(maps);
		assert_true(n >= 0);
	}
}

static inline pid_t run(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		execl(path, path, NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

struct search {
	const char *path;
	struct exec_mapping like;
	int found, total;
};

static inline void search_mapping(void *ctx, const struct exec_mapping *mapping)
{
	struct search *search = ctx;

	search->total++;
	if (search->path)
		search->found += !strcmp(mapping->path, search->path);
	else
		search->found += mapping->start == search->like.start && mapping->end == search->like.end &&
		                 mapping->pgoff == search->like.pgoff &&
		                 mapping->inode == search->like.inode &&
		                 mapping->dev_major == search->like.dev_major &&
		                 mapping->dev_minor == search->like.dev_minor;
}

static inline int count_path(struct exec_maps *maps, uint32_t pid, const char *path)
{
	struct search search = { .path = path };

	exec_maps_feed(maps, pid, MAP_TABLE_PRESENT, search_mapping, &search);
	return search.found;
}

#endif
