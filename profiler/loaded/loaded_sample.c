/* Reads a sample's labels, finds its tag in the ledger, and applies the filters. */

#include "profiler/loaded/loaded_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "bpf/abi.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/tag_hash.h"
#include "profiler/loaded/loaded_profiles.h"
#include "profiler/session/window.h"

/* Cleared before it is filled, as it is compared byte by byte. */
struct tag_key {
	int64_t hash; /* of the name */
	uint64_t id;  /* 0: none */
};

struct known_tag {
	struct tag_key key;
	const struct ledger_row *row; /* one of the tag's */
	UT_hash_handle hh;
};

#define WAITS_MAX 64

struct loaded_tags {
	struct known_tag *by_key;
	const char *waits
	        [WAITS_MAX]; /* the kinds of the ledger's blocked rows, which a later version may have more of */
	size_t n_waits;
};

static const struct known_tag *find_tag(const struct loaded_tags *tags, int64_t hash, uint64_t id)
{
	struct tag_key key;
	struct known_tag *known;

	memset(&key, 0, sizeof(key));
	key.hash = hash;
	key.id = id;
	HASH_FIND(hh, tags->by_key, &key, sizeof(key), known);
	return known;
}

static int add_tag(struct loaded_tags *tags, const struct ledger_row *row)
{
	struct known_tag *known;
	int64_t hash = tag_hash(row->tag);

	if (find_tag(tags, hash, row->id))
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->key.hash = hash;
	known->key.id = row->id;
	known->row = row;
	HASH_ADD(hh, tags->by_key, key, sizeof(known->key), known);
	if (known->hh.tbl)
		return 0;
	free(known);
	return -ENOMEM;
}

int loaded_wait_kind(const char *stall)
{
	for (int kind = ABI_WAIT_OTHER; kind < ABI_WAIT_END; kind++)
		if (!strcmp(window_cause_name((unsigned int)kind), stall))
			return kind - ABI_WAIT_OTHER;
	return -1;
}

/* By its name, as Pyroscope has no ledger, and a ledger that another program has kept has no kinds. */
static bool is_wait(const struct loaded_tags *tags, const char *stall)
{
	if (loaded_wait_kind(stall) >= 0)
		return true;
	for (size_t i = 0; i < tags->n_waits; i++)
		if (!strcmp(tags->waits[i], stall))
			return true;
	return false;
}

static void add_wait(struct loaded_tags *tags, const struct ledger_row *row)
{
	if (row->state == LEDGER_BLOCKED && *row->cause && tags->n_waits < WAITS_MAX &&
	    !is_wait(tags, row->cause))
		tags->waits[tags->n_waits++] = row->cause;
}

struct loaded_tags *loaded_tags_new(const struct loaded_profiles *input)
{
	struct loaded_tags *tags = calloc(1, sizeof(*tags));
	int err = tags ? 0 : -ENOMEM;

	for (size_t i = 0; i < ledger_count(input->ledger) && !err; i++) {
		const struct ledger_row *row = ledger_at(input->ledger, i);

		err = row ? add_tag(tags, row) : -ENOMEM;
		if (!err)
			add_wait(tags, row);
	}
	if (!err)
		return tags;
	loaded_tags_free(tags);
	errno = ENOMEM;
	return NULL;
}

void loaded_tags_free(struct loaded_tags *tags)
{
	struct known_tag *known, *next;

	if (!tags)
		return;
	known = tags->by_key;
	HASH_CLEAR(hh, tags->by_key);
	while (known) {
		next = known->hh.next;
		free(known);
		known = next;
	}
	free(tags);
}

static void take_label(struct loaded_sample *sample, const struct profile_label *label)
{
	const struct {
		const char *key;
		const char **text;
	} wanted[] = { { "ai_tag", &sample->class },
		       { "span_id", &sample->id },
		       { "trace_id", &sample->trace_id },
		       { "stall", &sample->stall },
		       { "device", &sample->device },
		       { "woken_by", &sample->waker },
		       { "inherited_from", &sample->inherited_from },
		       { "inherited_stall", &sample->inherited_stall },
		       { "inherited_device", &sample->inherited_device } };

	for (size_t i = 0; label->str && i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(label->key, wanted[i].key))
			*wanted[i].text = label->str;
	if (!label->str && !strcmp(label->key, "pid"))
		sample->pid = label->num;
}

/* What the label says, or, where the name is the class, that one's. */
static int64_t hash_of(const struct loaded_sample *sample)
{
	for (size_t i = 0; i < sample->view.n_labels; i++)
		if (!strcmp(sample->view.labels[i].key, TAG_HASH_LABEL) && !sample->view.labels[i].str)
			return sample->view.labels[i].num;
	return tag_hash(sample->class);
}

/* 16 hex digits; anything else is no id of ours. */
static uint64_t id_of(const char *text)
{
	char *end;
	uint64_t id = strlen(text) == 16 ? strtoull(text, &end, 16) : 0;

	return id && !*end ? id : 0;
}

bool loaded_sample_get(const struct loaded_profiles *input, const struct loaded_tags *tags, size_t index,
                       struct loaded_sample *sample)
{
	const struct known_tag *known;

	*sample = (struct loaded_sample){ .tag = "",
		                          .class = "",
		                          .id = "",
		                          .trace_id = "",
		                          .stall = "",
		                          .device = "",
		                          .waker = "",
		                          .inherited_from = "",
		                          .inherited_stall = "",
		                          .inherited_device = "" };
	if (!profile_get_sample(input->profile, index, &sample->view))
		return false;
	for (size_t i = 0; i < sample->view.n_labels; i++)
		take_label(sample, &sample->view.labels[i]);
	known = tags ? find_tag(tags, hash_of(sample), id_of(sample->id)) : NULL;
	sample->row = known ? known->row : NULL;
	sample->tag = known ? known->row->tag : sample->class;
	sample->is_wait = tags && is_wait(tags, sample->stall);
	return true;
}

const char *loaded_inherited_text(char *text, size_t size, const char *stall, const char *device,
                                  const char *from)
{
	if (!strcmp(stall, LOADED_ACTIVE))
		snprintf(text, size, "active (it held %s when the wait ended)", from);
	else
		snprintf(text, size, "%s%s%s%s%s", stall, *device ? " on " : "", device, *stall ? " of " : "",
		         from);
	return text;
}

/* --- filters ----------------------------------------------------------------------------------------------
 */

static bool name_matches(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return !strncmp(name, wanted, length) &&
	       (!name[length] || name[length] == '/' || (length && wanted[length - 1] == '/'));
}

static bool id_matches(uint64_t id, const char *wanted)
{
	char digits[17], decimal[32], hex[32];

	snprintf(digits, sizeof(digits), "%016" PRIx64, id);
	snprintf(decimal, sizeof(decimal), "id=%" PRIu64, id);
	snprintf(hex, sizeof(hex), "id=0x%" PRIx64, id);
	return id && (!strcasecmp(digits, wanted) || !strcasecmp(hex, wanted) || !strcmp(decimal, wanted));
}

#define PLACE_BYTES 4096

/* "function file:line", as it is printed. */
static bool place_matches(const struct profile_frame *frame, const regex_t *pattern)
{
	char text[PLACE_BYTES];

	if (!frame->file || !frame->line)
		return false;
	snprintf(text, sizeof(text), "%s %s:%" PRIu32, frame->function ? frame->function : "", frame->file,
	         frame->line);
	return !regexec(pattern, text, 0, NULL, 0);
}

static bool frame_matches(const struct profile_frame *frame, const regex_t *pattern)
{
	return (frame->function && !regexec(pattern, frame->function, 0, NULL, 0)) ||
	       (frame->file && !regexec(pattern, frame->file, 0, NULL, 0)) || place_matches(frame, pattern);
}

static bool stack_matches(const struct profile *profile, const struct profile_sample_view *view,
                          const regex_t *pattern)
{
	struct profile_location_view location;

	for (size_t i = 0; i < view->n_locations; i++) {
		if (!profile_get_location(profile, view->location_ids[i], &location))
			continue;
		for (size_t f = 0; f < location.n_frames; f++)
			if (frame_matches(&location.frames[f], pattern))
				return true;
	}
	return false;
}

static bool stall_matches(const struct loaded_filter *filter, const struct loaded_sample *sample)
{
	if (!filter->stall)
		return filter->waits || !sample->is_wait;
	return !strcmp(filter->stall, sample->stall) ||
	       (sample->is_wait && !strcmp(filter->stall, LOADED_BLOCKED));
}

bool loaded_filter_sample(const struct loaded_filter *filter, const struct loaded_profiles *input,
                          const struct loaded_sample *sample)
{
	if (!stall_matches(filter, sample))
		return false;
	if (filter->tag && !name_matches(sample->tag, filter->tag) &&
	    strcmp(sample->class, filter->tag) != 0 && !id_matches(id_of(sample->id), filter->tag))
		return false;
	if (filter->focus && !stack_matches(input->profile, &sample->view, filter->focus))
		return false;
	return !filter->ignore || !stack_matches(input->profile, &sample->view, filter->ignore);
}

bool loaded_filter_row(const struct loaded_filter *filter, const struct ledger_row *row)
{
	return !filter->tag || name_matches(row->tag, filter->tag) || !strcmp(row->class, filter->tag) ||
	       id_matches(row->id, filter->tag);
}

bool loaded_filter_cause(const struct loaded_filter *filter, const struct ledger_row *row)
{
	if (!filter->stall || !strcmp(row->cause, filter->stall))
		return true;
	return row->state == LEDGER_BLOCKED && !strcmp(filter->stall, LOADED_BLOCKED);
}
