/*
 * Stacks merged by the names of their functions, for output that is not the page: --folded and --svg.
 *
 * Samples of waits that are no stalls count only if the user asked for their kind. Where a stack has Python frames,
 * native ones are left out unless they are wanted (loaded_frames.h).
 */
#ifndef STALLPROF_PROFILER_FLAME_TREE_H
#define STALLPROF_PROFILER_FLAME_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof/pprof_intern.h"

struct flame_data;

struct flame_tree_node {
	uint32_t parent; /* FLAME_NONE: an outermost function; else a smaller number than the node's own */
	uint32_t name;   /* a text of the data */
	uint32_t kind;   /* as a frame's */
};

struct flame_sum {
	int64_t self_ns, total_ns; /* or what the type counts */
};

struct flame_tree {
	struct pprof_arena arena;
	struct pprof_intern nodes;
	struct flame_sum *sums; /* nodes.n */
	size_t capacity;
	int64_t total;
};

struct flame_tree_options {
	size_t type;
	bool native; /* all frames */
	bool waits;  /* those that are no stalls, too */
};

/* 0, -ENOMEM, or -ENOSPC above 4 GiB. To be freed after a failure, too. */
int flame_tree_build(struct flame_tree *tree, const struct flame_data *data,
                     const struct flame_tree_options *options);
void flame_tree_free(struct flame_tree *tree);

const struct flame_tree_node *flame_tree_node(const struct flame_tree *tree, size_t node);

#endif
