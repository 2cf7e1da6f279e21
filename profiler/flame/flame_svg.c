/* Draws a flame graph as SVG. */

#include "profiler/flame/flame_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/flame/flame_data.h"
#include "profiler/flame/flame_tree.h"
#include "profiler/format/text_cells.h"
#include "pprof/utf8.h"
#include "profiler/loaded/loaded_frames.h"

#define WIDTH      1200.0
#define MARGIN     10.0
#define ROW        17
#define HEAD       34 /* above the graph: title and total */
#define FOOT       30 /* below: what the colours are */
#define NARROWEST  0.2
#define GLYPH      6.6 /* of a monospaced font of 11 px */
#define TEXT_BYTES 64

struct box {
	double x, width; /* in pixels */
	uint32_t depth;  /* FLAME_NONE: not drawn */
};

struct drawing {
	const struct flame_data *data;
	const struct flame_tree *tree;
	const char *unit;
	struct box *boxes;
	double *used;  /* of each box, by its children; behind the last, of the whole width */
	double *sizes; /* what each box is as wide as, in the unit; behind the last, what the whole width is */
	uint32_t deepest;
	size_t narrow; /* left out */
};

/* Classes of the style sheet, by what a frame is. */
static const char *class_of(unsigned kind)
{
	if (kind & FLAME_MODULE)
		return "m";
	if ((kind & FLAME_KIND_MASK) == LOADED_FRAME_KERNEL)
		return "k";
	if (kind & FLAME_INLINED)
		return "i";
	return (kind & FLAME_KIND_MASK) == LOADED_FRAME_PYTHON ? "p" : "n";
}

static const char style[] =
        "<style>rect{stroke:#fff;stroke-width:.5}text{font:11px monospace;fill:#111}.k rect{fill:#e8a33d}"
        ".m rect{fill:#d98a6a}.p rect{fill:#7cb8e4}.n rect{fill:#9fc7a5}.i rect{fill:#d3cfa4}"
        "@media(prefers-color-scheme:dark){svg{background:#15181c}text.o{fill:#ddd}rect{stroke:#15181c}}"
        "</style>\n";

/* No character of text: not well-formed UTF-8, or a control character. */
static bool is_no_text(const char *text, size_t length)
{
	unsigned char byte = (unsigned char)*text;

	return !length || byte < 0x20 || byte == 0x7f ||
	       (length == 2 && byte == 0xc2 && (unsigned char)text[1] < 0xa0) ||
	       !strncmp(text, "\xef\xbf\xbe", 3) || !strncmp(text, "\xef\xbf\xbf", 3);
}

/* At most `glyphs` characters (0: all), with what XML cannot have as text, or a terminal obeys, left out or escaped. */
static void write_text(FILE *out, const char *text, size_t glyphs)
{
	static const char *const names[] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"
	};
	size_t left = strlen(text), written = 0;

	while (left) {
		size_t length = utf8_sequence(text, left);
		unsigned char byte = (unsigned char)*text;

		if (glyphs && written++ == glyphs) {
			fputs("…", out);
			return;
		}
		if (length == 1 && byte < sizeof(names) / sizeof(names[0]) && names[byte])
			fputs(names[byte], out);
		else if (is_no_text(text, length))
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
		left -= length ? length : 1;
	}
}

static const char *value_text(char text[TEXT_BYTES], int64_t value, const char *unit)
{
	char duration[TEXT_DURATION_BYTES];

	if (!strcmp(unit, "nanoseconds"))
		snprintf(text, TEXT_BYTES, "%s", text_duration(duration, value));
	else
		snprintf(text, TEXT_BYTES, "%" PRId64 " %.40s", value, unit);
	return text;
}

/* --- where the boxes are ---------------------------------------------------------------------------------- */

/* Side by side in the order of their names. */
struct place {
	const struct flame_data *data;
	const struct flame_tree_node *node;
	uint32_t number;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order;

	/* FLAME_NONE, the parent of the outermost, comes first: + 1 makes it 0. */
	if (a->node->parent != b->node->parent)
		return a->node->parent + 1 < b->node->parent + 1 ? -1 : 1;
	order = strcmp(flame_text(a->data, a->node->name), flame_text(b->data, b->node->name));
	return order ? order : (a->number > b->number) - (a->number < b->number);
}

/*
 * A box is as wide as its sum, or as what is in it where that is more: a wait that turned out to be of another cause is taken
 * back by a negative sample, so that one of a box's children can have more than the box.
 */
static void size_boxes(struct drawing *drawing)
{
	const struct flame_tree *tree = drawing->tree;
	double *sizes = drawing->sizes;
	size_t count = tree->nodes.n;

	for (size_t i = count; i-- > 0;) { /* children have larger numbers */
		uint32_t parent = flame_tree_node(tree, i)->parent;

		sizes[i] = fmax(sizes[i], (double)tree->sums[i].total_ns);
		sizes[parent == FLAME_NONE ? count : parent] += sizes[i];
	}
	sizes[count] = fmax(sizes[count], (double)tree->total);
}

static void place_box(struct drawing *drawing, const struct place *place)
{
	struct box *box = &drawing->boxes[place->number];
	uint32_t parent = place->node->parent;
	const struct box *below = parent == FLAME_NONE ? NULL : &drawing->boxes[parent];
	double *used = &drawing->used[parent == FLAME_NONE ? drawing->tree->nodes.n : parent];
	double size = drawing->sizes[place->number];

	box->depth = FLAME_NONE;
	if (size <= 0)
		return;
	if (below && below->depth == FLAME_NONE) { /* and what is in it is as narrow */
		drawing->narrow++;
		return;
	}
	box->width = (WIDTH - 2 * MARGIN) * size / drawing->sizes[drawing->tree->nodes.n];
	box->x = (below ? below->x : MARGIN) + *used;
	*used += box->width;
	if (box->width < NARROWEST) {
		drawing->narrow++;
		return;
	}
	box->depth = below ? below->depth + 1 : 0;
	if (box->depth > drawing->deepest)
		drawing->deepest = box->depth;
}

/* A parent has a smaller number than its children, so its box is placed before theirs. */
static int place_boxes(struct drawing *drawing)
{
	size_t count = drawing->tree->nodes.n;
	struct place *places = calloc(count + 1, sizeof(*places));

	drawing->boxes = calloc(count + 1, sizeof(*drawing->boxes));
	drawing->used = calloc(count + 1, sizeof(*drawing->used));
	drawing->sizes = calloc(count + 1, sizeof(*drawing->sizes));
	if (places && drawing->boxes && drawing->used && drawing->sizes) {
		size_boxes(drawing);
		for (size_t i = 0; i < count; i++)
			places[i] = (struct place){ drawing->data, flame_tree_node(drawing->tree, i),
				                    (uint32_t)i };
		qsort(places, count, sizeof(*places), compare_places);
		for (size_t i = 0; i < count && drawing->tree->total > 0; i++)
			place_box(drawing, &places[i]);
		free(places);
		return 0;
	}
	free(places);
	return -ENOMEM;
}

/* --- drawing ---------------------------------------------------------------------------------------------- */

static void draw_box(FILE *out, const struct drawing *drawing, size_t number)
{
	const struct flame_tree_node *node = flame_tree_node(drawing->tree, number);
	const struct box *box = &drawing->boxes[number];
	const char *name = flame_text(drawing->data, node->name);
	int64_t total = drawing->tree->sums[number].total_ns;
	uint32_t y = HEAD + (drawing->deepest - box->depth) * ROW;
	char text[TEXT_BYTES];

	fprintf(out, "<g class=\"%s\"><title>", class_of(node->kind));
	write_text(out, name, 0);
	fputs(": ", out);
	write_text(out, value_text(text, total, drawing->unit), 0);
	fprintf(out, ", %.2f %%</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>",
	        100.0 * (double)total / (double)drawing->tree->total, box->x, y, box->width, ROW - 1);
	if (box->width > 4 * GLYPH) {
		fprintf(out, "<text x=\"%.2f\" y=\"%u\">", box->x + 3, y + 12);
		write_text(out, name, (size_t)(box->width / GLYPH) - 1);
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
}

static void draw_head(FILE *out, const struct drawing *drawing, const char *title, uint32_t height)
{
	char text[TEXT_BYTES];

	fprintf(out,
	        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
	        "width=\"%g\" height=\"%u\" viewBox=\"0 0 %g %u\">\n%s<text class=\"o\" x=\"%g\" y=\"20\">",
	        WIDTH, height, WIDTH, height, style, MARGIN);
	write_text(out, title, 160);
	fputs(": ", out);
	write_text(out, value_text(text, drawing->tree->total, drawing->unit), 0);
	if (drawing->narrow)
		fprintf(out, " (%zu %s too narrow to be drawn)", drawing->narrow,
		        drawing->narrow == 1 ? "box is" : "boxes are");
	fputs("</text>\n", out);
}

static void draw_legend(FILE *out, uint32_t y)
{
	static const struct {
		const char *class, *name;
	} kinds[] = { { "k", "kernel" },
		      { "m", "kernel module" },
		      { "n", "native" },
		      { "i", "inlined" },
		      { "p", "Python" } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(out,
		        "<g class=\"%s\"><rect x=\"%g\" y=\"%u\" width=\"12\" height=\"12\"/>"
		        "<text class=\"o\" x=\"%g\" y=\"%u\">%s</text></g>\n",
		        kinds[i].class, MARGIN + 120 * (double)i, y, MARGIN + 120 * (double)i + 17, y + 10,
		        kinds[i].name);
}

int flame_svg_write(FILE *out, const struct flame_data *data, const struct flame_tree *tree,
                    const char *title, const char *unit)
{
	struct drawing drawing = { .data = data, .tree = tree, .unit = unit };
	int err = place_boxes(&drawing);
	uint32_t bottom = HEAD + (drawing.deepest + 1) * ROW;

	if (!err) {
		draw_head(out, &drawing, title, bottom + FOOT);
		for (size_t i = 0; i < tree->nodes.n && tree->total > 0; i++)
			if (drawing.boxes[i].depth != FLAME_NONE)
				draw_box(out, &drawing, i);
		draw_legend(out, bottom + 10);
		fputs("</svg>\n", out);
		err = fflush(out) || ferror(out) ? -EIO : 0;
	}
	free(drawing.boxes);
	free(drawing.used);
	free(drawing.sizes);
	return err;
}
