/* Merges stacks by the names of their functions. */

#include "profiler/flame/flame_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/flame/flame_data.h"
#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_frames.h"

#define TREE_BYTES_MAX (4ul << 30)

const struct flame_tree_node *flame_tree_node(const struct flame_tree *tree, size_t node)
{
	return pprof_intern_get(&tree->nodes, node);
}

static unsigned kind_of(const struct flame_data *data, uint32_t node)
{
	return flame_frame(data, flame_node(data, node)->frame)->kind & FLAME_KIND_MASK;
}

/* Writes the stack's nodes, innermost first; returns how many. */
static size_t list_path(const struct flame_data *data, uint32_t leaf, bool native,
                        uint32_t path[LOADED_FRAMES_MAX])
{
	bool has_python = false;
	size_t n = 0;

	for (uint32_t node = leaf; node != FLAME_NONE && !native; node = flame_node(data, node)->parent)
		has_python |= kind_of(data, node) == LOADED_FRAME_PYTHON;
	for (uint32_t node = leaf; node != FLAME_NONE && n < LOADED_FRAMES_MAX;
	     node = flame_node(data, node)->parent)
		if (!has_python || kind_of(data, node) != LOADED_FRAME_NATIVE)
			path[n++] = node;
	return n;
}

static int64_t put_node(struct flame_tree *tree, const struct flame_data *data, uint32_t parent,
                        uint32_t from)
{
	const struct flame_frame *frame = flame_frame(data, flame_node(data, from)->frame);
	const struct flame_tree_node node = { parent, frame->name, frame->kind };
	struct flame_sum *grown;
	bool is_new;
	int64_t number = pprof_intern_add(&tree->nodes, &node, sizeof(node), &is_new);

	if (number < 0 || !is_new)
		return number;
	grown = pprof_arena_grow(&tree->arena, tree->sums, &tree->capacity, tree->nodes.n, sizeof(*grown));
	if (!grown)
		return -errno;
	tree->sums = grown;
	grown[number] = (struct flame_sum){ 0, 0 };
	return number;
}

static int add_stack(struct flame_tree *tree, const struct flame_data *data, uint32_t leaf, bool native,
                     int64_t value)
{
	uint32_t path[LOADED_FRAMES_MAX];
	int64_t node = FLAME_NONE;

	for (size_t i = list_path(data, leaf, native, path); i > 0 && node >= 0; i--) {
		node = put_node(tree, data, (uint32_t)node, path[i - 1]);
		if (node >= 0)
			tree->sums[node].total_ns = saturating_add(tree->sums[node].total_ns, value);
	}
	if (node < 0)
		return (int)node;
	tree->sums[node].self_ns = saturating_add(tree->sums[node].self_ns, value);
	tree->total = saturating_add(tree->total, value);
	return 0;
}

int flame_tree_build(struct flame_tree *tree, const struct flame_data *data,
                     const struct flame_tree_options *options)
{
	int err = 0;

	memset(tree, 0, sizeof(*tree));
	tree->arena.max_bytes = TREE_BYTES_MAX;
	tree->nodes.arena = &tree->arena;
	for (size_t i = 0; i < data->samples.n && !err; i++) {
		const struct flame_sample *sample = flame_sample(data, i);
		int64_t value = flame_value(data, i, options->type);

		if (value && (options->waits || !sample->is_wait))
			err = add_stack(tree, data, sample->node, options->native, value);
	}
	return err;
}

void flame_tree_free(struct flame_tree *tree)
{
	pprof_intern_free(&tree->nodes);
	pprof_arena_clear(&tree->arena);
	free(tree->sums);
	memset(tree, 0, sizeof(*tree));
}
