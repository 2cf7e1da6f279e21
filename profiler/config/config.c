/* Sets, defaults and checks the configuration's settings, lists and labels. */

#include "profiler/config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/config/config_settings.h"

#define PID_MAX 4194304 /* proc(5): the kernel's own limit on 64-bit systems */

static char **text_of(struct config *config, const struct config_setting *setting)
{
	return (char **)((char *)config + setting->offset);
}

static int set_text(struct config *config, const struct config_setting *setting, const char *value)
{
	char **text = text_of(config, setting), *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static void set_number(struct config *config, const struct config_setting *setting, uint64_t number)
{
	memcpy((char *)config + setting->offset, &number, sizeof(number));
}

static int set_default(struct config *config, const struct config_setting *setting)
{
	if (setting->text)
		return set_text(config, setting, setting->text);
	set_number(config, setting, setting->number);
	return 0;
}

struct config *config_default(void)
{
	struct config *config = calloc(1, sizeof(*config));

	for (size_t i = 0; config && i < config_setting_count; i++) {
		if (set_default(config, &config_settings[i])) {
			config_free(config);
			config = NULL;
		}
	}
	return config;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config_setting_count; i++)
		if (config_settings[i].text)
			free(*text_of(config, &config_settings[i]));
	for (size_t i = 0; i < config->label_count; i++) {
		free(config->labels[i].name);
		free(config->labels[i].value);
	}
	for (size_t i = 0; i < config->tags.rule_count; i++) {
		free(config->tags.rules[i].match);
		free(config->tags.rules[i].class);
	}
	for (size_t i = 0; i < config->tags.files_count; i++) {
		free(config->tags.files[i].folder);
		free(config->tags.files[i].name);
	}
	for (size_t i = 0; i < config->sampling.cause_off_count; i++)
		free(config->sampling.causes_off[i]);
	free(config->sampling.causes_off);
	for (size_t i = 0; i < config->filters.cgroup_count; i++)
		free(config->filters.cgroups[i]);
	free(config->labels);
	free(config->tags.rules);
	free(config->tags.files);
	free(config->filters.pids);
	free(config->filters.cgroups);
	free(config);
}

/* --- single settings ------------------------------------------------------------------------------------ */

static const struct config_setting *find_setting(const char *path)
{
	for (size_t i = 0; i < config_setting_count; i++) {
		const char *section = config_section_name(config_settings[i].section);
		size_t length = strlen(section);
		const char *key = path;

		if (length) {
			if (strncmp(path, section, length) || path[length] != '.')
				continue;
			key += length + 1;
		}
		if (!strcmp(key, config_settings[i].key))
			return &config_settings[i];
	}
	return NULL;
}

/* How many bits to the left what stands in front of the text's last letter belongs, as systemd and dd have it; 0: it has no such letter. */
static unsigned int unit_of(const char *value)
{
	static const char units[] = "KMGT";
	const char *unit = *value ? strchr(units, value[strlen(value) - 1]) : NULL;

	return unit ? 10 * (unsigned int)(unit - units + 1) : 0;
}

/* A number of bytes may be written "8M". */
static bool number_of(const struct config_setting *setting, const char *value, uint64_t *number)
{
	unsigned int bits = strstr(setting->key, "bytes") ? unit_of(value) : 0;
	char digits[24];

	if (!bits)
		return config_number(value, number);
	if (strlen(value) > sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)strlen(value) - 1, value);
	if (!config_number(digits, number) || *number > UINT64_MAX >> bits)
		return false;
	*number <<= bits;
	return true;
}

static bool number_passes(const struct config_setting *setting, const char *value, uint64_t *number)
{
	if (!number_of(setting, value, number))
		return false;
	if (setting->or_zero && !*number)
		return true;
	if (setting->power_of_two && (*number & (*number - 1)))
		return false;
	return *number >= setting->low && *number <= setting->high;
}

void config_clean_message(char *message)
{
	for (; *message; message++)
		if ((unsigned char)*message < 0x20 || *message == 0x7f)
			*message = '?';
}

static int refuse_number(const struct config_setting *setting, const char *path, const char *value, char *err,
                         size_t err_size)
{
	snprintf(err, err_size, "%s is '%.64s'; allowed: %s%s from %" PRIu64 " to %" PRIu64, path, value,
	         setting->or_zero ? "0, or " : "",
	         setting->power_of_two ? "a power of two" : "a whole number", setting->low, setting->high);
	config_clean_message(err);
	return -EINVAL;
}

/* Whether the setting is a file that holds a password or a token. */
static bool names_secret(const char *path)
{
	size_t len = strlen(path), tail = strlen("_file");

	return len > tail && !strcmp(path + len - tail, "_file");
}

static int refuse_text(const char *path, const char *value, const char *allowed, char *err, size_t err_size)
{
	/* A URL that was refused may hold a password, and a secret may stand where its file should: that must not reach a log. */
	if (strchr(value, '@'))
		value = "…@…";
	else if (names_secret(path) && *value != '/')
		value = "…";
	snprintf(err, err_size, "%s is '%.64s'; allowed: %s", path, value, allowed);
	config_clean_message(err);
	return -EINVAL;
}

static int out_of_memory(char *err, size_t err_size)
{
	snprintf(err, err_size, "no memory left");
	return -ENOMEM;
}

int config_set(struct config *config, const char *path, const char *value, char *err, size_t err_size)
{
	const struct config_setting *setting = find_setting(path);
	uint64_t number;

	if (!setting) {
		snprintf(err, err_size, "there is no setting '%.64s'", path);
		config_clean_message(err);
		return -EINVAL;
	}
	if (!*value)
		return set_default(config, setting) ? out_of_memory(err, err_size) : 0;
	if (setting->text) {
		if (!setting->passes(value))
			return refuse_text(path, value, setting->allowed, err, err_size);
		return set_text(config, setting, value) ? out_of_memory(err, err_size) : 0;
	}
	if (!number_passes(setting, value, &number))
		return refuse_number(setting, path, value, err, err_size);
	set_number(config, setting, number);
	return 0;
}

/* --- lists ---------------------------------------------------------------------------------------------- */

/* The list with room for one more entry; NULL with errno ENOSPC at max, or ENOMEM. */
static void *grow(void *entries, size_t count, size_t max, size_t entry_size)
{
	if (count < max)
		return reallocarray(entries, count + 1, entry_size);
	errno = ENOSPC;
	return NULL;
}

static int list_failed(const char *what, size_t max, char *err, size_t err_size)
{
	if (errno != ENOSPC)
		return out_of_memory(err, err_size);
	snprintf(err, err_size, "%s has more than %zu entries", what, max);
	return -EINVAL;
}

bool config_has_label(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->label_count; i++)
		if (!strcmp(config->labels[i].name, name))
			return true;
	return false;
}

int config_add_label(struct config *config, const char *name, const char *value, char *err, size_t err_size)
{
	struct config_label *labels, *label;

	if (!config_label_name_passes(name))
		return refuse_text(
		        "labels.name", name,
		        "[a-zA-Z_][a-zA-Z0-9_]*, not beginning with __ and none that stallprof sets", err,
		        err_size);
	if (!config_line_passes(value))
		return refuse_text("labels.value", value, CONFIG_LINE_ALLOWED, err, err_size);
	if (config_has_label(config, name))
		return refuse_text("labels.name", name, "each name once", err, err_size);
	labels = grow(config->labels, config->label_count, CONFIG_LABELS_MAX, sizeof(*labels));
	if (!labels)
		return list_failed("labels", CONFIG_LABELS_MAX, err, err_size);
	config->labels = labels;
	label = &labels[config->label_count++];
	*label = (struct config_label){ .name = strdup(name), .value = strdup(value) };
	return label->name && label->value ? 0 : out_of_memory(err, err_size);
}

int config_add_tag_rule(struct config *config, const char *match, const char *class, char *err,
                        size_t err_size)
{
	struct config_tags *tags = &config->tags;
	struct config_tag_rule *rules, *rule;

	if (!config_line_passes(match))
		return refuse_text("tags.rules.match", match, "a path prefix or a glob", err, err_size);
	rules = grow(tags->rules, tags->rule_count, CONFIG_RULES_MAX, sizeof(*rules));
	if (!rules)
		return list_failed("tags.rules", CONFIG_RULES_MAX, err, err_size);
	tags->rules = rules;
	rule = &rules[tags->rule_count++];
	*rule = (struct config_tag_rule){ .match = strdup(match), .class = strdup(class ? class : "") };
	return rule->match && rule->class ? 0 : out_of_memory(err, err_size);
}

/* It begins the tag's name, and ends before "_write/". */
static bool files_name_passes(const char *name)
{
	return config_line_passes(name) && strlen(name) <= 48 && !strchr(name, '/');
}

const char *config_files_xattr(const struct config_tag_files *files)
{
	size_t n = strlen(CONFIG_XATTR);

	return !strncmp(files->folder, CONFIG_XATTR, n) ? files->folder + n : NULL;
}

/* NULL when files can be tagged by what is given for their folder, else what is wanted in its place. */
static const char *files_wanted(const struct config_tags *tags, const char *folder)
{
	const char *xattr = config_files_xattr(&(struct config_tag_files){ .folder = (char *)folder });

	if (!config_line_passes(folder) || (!xattr && *folder != '/'))
		return "an absolute path, or " CONFIG_XATTR "NAME";
	if (xattr && (!strchr(xattr, '.') || strlen(xattr) > CONFIG_XATTR_MAX))
		return CONFIG_XATTR "NAME with a name such as user.ai.checkpoint, of up to 63 bytes";
	for (size_t i = 0; i < tags->files_count; i++) {
		if (!strcmp(tags->files[i].folder, folder))
			return "each folder once";
		if (xattr && config_files_xattr(&tags->files[i]))
			return "one xattr";
	}
	return NULL;
}

int config_add_tag_files(struct config *config, const char *folder, const char *name, char *err,
                         size_t err_size)
{
	struct config_tags *tags = &config->tags;
	const char *wanted = files_wanted(tags, folder);
	struct config_tag_files *all, *files;

	if (wanted)
		return refuse_text("tags.files.folder", folder, wanted, err, err_size);
	if (*name && !files_name_passes(name))
		return refuse_text("tags.files.name", name,
		                   "1 to 48 bytes without '/' and control characters", err, err_size);
	all = grow(tags->files, tags->files_count, CONFIG_TAG_FILES_MAX, sizeof(*all));
	if (!all)
		return list_failed("tags.files", CONFIG_TAG_FILES_MAX, err, err_size);
	tags->files = all;
	files = &all[tags->files_count++];
	*files = (struct config_tag_files){ .folder = strdup(folder),
		                            .name = strdup(*name ? name : CONFIG_TAG_FILES_NAME) };
	return files->folder && files->name ? 0 : out_of_memory(err, err_size);
}

int config_add_pid(struct config *config, const char *pid, char *err, size_t err_size)
{
	struct config_filters *filters = &config->filters;
	uint64_t number;
	uint32_t *pids;

	if (!config_number(pid, &number) || !number || number > PID_MAX)
		return refuse_text("filters.pids", pid, "a process id, 1 to 4194304", err, err_size);
	pids = grow(filters->pids, filters->pid_count, CONFIG_FILTERS_MAX, sizeof(*pids));
	if (!pids)
		return list_failed("filters.pids", CONFIG_FILTERS_MAX, err, err_size);
	filters->pids = pids;
	pids[filters->pid_count++] = (uint32_t)number;
	return 0;
}

int config_add_cause_off(struct config *config, const char *cause, char *err, size_t err_size)
{
	struct config_sampling *sampling = &config->sampling;
	char **causes;

	if (!*cause || !config_line_passes(cause))
		return refuse_text("sampling.causes_off", cause, "a cause, see stallprof doctor", err,
		                   err_size);
	causes =
	        grow(sampling->causes_off, sampling->cause_off_count, CONFIG_CAUSES_OFF_MAX, sizeof(*causes));
	if (!causes)
		return list_failed("sampling.causes_off", CONFIG_CAUSES_OFF_MAX, err, err_size);
	sampling->causes_off = causes;
	causes[sampling->cause_off_count] = strdup(cause);
	return causes[sampling->cause_off_count++] ? 0 : out_of_memory(err, err_size);
}

int config_add_cgroup(struct config *config, const char *cgroup, char *err, size_t err_size)
{
	struct config_filters *filters = &config->filters;
	char **cgroups;

	if (*cgroup != '/' || !config_line_passes(cgroup))
		return refuse_text("filters.cgroups", cgroup, "an absolute path", err, err_size);
	cgroups = grow(filters->cgroups, filters->cgroup_count, CONFIG_FILTERS_MAX, sizeof(*cgroups));
	if (!cgroups)
		return list_failed("filters.cgroups", CONFIG_FILTERS_MAX, err, err_size);
	filters->cgroups = cgroups;
	cgroups[filters->cgroup_count] = strdup(cgroup);
	return cgroups[filters->cgroup_count++] ? 0 : out_of_memory(err, err_size);
}

/* --- all of them together ---------------------------------------------------------------------------------
 */

int config_check(const struct config *config, char *err, size_t err_size)
{
	const struct config_push *push = &config->push;
	const char *wrong = NULL;

	if (*push->basic_user && !*push->basic_password_file)
		wrong = "push.basic_user needs push.basic_password_file";
	else if (*push->basic_password_file && !*push->basic_user)
		wrong = "push.basic_password_file needs push.basic_user";
	else if (*push->basic_user && *push->bearer_token_file)
		wrong = "push.basic_user and push.bearer_token_file exclude each other";
	else if (*config->scrape.bearer_token_file && !*config->scrape.listen)
		wrong = "scrape.bearer_token_file needs scrape.listen: where to answer";
	else if (config_says_true(config->tags.checkpoint_sha256) && !config->tags.files_count)
		wrong = "tags.checkpoint_sha256 needs tags.files: which files are checkpoints";
	if (!wrong)
		return 0;
	snprintf(err, err_size, "%s", wrong);
	return -EINVAL;
}

bool config_long_waits(const struct config *config, bool local)
{
	const char *waits = config->sampling.waits;

	if (!strcmp(waits, CONFIG_WAITS_AUTO))
		return (local && !*config->push.url) || *config->output.reports;
	return !strcmp(waits, CONFIG_WAITS_LONG);
}

uint64_t config_clock_hz(const struct config *config)
{
	const struct config_sampling *sampling = &config->sampling;

	return sampling->cpu_hz > sampling->oncpu_hz ? sampling->cpu_hz : sampling->oncpu_hz;
}
