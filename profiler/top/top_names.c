/* The names that a sample is counted under: its functions, lines, its stack, or a label. */

#include "profiler/top/top_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"

static const char *const by_names[TOP_BYS] = {
	[TOP_BY_FUNCTION] = "function", [TOP_BY_LINE] = "line",       [TOP_BY_STACK] = "stack",
	[TOP_BY_CLASS] = "class",       [TOP_BY_TAG] = "tag",         [TOP_BY_STALL] = "stall",
	[TOP_BY_DEVICE] = "device",     [TOP_BY_PROCESS] = "process", [TOP_BY_INHERITED] = "inherited",
};

const char *top_by_name(enum top_by by)
{
	return by_names[by];
}

bool top_by_parse(const char *name, enum top_by *by)
{
	for (unsigned i = 0; i < TOP_BYS; i++) {
		if (!strcmp(name, by_names[i])) {
			*by = i;
			return true;
		}
	}
	return false;
}

void top_frame_name(char *text, size_t size, const struct profile_frame *frame, bool with_line)
{
	const char *name = frame->function && *frame->function ? frame->function : "[unnamed]";

	if (!with_line || !frame->file || !*frame->file)
		snprintf(text, size, "%s", name);
	else if (!frame->line)
		snprintf(text, size, "%s %s", name, frame->file);
	else
		snprintf(text, size, "%s %s:%" PRIu32, name, frame->file, frame->line);
}

/* Calls visit for each frame of a stack, leaf first. */
static int visit_frames(const struct profile *profile, const struct profile_sample_view *view, bool with_line,
                        top_name_visitor visit, void *context)
{
	struct profile_location_view location;
	char text[8192];
	int err = 0;

	for (size_t i = 0; i < view->n_locations && !err; i++) {
		if (!profile_get_location(profile, view->location_ids[i], &location))
			continue;
		for (size_t f = 0; f < location.n_frames && !err; f++) {
			top_frame_name(text, sizeof(text), &location.frames[f], with_line);
			err = visit(context, text, i == 0 && f == 0);
		}
		if (!location.n_frames) {
			loaded_address_text(text, sizeof(text), profile, &location);
			err = visit(context, text, i == 0);
		}
	}
	return err;
}

/* A stack that is being printed. */
struct printing {
	FILE *stream;
	const struct loaded_stack *folding; /* NULL: all frames are printed */
	size_t at, printed;                 /* frames so far */
};

static int visit_print(void *context, const char *text, bool is_leaf)
{
	struct printing *printing = context;
	const struct loaded_stack *folding = printing->folding;
	size_t at = printing->at++;

	(void)is_leaf;
	if (folding && at < folding->n && loaded_stack_folds(folding, at))
		return 0;
	fprintf(printing->stream, "%s%s", printing->printed++ ? "\n" : "", text);
	return 0;
}

/* Equal stacks of different causes are different things to look at. */
static void print_cause(FILE *stream, const struct loaded_sample *sample)
{
	const char *parts[] = { sample->stall, sample->device, sample->class };
	const char *separator = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!*parts[i])
			continue;
		fprintf(stream, "%s%s", separator, parts[i]);
		separator = ", ";
	}
	fputs(*separator ? "\n" : "", stream);
}

static int visit_stack(const struct profile *profile, const struct loaded_sample *sample,
                       const struct loaded_stack *folding, top_name_visitor visit, void *context)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct printing printing = { .stream = stream, .folding = folding };
	bool failed;
	int err;

	if (!stream)
		return -ENOMEM;
	print_cause(stream, sample);
	visit_frames(profile, &sample->view, true, visit_print, &printing);
	failed = ferror(stream) != 0;
	failed |= fclose(stream) != 0;
	err = failed ? -ENOMEM : visit(context, text, true);
	free(text);
	return err;
}

/* The exact tag: ids are shared by names, and names by ids. */
static int visit_tag(const struct loaded_sample *sample, top_name_visitor visit, void *context)
{
	char name[1024];

	if (!*sample->id)
		return visit(context, *sample->tag ? sample->tag : "[no tag]", true);
	snprintf(name, sizeof(name), "%s id %s", sample->tag, sample->id);
	return visit(context, name, true);
}

/* Each class of each process. */
static int visit_process(const struct loaded_sample *sample, top_name_visitor visit, void *context)
{
	char name[1024];

	snprintf(name, sizeof(name), "%s [%" PRId64 "]", sample->class, sample->pid);
	return visit(context, name, true);
}

static int visit_inherited(const struct loaded_sample *sample, top_name_visitor visit, void *context)
{
	char name[1024];

	if (!*sample->inherited_stall && !sample->is_wait)
		return visit(context, "[a stall of its own]", true);
	if (!*sample->inherited_stall)
		return visit(context, strcmp(sample->stall, "sleep") ? "[not known]" : "[a sleep of its own]",
		             true);
	loaded_inherited_text(name, sizeof(name), sample->inherited_stall, sample->inherited_device,
	                      sample->inherited_from);
	return visit(context, name, true);
}

int top_names_visit(const struct loaded_profiles *input, const struct loaded_sample *sample, enum top_by by,
                    const struct loaded_stack *folding, top_name_visitor visit, void *context)
{
	switch (by) {
	case TOP_BY_FUNCTION:
	case TOP_BY_LINE:
		return visit_frames(input->profile, &sample->view, by == TOP_BY_LINE, visit, context);
	case TOP_BY_STACK:
		return visit_stack(input->profile, sample, folding, visit, context);
	case TOP_BY_CLASS:
		return visit(context, *sample->class ? sample->class : "[no tag]", true);
	case TOP_BY_TAG:
		return visit_tag(sample, visit, context);
	case TOP_BY_PROCESS:
		return visit_process(sample, visit, context);
	case TOP_BY_INHERITED:
		return visit_inherited(sample, visit, context);
	case TOP_BY_STALL:
		return visit(context, *sample->stall ? sample->stall : "[no stall]", true);
	case TOP_BY_DEVICE:
		return visit(context, *sample->device ? sample->device : "[no device]", true);
	case TOP_BYS:
		break;
	}
	return -EINVAL;
}
