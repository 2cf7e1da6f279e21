/* The subcommand `flame`: loads profiles and writes a page, a picture or folded stacks. */

#include "profiler/cli/cmd_flame.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profiler/cli/output_file.h"
#include "profiler/cli/usage.h"
#include "profiler/flame/flame_add.h"
#include "profiler/flame/flame_data.h"
#include "profiler/flame/flame_folded.h"
#include "profiler/flame/flame_json.h"
#include "profiler/flame/flame_page.h"
#include "profiler/flame/flame_svg.h"
#include "profiler/flame/flame_tree.h"
#include "profiler/format/text_cells.h"
#include "profiler/loaded/loaded_bound.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/loaded/loaded_sample.h"

#define MESSAGE_BYTES 1024
#define PAGE_NAME     "stallprof.html"

enum { KEY_BASE = 256, KEY_SVG, KEY_FOLDED, KEY_NATIVE };

enum form { FORM_PAGE, FORM_SVG, FORM_FOLDED };

struct options {
	char **files;
	size_t file_count;
	char *base; /* NULL: none */
	const char *output;
	const char *type;
	struct loaded_filter filter;
	enum form form;
	bool native;
};

/* The two sides: what is looked at, and what it is compared with. */
struct sides {
	struct flame_data *data;
	const struct options *options;
	const char *adding; /* the side that is loaded now */
	bool mismatched;    /* a file of the base has other value types */
	struct loaded_profiles input, base;
};

static const struct argp_option option_table[] = {
	{ "output", 'o', "FILE", 0,
	  "Write to FILE, - for standard output (default: " PAGE_NAME
	  "; of --svg and --folded: standard output)",
	  0 },
	{ "base", KEY_BASE, "FILE", 0,
	  "Compare with this profile or directory: the page shows the difference", 0 },
	{ "svg", KEY_SVG, NULL, 0, "Write a picture without scripts in place of the page", 0 },
	{ "folded", KEY_FOLDED, NULL, 0, "Write folded stacks, one a line, in place of the page", 0 },
	{ "stall", 's', "CAUSE", 0,
	  "Only samples of this stall, for example block_io, or of this kind of wait: lock, pipe ...; "
	  "blocked: all of those",
	  0 },
	{ "tag", 'T', "TAG", 0,
	  "Only this tag: a class, a name or the beginning of its path, id=N or id=0xN, or an id of 16 hex "
	  "digits",
	  0 },
	{ "type", 't', "TYPE", 0,
	  "With --svg, --folded: sum delay (time of waits, the default), cpu, contentions or recovery", 0 },
	{ "native", KEY_NATIVE, NULL, 0, "With --svg, --folded: also the C code below Python", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'o':
		options->output = value;
		return 0;
	case KEY_BASE:
		options->base = value;
		return 0;
	case 's':
		options->filter.stall = value;
		return 0;
	case 'T':
		options->filter.tag = value;
		return 0;
	case 't':
		options->type = value;
		return 0;
	case KEY_SVG:
	case KEY_FOLDED:
		if (options->form != FORM_PAGE)
			usage_error(state, "--svg and --folded exclude each other");
		options->form = key == KEY_SVG ? FORM_SVG : FORM_FOLDED;
		return 0;
	case KEY_NATIVE:
		options->native = true;
		return 0;
	case ARGP_KEY_ARGS:
		options->files = state->argv + state->next;
		options->file_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which FILE?");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "FILE...",
	.doc = "Writes a page with the profiles' flame graph, ledger and timeline, which any "
	       "browser opens without a network.\vFILEs are summed; a directory stands "
	       "for all *.pb.gz in it, - for standard input."
};

static void parse(int argc, char **argv, struct options *options)
{
	*options = (struct options){ .form = FORM_PAGE };
	usage_parse(&parser, "stallprof flame", argc, argv, 0, options);
	if (options->form == FORM_PAGE && (options->native || options->type))
		usage_error(NULL, "%s is for --svg and --folded: the page has a switch for it",
		            options->native ? "--native" : "--type");
	if (options->form != FORM_PAGE && options->base)
		usage_error(NULL, "--base is for the page alone");
	if (!options->output)
		options->output = options->form == FORM_PAGE ? PAGE_NAME : "-";
	output_file_check(options->output, (const char *const *)options->files, options->file_count);
	output_file_check(options->output, (const char *const *)&options->base, 1);
}

static int say(const char *message)
{
	fputs("stallprof flame: ", stderr);
	text_print_clean(stderr, message, 0);
	fputc('\n', stderr);
	return 1;
}

/* --- loading ---------------------------------------------------------------------------------------------- */

static int load_side(struct sides *sides, struct loaded_profiles *input, const char *side, char **paths,
                     size_t count);

/* Both sides are in the same tables: where the base is to be loaded anew, so is what is looked at. */
static int begin_anew(struct sides *sides)
{
	const struct options *options = sides->options;
	const char *side = sides->adding;
	int status = 0;

	flame_data_free(sides->data);
	sides->data = flame_data_new();
	if (!sides->data)
		return -ENOMEM;
	if (*side) {
		loaded_profiles_release(&sides->input);
		status = load_side(sides, &sides->input, "", options->files, options->file_count);
	}
	sides->adding = side;
	return status ? -ENOSPC : 0;
}

static int add_file(void *context, const struct loaded_profiles *file)
{
	struct sides *sides = context;
	int err = file ? flame_add(sides->data, file, sides->adding, &sides->options->filter)
	               : begin_anew(sides);

	if (err == -EINVAL && *sides->adding)
		sides->mismatched = true;
	/* The merge that follows says which types differ. */
	return err == -EINVAL && !*sides->adding ? 0 : err;
}

/* 0 if nothing was. */
static int say_left_out(const struct loaded_profiles *input)
{
	char message[MESSAGE_BYTES];

	if (*input->left_out)
		say(input->left_out);
	if (!input->unreadable_files)
		return *input->left_out != '\0';
	snprintf(message, sizeof(message), "%zu file%s left out: %s%s", input->unreadable_files,
	         input->unreadable_files == 1 ? " is" : "s are", input->unreadable,
	         input->unreadable_files == 1 ? "" : "; ...");
	return say(message);
}

/* 0, or 1 after it has said why not. */
static int load_side(struct sides *sides, struct loaded_profiles *input, const char *side, char **paths,
                     size_t count)
{
	/* The tables may take the other half. */
	const struct loaded_options how = { .max_bytes = loaded_bytes_max("") / 2,
		                            .see = add_file,
		                            .context = sides };
	char message[MESSAGE_BYTES] = "";

	sides->adding = side;
	if (!loaded_profiles_load_as(input, paths, count, &how, message, sizeof(message)))
		return 0;
	if (sides->mismatched)
		snprintf(message, sizeof(message),
		         "%s: has other sample types than the profile that it is to be compared with",
		         *paths);
	return say(message);
}

/* --- writing ---------------------------------------------------------------------------------------------- */

static int pick_type(const struct options *options, const struct sides *sides)
{
	int picked = loaded_pick_type(&sides->input, options->type);

	if (picked < 0)
		return picked;
	return flame_type(sides->data, profile_type(sides->input.profile, (size_t)picked).type);
}

static int write_tree(FILE *out, const struct options *options, const struct sides *sides, const char *title)
{
	struct flame_tree_options wanted = { .native = options->native, .waits = options->filter.stall };
	int type = pick_type(options, sides), err;
	struct flame_tree tree;

	if (type < 0)
		return -ENOENT;
	wanted.type = (size_t)type;
	err = flame_tree_build(&tree, sides->data, &wanted);
	if (!err && options->form == FORM_SVG)
		err = flame_svg_write(out, sides->data, &tree, title, sides->data->types[type].unit);
	else if (!err)
		err = flame_folded_write(out, sides->data, &tree);
	flame_tree_free(&tree);
	return err;
}

static int write_form(FILE *out, const struct options *options, const struct sides *sides)
{
	const char *name = options->files[0], *slash = strrchr(name, '/');
	char title[256];
	const struct loaded_profiles *base = sides->base.profile ? &sides->base : NULL;
	struct flame_json json = { .data = sides->data,
		                   .title = title,
		                   .sides = { &sides->input, base },
		                   .stall = options->filter.stall,
		                   .tag = options->filter.tag };

	if (!strcmp(name, "-"))
		name = "standard input";
	else if (slash && slash[1])
		name = slash + 1;
	snprintf(title, sizeof(title), "%s%s", name, options->file_count > 1 ? " …" : "");
	return options->form == FORM_PAGE ? flame_page_write(out, &json)
	                                  : write_tree(out, options, sides, title);
}

/* `error`: what the system said when the output could not be written; 0: nothing. */
static int say_unwritten(const char *output, int err, int error)
{
	bool to_stdout = !strcmp(output, "-");
	char message[MESSAGE_BYTES];

	if (err == -EIO)
		snprintf(message, sizeof(message), "%s could not be written%s%s%s",
		         to_stdout ? "the output" : output, error ? ": " : "", error ? strerror(error) : "",
		         to_stdout ? "" : ": choose another place with -o");
	else
		snprintf(message, sizeof(message), "%s%s%s", to_stdout ? "" : output, to_stdout ? "" : ": ",
		         err == -ENOENT ? "the profile has no such sample type: see stallprof top --type"
		                        : loaded_reason(-err));
	return say(message);
}

static int write_output(const struct options *options, const struct sides *sides)
{
	struct output_file file;
	int err, error;

	if (options->form != FORM_PAGE && pick_type(options, sides) < 0)
		return say_unwritten(options->output, -ENOENT, 0);
	err = output_file_open(&file, options->output);
	if (err)
		return say_unwritten(options->output, -EIO, -err);
	errno = 0;
	err = write_form(file.out, options, sides);
	error = errno;
	if (err) {
		output_file_close(&file, err);
		return say_unwritten(options->output, err, error);
	}
	err = output_file_close(&file, 0);
	return err ? say_unwritten(options->output, -EIO, -err) : 0;
}

/* --- the command ------------------------------------------------------------------------------------------ */

static int run(struct options *options, struct sides *sides)
{
	int status = load_side(sides, &sides->input, "", options->files, options->file_count), left_out;

	if (status)
		return status;
	if (options->base)
		status = load_side(sides, &sides->base, FLAME_BASE_SIDE, &options->base, 1);
	if (!status && !sides->data->samples.n && (options->filter.stall || options->filter.tag))
		status = say("the profile has no such samples: see stallprof top --by tag and --by stall");
	if (!status)
		status = write_output(options, sides);
	if (!status && options->form == FORM_PAGE && strcmp(options->output, "-") != 0)
		fprintf(stderr, "stallprof flame: wrote %s; open it in a browser\n", options->output);
	left_out = say_left_out(&sides->input);
	if (options->base && !status)
		left_out |= say_left_out(&sides->base);
	return status || left_out;
}

int cmd_flame(int argc, char **argv)
{
	struct sides sides = { .data = NULL };
	struct options options;
	int status;

	parse(argc, argv, &options);
	if (options.form == FORM_PAGE && !flame_page_is_there())
		return say("this program was built without the page, for want of npm or its packages: "
		           "install npm and "
		           "run make again, or use --svg or --folded");
	sides.options = &options;
	sides.data = flame_data_new();
	status = sides.data ? run(&options, &sides) : say("no memory left");
	loaded_profiles_release(&sides.input);
	loaded_profiles_release(&sides.base);
	flame_data_free(sides.data);
	return status;
}
