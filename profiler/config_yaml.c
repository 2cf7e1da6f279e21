/*
 * The configuration's file, read by libcyaml.
 *
 * libcyaml checks the shape (which keys, lists or maps) by a schema made from the table of settings. Every
 * scalar is taken as text and handed to config_set(), because libcyaml would read "10k" as 10 and "-1" as a
 * large number. It tells where it failed only through its log, so that is kept and read.
 */
#include "profiler/config.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/config_settings.h"

#define FILE_BYTES_MAX   (1024 * 1024)
#define SECTION_KEYS_MAX (CONFIG_SETTINGS_MAX + CONFIG_SECTIONS + 4)
#define PATH_DEPTH_MAX   4

/* --- what libcyaml loads into: the top of the file, and each of its sections ------------------------------
 */

struct pair {
	char *first;
	char *second;
};

struct loaded {
	char *values[CONFIG_SETTINGS_MAX]; /* indexed as config_settings */
	struct loaded *sections[CONFIG_SECTIONS];
	struct pair *labels, *rules;
	unsigned label_count, rule_count;
	char **pids, **cgroups;
	unsigned pid_count, cgroup_count;
};

#define MAY_BE_EMPTY (CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER_NULL)

static const cyaml_schema_field_t label_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct pair, first, 0, CYAML_UNLIMITED),
	CYAML_FIELD_STRING_PTR("value", CYAML_FLAG_POINTER, struct pair, second, 0, CYAML_UNLIMITED),
	CYAML_FIELD_END
};
static const cyaml_schema_field_t rule_fields[] = {
	CYAML_FIELD_STRING_PTR("match", CYAML_FLAG_POINTER, struct pair, first, 0, CYAML_UNLIMITED),
	CYAML_FIELD_STRING_PTR("class", MAY_BE_EMPTY, struct pair, second, 0, CYAML_UNLIMITED),
	CYAML_FIELD_END
};
static const cyaml_schema_value_t label_entry = { CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct pair,
	                                                              label_fields) };
static const cyaml_schema_value_t rule_entry = { CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct pair,
	                                                             rule_fields) };
static const cyaml_schema_value_t text_entry = { CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0,
	                                                            CYAML_UNLIMITED) };

struct schema {
	cyaml_schema_field_t fields[CONFIG_SECTIONS][SECTION_KEYS_MAX];
	size_t counts[CONFIG_SECTIONS];
	cyaml_schema_value_t top;
};

static void schema_add(struct schema *schema, enum config_section section, cyaml_schema_field_t field)
{
	schema->fields[section][schema->counts[section]++] = field;
}

static void schema_add_lists(struct schema *schema)
{
	static const cyaml_schema_field_t labels = CYAML_FIELD_SEQUENCE_COUNT(
	        "labels", MAY_BE_EMPTY, struct loaded, labels, label_count, &label_entry, 0, CYAML_UNLIMITED);
	static const cyaml_schema_field_t rules = CYAML_FIELD_SEQUENCE_COUNT(
	        "rules", MAY_BE_EMPTY, struct loaded, rules, rule_count, &rule_entry, 0, CYAML_UNLIMITED);
	static const cyaml_schema_field_t pids = CYAML_FIELD_SEQUENCE_COUNT(
	        "pids", MAY_BE_EMPTY, struct loaded, pids, pid_count, &text_entry, 0, CYAML_UNLIMITED);
	static const cyaml_schema_field_t cgroups =
	        CYAML_FIELD_SEQUENCE_COUNT("cgroups", MAY_BE_EMPTY, struct loaded, cgroups, cgroup_count,
	                                   &text_entry, 0, CYAML_UNLIMITED);

	schema_add(schema, SECTION_TOP, labels);
	schema_add(schema, SECTION_TAGS, rules);
	schema_add(schema, SECTION_FILTERS, pids);
	schema_add(schema, SECTION_FILTERS, cgroups);
}

/* schema must be zeroed: the fields of a section end at the first without a key. */
static void schema_init(struct schema *schema)
{
	for (size_t i = 0; i < config_setting_count; i++) {
		cyaml_schema_field_t field = {
			.key = config_settings[i].key,
			.data_offset = (uint32_t)(offsetof(struct loaded, values) + i * sizeof(char *)),
			.value = { CYAML_VALUE_STRING(MAY_BE_EMPTY, char, 0, CYAML_UNLIMITED) }
		};

		schema_add(schema, config_settings[i].section, field);
	}
	for (unsigned i = SECTION_TOP + 1; i < CONFIG_SECTIONS; i++) {
		cyaml_schema_field_t field = {
			.key = config_section_name(i),
			.data_offset =
			        (uint32_t)(offsetof(struct loaded, sections) + i * sizeof(struct loaded *)),
			.value = { CYAML_VALUE_MAPPING(MAY_BE_EMPTY, struct loaded, schema->fields[i]) }
		};

		schema_add(schema, SECTION_TOP, field);
	}
	schema_add_lists(schema);
	schema->top = (cyaml_schema_value_t){ CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct loaded,
		                                                  schema->fields[SECTION_TOP]) };
}

/* --- where libcyaml failed, out of its log ----------------------------------------------------------------
 */

struct failure {
	char message[256];
	char path[PATH_DEPTH_MAX][64]; /* innermost first */
	size_t depth;
	unsigned line; /* 0: not told */
	bool in_backtrace;
};

static void note_place(struct failure *failure, const char *text)
{
	const char *line = strstr(text, "(line: ");
	char key[64];

	if (sscanf(text, " in mapping field '%63[^']'", key) == 1 && failure->depth < PATH_DEPTH_MAX)
		snprintf(failure->path[failure->depth++], sizeof(failure->path[0]), "%s", key);
	if (line && !failure->line)
		failure->line = (unsigned)strtoul(line + strlen("(line: "), NULL, 10);
}

static void note_log(cyaml_log_t level, void *context, const char *format, va_list args)
{
	struct failure *failure = context;
	char text[256];

	(void)level;
	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(text, "Load: Backtrace:"))
		failure->in_backtrace = true;
	else if (failure->in_backtrace)
		note_place(failure, text);
	else if (!failure->message[0])
		snprintf(failure->message, sizeof(failure->message), "%s",
		         strncmp(text, "Load: ", 6) ? text : text + 6);
}

/* The line of a setting in a file of the usual shape, sections at the margin; 0 when it is not found. */
static unsigned find_line(const char *text, const char *section, const char *key)
{
	bool inside = !*section;
	unsigned number = 0, section_line = 0;

	while (*text) {
		size_t indent = strspn(text, " -"), length = strcspn(text + indent, ":\n");
		const char *word = text + indent;

		number++;
		if (!indent && *section && *word != '#') {
			inside = strlen(section) == length && !strncmp(word, section, length);
			section_line = inside ? number : section_line;
		} else if (inside && !indent == !*section && strlen(key) == length &&
		           !strncmp(word, key, length)) {
			return number;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return section_line;
}

/* libcyaml tells the line of the map that holds an unknown key; the key's own serves better. */
static void correct_line(struct failure *failure, const char *text)
{
	const char *key = strstr(failure->message, "Unexpected key: ");
	unsigned line = 0;

	if (key && failure->depth < 2)
		line = find_line(text, failure->depth ? failure->path[0] : "",
		                 key + strlen("Unexpected key: "));
	if (line)
		failure->line = line;
}

static void append_allowed_keys(FILE *out, const struct schema *schema, const struct failure *failure)
{
	const cyaml_schema_field_t *field = schema->fields[SECTION_TOP];

	for (unsigned i = SECTION_TOP + 1; failure->depth && i < CONFIG_SECTIONS; i++)
		if (!strcmp(config_section_name(i), failure->path[failure->depth - 1]))
			field = schema->fields[i];
	if (failure->depth && !strcmp(failure->path[0], "labels"))
		field = label_fields;
	if (failure->depth && !strcmp(failure->path[0], "rules"))
		field = rule_fields;
	fputs("; allowed here:", out);
	for (const char *comma = " "; field->key; field++, comma = ", ")
		fprintf(out, "%s%s", comma, field->key);
}

/* FILE:LINE: a.b: what is wrong */
static void describe(const struct schema *schema, const struct failure *failure, cyaml_err_t reason,
                     const char *path, char *err, size_t err_size)
{
	FILE *out = fmemopen(err, err_size, "w");

	if (!out)
		return;
	fputs(path, out);
	if (failure->line)
		fprintf(out, ":%u", failure->line);
	fputs(": ", out);
	for (size_t i = failure->depth; i; i--)
		fprintf(out, "%s%s", failure->path[i - 1], i > 1 ? "." : ": ");
	fputs(failure->message[0] ? failure->message : cyaml_strerror(reason), out);
	if (reason == CYAML_ERR_INVALID_KEY)
		append_allowed_keys(out, schema, failure);
	fclose(out);
	config_clean_message(err);
}

/* --- from what was loaded to the configuration ------------------------------------------------------------
 */

struct reading {
	struct config *config;
	const char *text; /* the file's */
	char message[512];
	char place[160]; /* the path of the setting being read */
};

static int read_settings(struct reading *reading, const struct loaded *top)
{
	int err = 0;

	for (size_t i = 0; i < config_setting_count && !err; i++) {
		enum config_section section = config_settings[i].section;
		const struct loaded *from = section == SECTION_TOP ? top : top->sections[section];

		if (!from || !from->values[i])
			continue;
		snprintf(reading->place, sizeof(reading->place), "%s%s%s", config_section_name(section),
		         section == SECTION_TOP ? "" : ".", config_settings[i].key);
		err = config_set(reading->config, reading->place, from->values[i], reading->message,
		                 sizeof(reading->message));
	}
	return err;
}

static int read_pairs(struct reading *reading, const struct pair *pairs, unsigned count, const char *place,
                      int (*add)(struct config *, const char *, const char *, char *, size_t))
{
	int err = 0;

	snprintf(reading->place, sizeof(reading->place), "%s", place);
	for (unsigned i = 0; i < count && !err; i++)
		err = add(reading->config, pairs[i].first, pairs[i].second ? pairs[i].second : "",
		          reading->message, sizeof(reading->message));
	return err;
}

static int read_texts(struct reading *reading, char **texts, unsigned count, const char *place,
                      int (*add)(struct config *, const char *, char *, size_t))
{
	int err = 0;

	snprintf(reading->place, sizeof(reading->place), "%s", place);
	for (unsigned i = 0; i < count && !err; i++)
		err = add(reading->config, texts[i], reading->message, sizeof(reading->message));
	return err;
}

static int read_lists(struct reading *reading, const struct loaded *top)
{
	const struct loaded *tags = top->sections[SECTION_TAGS], *filters = top->sections[SECTION_FILTERS];
	int err = read_pairs(reading, top->labels, top->label_count, "labels", config_add_label);

	if (!err && tags)
		err = read_pairs(reading, tags->rules, tags->rule_count, "tags.rules", config_add_tag_rule);
	if (!err && filters)
		err = read_texts(reading, filters->pids, filters->pid_count, "filters.pids", config_add_pid);
	if (!err && filters)
		err = read_texts(reading, filters->cgroups, filters->cgroup_count, "filters.cgroups",
		                 config_add_cgroup);
	return err;
}

static int read_loaded(struct reading *reading, const struct loaded *top)
{
	int err = read_settings(reading, top);

	if (!err)
		err = read_lists(reading, top);
	if (err)
		return err;
	reading->place[0] = '\0';
	return config_check(reading->config, reading->message, sizeof(reading->message));
}

static void describe_reading(const struct reading *reading, const char *path, char *err, size_t err_size)
{
	char section[sizeof(reading->place)];
	const char *dot = strchr(reading->place, '.');
	const char *key = dot ? dot + 1 : reading->place;
	unsigned line;

	snprintf(section, sizeof(section), "%.*s", (int)(dot ? dot - reading->place : 0), reading->place);
	line = *key ? find_line(reading->text, section, key) : 0;
	if (line)
		snprintf(err, err_size, "%s:%u: %s", path, line, reading->message);
	else
		snprintf(err, err_size, "%s: %s", path, reading->message);
}

/* --- the file ---------------------------------------------------------------------------------------------
 */

static bool is_pipe(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* The whole file, ended by a NUL that *size doesn't count. */
static int read_file(const char *path, char **text, size_t *size, char *err, size_t err_size)
{
	FILE *file;
	int result = 0;

	*size = 0;
	*text = NULL;
	if (is_pipe(path)) { /* to open it would wait for a writer, with the signals that end us blocked */
		snprintf(err, err_size, "%s: a pipe; give a file", path);
		return -EINVAL;
	}
	file = fopen(path, "re");
	*text = file ? malloc(FILE_BYTES_MAX + 1) : NULL;
	if (*text)
		*size = fread(*text, 1, FILE_BYTES_MAX + 1, file);
	if (!*text || ferror(file))
		result = -errno;
	else if (*size > FILE_BYTES_MAX)
		result = -EFBIG;
	if (result) {
		snprintf(err, err_size, "%s: %s", path, strerror(-result));
		free(*text);
		*text = NULL;
	} else {
		(*text)[*size] = '\0';
	}
	if (file)
		fclose(file);
	return result;
}

static int parse(const char *path, const char *text, size_t size, struct config *config, char *err,
                 size_t err_size)
{
	struct failure failure = { .line = 0 };
	struct schema schema = { .counts = { 0 } };
	const cyaml_config_t how = {
		.log_fn = note_log, .log_ctx = &failure, .mem_fn = cyaml_mem, .log_level = CYAML_LOG_WARNING
	};
	struct reading reading = { .config = config, .text = text };
	struct loaded *top = NULL;
	cyaml_err_t reason;
	int result = 0;

	schema_init(&schema);
	reason = cyaml_load_data((const uint8_t *)text, size, &how, &schema.top, (cyaml_data_t **)&top, NULL);
	/* A second document is only a warning to libcyaml; here it is a file that doesn't mean what it says.
	 */
	if (reason != CYAML_OK || failure.message[0]) {
		correct_line(&failure, text);
		describe(&schema, &failure, reason, path, err, err_size);
		result = reason == CYAML_ERR_OOM ? -ENOMEM : -EINVAL;
	} else if (top) {
		result = read_loaded(&reading, top);
		if (result)
			describe_reading(&reading, path, err, err_size);
	}
	cyaml_free(&how, &schema.top, top, 0);
	return result;
}

int config_load(const char *path, struct config **out, char *err, size_t err_size)
{
	struct config *config;
	char *text;
	size_t size;
	int result = read_file(path, &text, &size, err, err_size);

	if (result)
		return result;
	config = config_default();
	if (config) {
		result = parse(path, text, size, config, err, err_size);
	} else {
		snprintf(err, err_size, "no memory left");
		result = -ENOMEM;
	}
	free(text);
	if (result)
		config_free(config);
	else
		*out = config;
	return result;
}
