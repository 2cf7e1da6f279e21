/* Writes folded stacks. */

#include "profiler/flame/flame_folded.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profiler/flame/flame_data.h"
#include "profiler/flame/flame_tree.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_frames.h"

/* The name's parts between semicolons, with colons between them. */
static void write_name(FILE *out, const char *name)
{
	char part[LOADED_FRAME_TEXT_MAX];

	for (;;) {
		size_t length = strcspn(name, ";");

		length = length < sizeof(part) ? length : sizeof(part) - 1;
		memcpy(part, name, length);
		part[length] = 0;
		text_print_clean(out, part, 0);
		name += length;
		if (*name != ';')
			return;
		fputc(':', out);
		name++;
	}
}

static void write_stack(FILE *out, const struct flame_data *data, const struct flame_tree *tree, size_t leaf)
{
	uint32_t path[LOADED_FRAMES_MAX];
	size_t n = 0;

	for (uint32_t node = (uint32_t)leaf; node != FLAME_NONE && n < LOADED_FRAMES_MAX;
	     node = flame_tree_node(tree, node)->parent)
		path[n++] = node;
	for (size_t i = n; i > 0; i--) {
		write_name(out, flame_text(data, flame_tree_node(tree, path[i - 1])->name));
		fputs(i > 1 ? ";" : "", out);
	}
	fprintf(out, " %" PRId64 "\n", tree->sums[leaf].self_ns);
}

int flame_folded_write(FILE *out, const struct flame_data *data, const struct flame_tree *tree)
{
	for (size_t i = 0; i < tree->nodes.n; i++)
		if (tree->sums[i].self_ns)
			write_stack(out, data, tree, i);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
