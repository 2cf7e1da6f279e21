/*
 * The configuration's file, read by libyaml into a tree whose nodes know their lines.
 *
 * What may stand where follows from the table of settings and from `lists`. An error is one line: the file and the
 * line of what is wrong, its name, and what is wanted in its place. Every scalar is taken as text and handed to
 * config_set().
 */
#include "profiler/config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "profiler/config/config_bounds.h"
#include "profiler/config/config_file.h"
#include "profiler/config/config_settings.h"

#define PLACE_BYTES 96

/* Settings that are lists: of texts, or of maps with two texts. */
static const struct list {
	enum config_section section;
	const char *key;
	const char *first, *second; /* of an entry that is a map */
	bool second_optional;
	int (*add_pair)(struct config *, const char *, const char *, char *, size_t);
	int (*add_text)(struct config *, const char *, char *, size_t);
	const char *shape;
} lists[] = {
	{ .section = SECTION_TOP,
	  .key = "labels",
	  .first = "name",
	  .second = "value",
	  .add_pair = config_add_label,
	  .shape = "a list of entries with name and value (- name: job, and below it value: llama)" },
	{ .section = SECTION_TAGS,
	  .key = "rules",
	  .first = "match",
	  .second = "class",
	  .second_optional = true,
	  .add_pair = config_add_tag_rule,
	  .shape = "a list of entries with match and, if wanted, class (- match: checkpoint_*)" },
	{ .section = SECTION_TAGS,
	  .key = "files",
	  .first = "folder",
	  .second = "name",
	  .second_optional = true,
	  .add_pair = config_add_tag_files,
	  .shape = "a list of entries with folder and, if wanted, name (- folder: /checkpoints)" },
	{ .section = SECTION_SAMPLING,
	  .key = "causes_off",
	  .add_text = config_add_cause_off,
	  .shape = "a list of causes ([dma_map])" },
	{ .section = SECTION_FILTERS,
	  .key = "pids",
	  .add_text = config_add_pid,
	  .shape = "a list of process ids ([1, 2])" },
	{ .section = SECTION_FILTERS,
	  .key = "cgroups",
	  .add_text = config_add_cgroup,
	  .shape = "a list of paths ([/kubepods.slice])" },
};

#define N_LISTS (sizeof(lists) / sizeof(lists[0]))

struct reading {
	yaml_document_t *document;
	const char *path;
	struct config *config;
	size_t lines[CONFIG_SETTINGS_MAX]; /* of the settings that the file has; 0: it has not */
	char *err;
	size_t err_size;
};

/* --- what is wrong, and where --------------------------------------------------------------------------- */

static size_t line_of(const yaml_node_t *node)
{
	return node->start_mark.line + 1;
}

/* Refuses a node, or, without one, the file as a whole. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) static int refuse(struct reading *r, const yaml_node_t *node,
                                                        const char *format, ...)
{
	va_list args;
	int n = node ? snprintf(r->err, r->err_size, "%s:%zu: ", r->path, line_of(node))
	             : snprintf(r->err, r->err_size, "%s: ", r->path);

	va_start(args, format);
	if (n > 0 && (size_t)n < r->err_size)
		vsnprintf(r->err + n, r->err_size - n, format, args);
	va_end(args);
	config_clean_message(r->err);
	return -EINVAL;
}

/* Refuses this node for what another function has found wrong, as `result` and `message` say. */
static int refuse_for(struct reading *r, const yaml_node_t *node, int result, const char *message)
{
	if (result)
		refuse(r, node, "%s", message);
	return result;
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

static const char *text_of(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

/* Nothing stands there, or what YAML calls null. */
static bool is_null(const yaml_node_t *node)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
		if (!strcmp(text_of(node), nulls[i]))
			return true;
	return false;
}

static const char *kind_of(const yaml_node_t *node)
{
	if (is_null(node))
		return "nothing";
	return node->type == YAML_SEQUENCE_NODE  ? "a list"
	       : node->type == YAML_MAPPING_NODE ? "a map"
	                                         : "a text";
}

static int want_text(struct reading *r, const yaml_node_t *node, const char *place, const char *wanted)
{
	if (node->type != YAML_SCALAR_NODE)
		return refuse(r, node, "%s: %s is wanted, not %s", place, wanted, kind_of(node));
	if (strlen(text_of(node)) != node->data.scalar.length)
		return refuse(r, node, "%s: a text without NUL is wanted", place);
	return 0;
}

static void print_place(char place[PLACE_BYTES], enum config_section section, const char *key)
{
	const char *name = config_section_name(section);

	snprintf(place, PLACE_BYTES, "%s%s%.64s", name, *name ? "." : "", key);
}

/*
 * The next pair of a map, that of section or list `of`; its names must be texts that don't stand there twice. 1, 0
 * after the last, or -EINVAL.
 */
static int next_pair(struct reading *r, const char *of, const yaml_node_t *map, size_t *i, yaml_node_t **key,
                     yaml_node_t **value)
{
	const yaml_node_pair_t *pairs = map->data.mapping.pairs.start;
	size_t n = map->data.mapping.pairs.top - pairs;

	if (*i == n)
		return 0;
	*key = yaml_document_get_node(r->document, pairs[*i].key);
	*value = yaml_document_get_node(r->document, pairs[*i].value);
	if ((*key)->type != YAML_SCALAR_NODE)
		return refuse(r, *key, "the name of a setting is wanted, not %s", kind_of(*key));
	for (size_t j = 0; j < *i; j++) {
		yaml_node_t *before = yaml_document_get_node(r->document, pairs[j].key);

		if (!strcmp(text_of(before), text_of(*key)))
			return refuse(r, *key, "%s%s%.64s stands twice, first in line %zu", of,
			              *of ? "." : "", text_of(*key), line_of(before));
	}
	++*i;
	return 1;
}

/* --- lists ---------------------------------------------------------------------------------------------- */

static int read_entry_text(struct reading *r, const struct list *list, const char *place,
                           const yaml_node_t *entry)
{
	char message[512];
	int result = want_text(r, entry, place, list->shape);

	if (result)
		return result;
	return refuse_for(r, entry, list->add_text(r->config, text_of(entry), message, sizeof(message)),
	                  message);
}

static int read_entry_pair(struct reading *r, const struct list *list, const char *place,
                           const yaml_node_t *entry)
{
	yaml_node_t *key, *value, *first = NULL, *second = NULL, **field;
	char message[512], field_place[2 * PLACE_BYTES];
	size_t i = 0;
	int result;

	if (entry->type != YAML_MAPPING_NODE)
		return refuse(r, entry, "%s: %s is wanted, not an entry that is %s", place, list->shape,
		              kind_of(entry));
	while ((result = next_pair(r, place, entry, &i, &key, &value)) > 0) {
		field = strcmp(text_of(key), list->first) ? &second : &first;
		if (field == &second && strcmp(text_of(key), list->second) != 0)
			return refuse(r, key, "%s: an entry has no %.64s; there are: %s, %s", place,
			              text_of(key), list->first, list->second);
		snprintf(field_place, sizeof(field_place), "%s.%s", place, text_of(key));
		result = want_text(r, value, field_place, "a text");
		if (result)
			return result;
		*field = value;
	}
	if (result)
		return result;
	if (!first || (!second && !list->second_optional))
		return refuse(r, entry, "%s: this entry lacks its %s; wanted is %s", place,
		              first ? list->second : list->first, list->shape);
	result = list->add_pair(r->config, text_of(first), second && !is_null(second) ? text_of(second) : "",
	                        message, sizeof(message));
	/* Whichever of the two the message names. */
	snprintf(field_place, sizeof(field_place), "%s.%s ", place, list->second);
	return refuse_for(r, second && !strncmp(message, field_place, strlen(field_place)) ? second : first,
	                  result, message);
}

static int read_list(struct reading *r, const struct list *list, const yaml_node_t *node)
{
	const yaml_node_item_t *item;
	char place[PLACE_BYTES];
	int result = 0;

	print_place(place, list->section, list->key);
	if (is_null(node))
		return 0;
	if (node->type != YAML_SEQUENCE_NODE)
		return refuse(r, node, "%s: %s is wanted, not %s", place, list->shape, kind_of(node));
	for (item = node->data.sequence.items.start; item < node->data.sequence.items.top && !result;
	     item++) {
		const yaml_node_t *entry = yaml_document_get_node(r->document, *item);

		result = list->add_text ? read_entry_text(r, list, place, entry)
		                        : read_entry_pair(r, list, place, entry);
	}
	return result;
}

/* --- sections ------------------------------------------------------------------------------------------- */

static int read_setting(struct reading *r, size_t number, const yaml_node_t *node)
{
	const struct config_setting *setting = &config_settings[number];
	char place[PLACE_BYTES], message[512];
	int result;

	print_place(place, setting->section, setting->key);
	if (is_null(node))
		return 0;
	result = want_text(r, node, place, setting->text ? "a text" : "a number");
	if (result)
		return result;
	r->lines[number] = line_of(node);
	return refuse_for(r, node, config_set(r->config, place, text_of(node), message, sizeof(message)),
	                  message);
}

static int refuse_key(struct reading *r, enum config_section section, const yaml_node_t *key)
{
	char place[PLACE_BYTES], allowed[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < config_setting_count; i++)
		if (config_settings[i].section == section && used < sizeof(allowed))
			used += snprintf(allowed + used, sizeof(allowed) - used, ", %s",
			                 config_settings[i].key);
	for (size_t i = 0; i < N_LISTS; i++)
		if (lists[i].section == section && used < sizeof(allowed))
			used += snprintf(allowed + used, sizeof(allowed) - used, ", %s", lists[i].key);
	for (unsigned int i = SECTION_TOP + 1; section == SECTION_TOP && i < CONFIG_SECTIONS; i++)
		if (used < sizeof(allowed))
			used += snprintf(allowed + used, sizeof(allowed) - used, ", %s",
			                 config_section_name(i));
	print_place(place, section, text_of(key));
	return refuse(r, key, "%s: there is no such setting, but%s", place, allowed + 1);
}

static int read_section(struct reading *r, enum config_section section, const yaml_node_t *map);

/* One name of a section: a setting, a list, or at the top another section. */
static int read_pair(struct reading *r, enum config_section section, const yaml_node_t *key,
                     const yaml_node_t *value)
{
	for (size_t i = 0; i < config_setting_count; i++)
		if (config_settings[i].section == section && !strcmp(config_settings[i].key, text_of(key)))
			return read_setting(r, i, value);
	for (size_t i = 0; i < N_LISTS; i++)
		if (lists[i].section == section && !strcmp(lists[i].key, text_of(key)))
			return read_list(r, &lists[i], value);
	for (unsigned int i = SECTION_TOP + 1; section == SECTION_TOP && i < CONFIG_SECTIONS; i++)
		if (!strcmp(config_section_name(i), text_of(key)))
			return read_section(r, i, value);
	return refuse_key(r, section, key);
}

static int read_section(struct reading *r, enum config_section section, const yaml_node_t *map)
{
	const char *name = config_section_name(section);
	yaml_node_t *key, *value;
	size_t i = 0;
	int result;

	if (is_null(map))
		return 0;
	if (map->type != YAML_MAPPING_NODE)
		return refuse(r, map, "%s%s settings are wanted, each a line \"name: value\"%s, not %s", name,
		              *name ? ":" : "the", *name ? " below it" : "", kind_of(map));
	while ((result = next_pair(r, name, map, &i, &key, &value)) > 0) {
		result = read_pair(r, section, key, value);
		if (result)
			return result;
	}
	return result;
}

/* An error of several settings together is reported at the first that the message names. */
static int check_all(struct reading *r)
{
	char message[512], place[PLACE_BYTES];
	int result = config_check(r->config, message, sizeof(message));
	yaml_node_t node = { 0 };
	bool found = false;

	for (size_t i = 0; result && i < config_setting_count; i++) {
		print_place(place, config_settings[i].section, config_settings[i].key);
		if (!r->lines[i] || strncmp(message, place, strlen(place)) != 0 ||
		    message[strlen(place)] != ' ')
			continue;
		found = true;
		node.start_mark.line = r->lines[i] - 1;
	}
	return refuse_for(r, found ? &node : NULL, result, message);
}

/* --- the file ------------------------------------------------------------------------------------------- */

static int out_of_memory(char *err, size_t err_size)
{
	snprintf(err, err_size, "no memory left");
	return -ENOMEM;
}

/* An error in bytes that are no text names their offset in the file, any other error its line. */
static int refuse_yaml(struct reading *r, const yaml_parser_t *parser, const char *text, size_t size)
{
	yaml_node_t node = { .start_mark = parser->problem_mark };

	if (parser->error == YAML_MEMORY_ERROR)
		return out_of_memory(r->err, r->err_size);
	/* Where what was being read begins: it may be several lines before the place where that was given up. */
	if (parser->error == YAML_SCANNER_ERROR && parser->context)
		node.start_mark = parser->context_mark;
	if (parser->error == YAML_READER_ERROR) {
		node.start_mark.line = 0;
		for (size_t i = 0; i < parser->problem_offset && i < size; i++)
			node.start_mark.line += text[i] == '\n';
	}
	return refuse(r, &node, "this is not YAML: %s",
	              parser->problem ? parser->problem : "it ends too early");
}

static int check_bounds(struct reading *r, const char *text, size_t size)
{
	yaml_node_t node = { 0 };
	const char *wrong;
	int result = config_bounds_check(text, size, &node.start_mark.line, &wrong);

	return result == -ENOMEM ? out_of_memory(r->err, r->err_size) : refuse_for(r, &node, result, wrong);
}

static int read_document(struct reading *r, yaml_parser_t *parser, const char *text, size_t size)
{
	yaml_node_t *root = yaml_document_get_root_node(r->document);
	yaml_document_t more;
	int result = root ? read_section(r, SECTION_TOP, root) : 0;

	if (result || !root)
		return result;
	/* A file that does not mean what it seems to. */
	if (yaml_parser_load(parser, &more)) {
		yaml_node_t begin = { .start_mark = more.start_mark };

		if (yaml_document_get_root_node(&more))
			result = refuse(r, &begin, "a second document begins; one is wanted");
		yaml_document_delete(&more);
	} else {
		result = refuse_yaml(r, parser, text, size);
	}
	return result ? result : check_all(r);
}

static int parse(const char *path, const char *text, size_t size, struct config *config, char *err,
                 size_t err_size)
{
	yaml_document_t document;
	struct reading r = {
		.document = &document, .path = path, .config = config, .err = err, .err_size = err_size
	};
	yaml_parser_t parser;
	int result = check_bounds(&r, text, size);

	if (result)
		return result;
	if (!yaml_parser_initialize(&parser))
		return out_of_memory(err, err_size);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	if (yaml_parser_load(&parser, &document)) {
		result = read_document(&r, &parser, text, size);
		yaml_document_delete(&document);
	} else {
		result = refuse_yaml(&r, &parser, text, size);
	}
	yaml_parser_delete(&parser);
	return result;
}

int config_load(const char *path, struct config **out, char *err, size_t err_size)
{
	struct config *config;
	char *text;
	size_t size;
	int result = config_file_read(path, &text, &size, err, err_size);

	if (result)
		return result;
	config = config_default();
	result = config ? parse(path, text, size, config, err, err_size) : out_of_memory(err, err_size);
	free(text);
	if (result)
		config_free(config);
	else
		*out = config;
	return result;
}
