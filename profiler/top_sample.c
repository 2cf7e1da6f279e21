#include "profiler/top_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/ledger_row.h"
#include "profiler/top_input.h"

struct known_tag {
	char id[17];
	const char *name;  /* the ledger's; NULL: in no row */
	const char *class; /* the profile's; NULL: in no sample */
	bool ambiguous;    /* the ledger has several names with this id, so it names none of them */
	UT_hash_handle hh;
};

struct top_tags {
	struct known_tag *by_id;
};

static struct known_tag *find_tag(const struct top_tags *tags, const char *id)
{
	struct known_tag *known = NULL;

	HASH_FIND_STR(tags->by_id, id, known);
	return known;
}

static struct known_tag *find_or_add_tag(struct top_tags *tags, const char *id)
{
	struct known_tag *known = find_tag(tags, id);

	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	snprintf(known->id, sizeof(known->id), "%s", id);
	HASH_ADD_STR(tags->by_id, id, known);
	if (known->hh.tbl)
		return known;
	free(known);
	return NULL;
}

static void format_id(char text[17], uint64_t id)
{
	snprintf(text, 17, "%016" PRIx64, id);
}

/* Id 0 says that there is none, so it names nobody. */
static int learn_names(struct top_tags *tags, struct ledger *ledger)
{
	for (size_t i = 0; i < ledger_count(ledger); i++) {
		const struct ledger_row *row = ledger_at(ledger, i);
		struct known_tag *known;
		char id[17];

		if (!row)
			return -ENOMEM;
		if (!row->id)
			continue;
		format_id(id, row->id);
		known = find_or_add_tag(tags, id);
		if (!known)
			return -ENOMEM;
		known->ambiguous |= known->name && strcmp(known->name, row->tag);
		known->name = row->tag;
	}
	return 0;
}

static int learn_classes(struct top_tags *tags, const struct top_input *input)
{
	struct top_sample sample;

	for (size_t i = 0; top_sample_get(input, NULL, i, &sample); i++) {
		struct known_tag *known;

		if (strlen(sample.id) != 16)
			continue;
		known = find_or_add_tag(tags, sample.id);
		if (!known)
			return -ENOMEM;
		known->class = sample.class;
	}
	return 0;
}

struct top_tags *top_tags_new(const struct top_input *input)
{
	struct top_tags *tags = calloc(1, sizeof(*tags));

	if (tags && !learn_names(tags, input->ledger) && !learn_classes(tags, input))
		return tags;
	top_tags_free(tags);
	errno = ENOMEM;
	return NULL;
}

void top_tags_free(struct top_tags *tags)
{
	struct known_tag *known, *next;

	if (!tags)
		return;
	known = tags->by_id;
	HASH_CLEAR(hh, tags->by_id);
	while (known) {
		next = known->hh.next;
		free(known);
		known = next;
	}
	free(tags);
}

static void take_label(struct top_sample *sample, const struct profile_label *label)
{
	const struct {
		const char *key;
		const char **text;
	} wanted[] = { { "ai_tag", &sample->class },
		       { "span_id", &sample->id },
		       { "trace_id", &sample->trace_id },
		       { "stall", &sample->stall },
		       { "device", &sample->device } };

	for (size_t i = 0; label->str && i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(label->key, wanted[i].key))
			*wanted[i].text = label->str;
}

bool top_sample_get(const struct top_input *input, const struct top_tags *tags, size_t index,
                    struct top_sample *sample)
{
	const struct known_tag *known;

	*sample = (struct top_sample){
		.tag = "", .class = "", .id = "", .trace_id = "", .stall = "", .device = ""
	};
	if (!profile_get_sample(input->profile, index, &sample->view))
		return false;
	for (size_t i = 0; i < sample->view.n_labels; i++)
		take_label(sample, &sample->view.labels[i]);
	known = tags && *sample->id ? find_tag(tags, sample->id) : NULL;
	sample->tag = known && known->name && !known->ambiguous ? known->name : sample->class;
	return true;
}

/* --- filters ----------------------------------------------------------------------------------------------
 */

static bool name_matches(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return !strncmp(name, wanted, length) &&
	       (!name[length] || name[length] == '/' || (length && wanted[length - 1] == '/'));
}

bool top_filter_sample(const struct top_filter *filter, const struct top_sample *sample)
{
	if (filter->stall && strcmp(filter->stall, sample->stall))
		return false;
	return !filter->tag || name_matches(sample->tag, filter->tag) ||
	       !strcmp(sample->class, filter->tag) || !strcasecmp(sample->id, filter->tag);
}

bool top_filter_row(const struct top_filter *filter, const struct top_tags *tags,
                    const struct ledger_row *row)
{
	const struct known_tag *known;
	char id[17];

	if (!filter->tag || name_matches(row->tag, filter->tag))
		return true;
	format_id(id, row->id);
	known = find_tag(tags, id);
	return !strcasecmp(id, filter->tag) || (known && known->class && !strcmp(known->class, filter->tag));
}
