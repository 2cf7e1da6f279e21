/* Maps a tag's name to its class by the configured rules, up to a number of classes. */

#include "profiler/tags/tag_class.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/utf8.h"

#define REFUSED_SLOTS (2 * TAG_CLASS_REFUSED_MAX)

struct rule {
	char *pattern;
	char *class; /* NULL: the name's first path component */
};

struct tag_classes {
	struct rule *rules;
	size_t rule_count;
	char **names;
	size_t count;
	size_t max;
	size_t n_refused;
	uint64_t refused[REFUSED_SLOTS]; /* hashes of classes; 0: free */
};

struct tag_classes *tag_classes_new(size_t max_classes)
{
	struct tag_classes *classes;

	if (!max_classes) {
		errno = EINVAL;
		return NULL;
	}
	classes = calloc(1, sizeof(*classes));
	if (!classes)
		return NULL;
	classes->max = max_classes;
	classes->names = calloc(max_classes, sizeof(*classes->names));
	if (classes->names)
		return classes;
	free(classes);
	return NULL;
}

void tag_classes_free(struct tag_classes *classes)
{
	if (!classes)
		return;
	for (size_t i = 0; i < classes->rule_count; i++) {
		free(classes->rules[i].pattern);
		free(classes->rules[i].class);
	}
	for (size_t i = 0; i < classes->count; i++)
		free(classes->names[i]);
	free(classes->rules);
	free(classes->names);
	free(classes);
}

int tag_classes_add_rule(struct tag_classes *classes, const char *pattern, const char *class)
{
	struct rule *rules, *rule;

	if (!pattern || !*pattern)
		return -EINVAL;
	if (classes->rule_count == TAG_CLASS_RULES_MAX)
		return -ENOSPC;
	rules = reallocarray(classes->rules, classes->rule_count + 1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	classes->rules = rules;
	rule = &rules[classes->rule_count];
	rule->pattern = strdup(pattern);
	rule->class = class && *class ? strdup(class) : NULL;
	if (!rule->pattern || (class && *class && !rule->class)) {
		free(rule->pattern);
		free(rule->class);
		return -ENOMEM;
	}
	classes->rule_count++;
	return 0;
}

static bool rule_matches(const struct rule *rule, const char *name)
{
	size_t length = strlen(rule->pattern);

	if (strpbrk(rule->pattern, "*?["))
		return fnmatch(rule->pattern, name, 0) == 0;
	if (strncmp(rule->pattern, name, length))
		return false;
	return !name[length] || name[length] == '/' || rule->pattern[length - 1] == '/';
}

static const char *class_by_rule(const struct tag_classes *classes, const char *name)
{
	for (size_t i = 0; i < classes->rule_count; i++)
		if (rule_matches(&classes->rules[i], name))
			return classes->rules[i].class;
	return NULL;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

/* The table is never more than half full. */
static void count_refused(struct tag_classes *classes, const char *class)
{
	uint64_t hash = hash_text(class);
	size_t slot = hash % REFUSED_SLOTS;

	while (classes->refused[slot] && classes->refused[slot] != hash)
		slot = (slot + 1) % REFUSED_SLOTS;
	if (classes->refused[slot] || classes->n_refused == TAG_CLASS_REFUSED_MAX)
		return;
	classes->refused[slot] = hash;
	classes->n_refused++;
}

static const char *remember(struct tag_classes *classes, const char *class)
{
	if (!strcmp(class, TAG_CLASS_OTHER))
		return TAG_CLASS_OTHER;
	for (size_t i = 0; i < classes->count; i++)
		if (!strcmp(classes->names[i], class))
			return classes->names[i];
	if (classes->count < classes->max) {
		char *copy = strdup(class);

		if (copy)
			return classes->names[classes->count++] = copy;
	}
	count_refused(classes, class);
	return TAG_CLASS_OTHER;
}

const char *tag_classes_of(struct tag_classes *classes, const char *name)
{
	const char *class = class_by_rule(classes, name);
	char clean[TAG_CLASS_BYTES_MAX + 1];

	if (class) {
		utf8_clean(clean, sizeof(clean), class, strlen(class));
	} else {
		name += strspn(name, "/");
		utf8_clean(clean, sizeof(clean), name, strcspn(name, "/"));
	}
	return remember(classes, *clean ? clean : TAG_CLASS_UNNAMED);
}

uint64_t tag_classes_take_refused(struct tag_classes *classes)
{
	uint64_t n = classes->n_refused;

	if (n)
		memset(classes->refused, 0, sizeof(classes->refused));
	classes->n_refused = 0;
	return n;
}
