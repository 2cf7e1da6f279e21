/* Sums samples by cause, device, class and line of own code. */

#include "profiler/top/top_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/format/frame_names.h"
#include "profiler/format/joined_texts.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/saturating.h"
#include "profiler/loaded/loaded_classes.h"
#include "profiler/loaded/loaded_frames.h"
#include "profiler/loaded/loaded_profiles.h"
#include "symbolizer/base/growing_array.h"

#define BLOCKED "blocked"

/* A line of code while it is summed; its texts are in `key`, one behind the other. */
struct line {
	char *key;
	size_t key_len;
	struct top_code code;
	const char *stall, *device; /* of the section */
	bool blocked;
	struct top_waker *wakers;
	size_t room_for_wakers;
	struct top_inherited *inherited;
	size_t n_inherited, room_for_inherited;
	UT_hash_handle hh;
};

struct code_memory {
	struct line *by_key;
	struct top_code *codes;
	struct loaded_stack stack;
};

/* The section's cause and device, the class, the line, the kind of wait, and FRAME_GIL for that lock, each with its NUL. */
#define PARTS 6

static const char *part_of(const char *key, size_t index)
{
	for (; index; index--)
		key += strlen(key) + 1;
	return key;
}

/* Takes over `key`, also when it fails. */
static struct line *line_new(struct code_memory *memory, char *key, size_t key_len)
{
	struct line *line = calloc(1, sizeof(*line));

	if (!line) {
		free(key);
		return NULL;
	}
	line->key = key;
	line->key_len = key_len;
	line->stall = part_of(key, 0);
	line->device = part_of(key, 1);
	line->code.class = part_of(key, 2);
	line->code.line = part_of(key, 3);
	line->code.stall = part_of(key, 4);
	line->code.gil = *part_of(key, 5);
	HASH_ADD_KEYPTR(hh, memory->by_key, line->key, line->key_len, line);
	if (line->hh.tbl)
		return line;
	free(key);
	free(line);
	return NULL;
}

static struct line *find_or_add(struct code_memory *memory, const char *const parts[PARTS])
{
	struct line *line;
	size_t length;
	char *key = joined_texts(parts, PARTS, &length);

	if (!key)
		return NULL;
	HASH_FIND(hh, memory->by_key, key, length, line);
	if (!line)
		return line_new(memory, key, length);
	free(key);
	return line;
}

/* With a filter for a tag, that tag: its next level may be thousands of steps with the same code. */
static void class_text(char *text, size_t size, const struct loaded_sample *sample,
                       const struct loaded_filter *filter)
{
	if (filter->tag)
		snprintf(text, size, "%s", filter->tag);
	else if (sample->row)
		loaded_level_name(sample->row, filter, text, size);
	else
		snprintf(text, size, "%s", *sample->class ? sample->class : "[no tag]");
}

/* The line's sum of what the sample inherits; NULL without memory. */
static struct top_inherited *inherited_of(struct line *line, const struct loaded_sample *sample)
{
	struct top_inherited *at = line->inherited;
	size_t room = line->room_for_inherited;

	for (size_t i = 0; i < line->n_inherited; i++, at++)
		if (!strcmp(at->from, sample->inherited_from) && !strcmp(at->waker, sample->waker) &&
		    !strcmp(at->stall, sample->inherited_stall) &&
		    !strcmp(at->device, sample->inherited_device))
			return at;
	if (line->n_inherited == room) {
		room = room ? 2 * room : 4;
		at = realloc(line->inherited, room * sizeof(*at));
		if (!at)
			return NULL;
		line->inherited = at;
		line->room_for_inherited = room;
	}
	at = &line->inherited[line->n_inherited++];
	*at = (struct top_inherited){ .waker = sample->waker,
		                      .from = sample->inherited_from,
		                      .stall = sample->inherited_stall,
		                      .device = sample->inherited_device };
	return at;
}

static int add_inherited(struct line *line, const struct loaded_sample *sample, int64_t ns)
{
	struct top_inherited *at;

	if (!*sample->inherited_stall)
		return 0;
	at = inherited_of(line, sample);
	if (!at)
		return -ENOMEM;
	at->ns = saturating_add(at->ns, ns);
	return 0;
}

/* The sum of what one has ended of the line's waits; NULL without memory. */
static struct top_waker *waker_of(struct line *line, const char *name)
{
	size_t n = line->code.n_wakers;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(line->wakers[i].name, name))
			return &line->wakers[i];
	if (growing_array_reserve((void **)&line->wakers, n + 1, &line->room_for_wakers,
	                          sizeof(*line->wakers), SIZE_MAX))
		return NULL;
	line->wakers[n] = (struct top_waker){ .name = name };
	line->code.n_wakers++;
	return &line->wakers[n];
}

static int add_waker(struct line *line, const struct loaded_sample *sample, int64_t ns)
{
	struct top_waker *at = waker_of(line, sample->waker);

	if (!at)
		return -ENOMEM;
	at->ns = saturating_add(at->ns, ns);
	return 0;
}

static int add_sample(struct code_memory *memory, const struct loaded_profiles *input,
                      const struct loaded_filter *filter, const struct loaded_sample *sample, size_t index,
                      int64_t ns, int64_t waits)
{
	char class[512], text[LOADED_FRAME_TEXT_MAX];
	const char *parts[PARTS] = { sample->is_wait ? BLOCKED : sample->stall,
		                     sample->is_wait ? "" : sample->device,
		                     class,
		                     text,
		                     sample->stall,
		                     "" };
	struct line *line;

	loaded_stack_get(&memory->stack, input->profile, &sample->view);
	if (sample->is_wait && loaded_stack_gil(&memory->stack))
		parts[5] = FRAME_GIL;
	class_text(class, sizeof(class), sample, filter);
	snprintf(text, sizeof(text), "[no stack]");
	if (memory->stack.n)
		loaded_frame_text(text, sizeof(text), input->profile,
		                  &memory->stack.frames[loaded_stack_own(&memory->stack)]);
	line = find_or_add(memory, parts);
	if (!line)
		return -ENOMEM;
	line->blocked = sample->is_wait;
	line->code.base = sample->row && sample->row->base;
	line->code.ns = saturating_add(line->code.ns, ns);
	line->code.waits = saturating_add(line->code.waits, waits);
	if (ns > line->code.sample_ns || !line->code.n_wakers) {
		line->code.sample_ns = ns;
		line->code.sample = index;
	}
	return add_waker(line, sample, ns) ? -ENOMEM : add_inherited(line, sample, ns);
}

/* --- sections --------------------------------------------------------------------------------------------- */

static int compare_in_sections(const struct line *a, const struct line *b)
{
	int order = a->blocked - b->blocked;

	order = order ? order : strcmp(a->stall, b->stall);
	return order ? order : strcmp(a->device, b->device);
}

/* By what takes back from what: of one section, class and stall. */
static int compare_kinds(const void *left, const void *right)
{
	const struct line *a = *(const struct line *const *)left, *b = *(const struct line *const *)right;
	int order = compare_in_sections(a, b);

	order = order ? order : strcmp(a->code.class, b->code.class);
	return order ? order : strcmp(a->code.stall, b->code.stall);
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = *(const struct line *const *)left, *b = *(const struct line *const *)right;
	int order = compare_in_sections(a, b);

	/* What is left of processes that push tags: threads that idle. */
	order = order || !a->blocked ? order : a->code.base - b->code.base;
	if (!order && a->code.ns != b->code.ns)
		return a->code.ns < b->code.ns ? 1 : -1;
	/* The key as a last resort, so that the order is the same each time. */
	return order ? order : memcmp(a->key, b->key, a->key_len < b->key_len ? a->key_len : b->key_len);
}

static int compare_sections(const void *left, const void *right)
{
	const struct top_section *a = left, *b = right;
	int order = a->blocked - b->blocked;

	if (!order && a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	order = order ? order : strcmp(a->stall, b->stall);
	return order ? order : strcmp(a->device, b->device);
}

static int longest_first(const void *left, const void *right)
{
	const struct top_inherited *a = left, *b = right;

	return (a->ns < b->ns) - (a->ns > b->ns);
}

static int most_first(const void *left, const void *right)
{
	const struct top_waker *a = left, *b = right;

	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : strcmp(a->name, b->name);
}

static void sort_parts(struct line *line)
{
	qsort(line->wakers, line->code.n_wakers, sizeof(line->wakers[0]), most_first);
	line->code.wakers = line->wakers;
	if (line->n_inherited)
		qsort(line->inherited, line->n_inherited, sizeof(line->inherited[0]), longest_first);
	line->code.inherited = line->inherited;
	line->code.n_inherited = line->n_inherited;
}

static void add_line(struct top_sections *out, struct line *const *lines, size_t i)
{
	const struct line *line = lines[i];
	struct top_section *section;

	if (!i || compare_in_sections(lines[i - 1], line))
		out->sections[out->count++] = (struct top_section){ .stall = line->stall,
			                                            .device = line->device,
			                                            .blocked = line->blocked,
			                                            .code = out->memory->codes + i };
	section = &out->sections[out->count - 1];
	if (line->code.ns > 0)
		section->code[section->count++] = line->code;
	section->ns = saturating_add(section->ns, line->code.ns);
	section->waits = saturating_add(section->waits, line->code.waits);
}

static void take_back(struct line *of, struct line *from)
{
	/* The least number has no opposite. */
	int64_t wanted = of->code.ns == INT64_MIN ? INT64_MAX : -of->code.ns;
	int64_t ns = from->code.ns < wanted ? from->code.ns : wanted;

	of->code.ns += ns;
	from->code.ns -= ns;
}

static void settle_kind(struct line *const *lines, size_t n)
{
	for (size_t i = 0, from = 0; i < n; i++)
		while (lines[i]->code.ns < 0 && from < n) {
			if (lines[from]->code.ns > 0)
				take_back(lines[i], lines[from]);
			from += lines[from]->code.ns <= 0;
		}
}

/* What an earlier window counted as a wait of another kind is taken back with the wait's present stack: from the
 * other lines of its class. */
static void settle_negative(struct line **lines, size_t n)
{
	size_t from = 0;

	qsort(lines, n, sizeof(struct line *), compare_kinds);
	for (size_t i = 1; i <= n; i++)
		if (i == n || compare_kinds(&lines[from], &lines[i])) {
			settle_kind(lines + from, i - from);
			from = i;
		}
}

/* Drops sections of which as much was taken back as was counted. */
static void drop_empty_sections(struct top_sections *out)
{
	size_t n = 0;

	for (size_t i = 0; i < out->count; i++)
		if (out->sections[i].ns > 0)
			out->sections[n++] = out->sections[i];
	out->count = n;
}

static int make_sections(struct top_sections *out)
{
	size_t n = HASH_COUNT(out->memory->by_key), i = 0;
	struct line **lines = calloc(n + 1, sizeof(struct line *));

	out->memory->codes = calloc(n + 1, sizeof(*out->memory->codes));
	out->sections = calloc(n + 1, sizeof(*out->sections));
	if (!lines || !out->memory->codes || !out->sections) {
		free(lines);
		return -ENOMEM;
	}
	for (struct line *line = out->memory->by_key; line; line = line->hh.next) {
		sort_parts(line);
		lines[i++] = line;
	}
	settle_negative(lines, n);
	qsort(lines, n, sizeof(struct line *), compare_lines);
	for (i = 0; i < n; i++)
		add_line(out, lines, i);
	free(lines);
	drop_empty_sections(out);
	qsort(out->sections, out->count, sizeof(*out->sections), compare_sections);
	return 0;
}

int top_sections_build(struct top_sections *out, const struct loaded_profiles *input,
                       const struct loaded_tags *tags, const struct loaded_filter *filter, size_t type,
                       int waits_type)
{
	struct loaded_sample sample;
	int err = 0;

	*out = (struct top_sections){ .memory = calloc(1, sizeof(struct code_memory)) };
	if (!out->memory)
		return -ENOMEM;
	for (size_t i = 0; !err && loaded_sample_get(input, tags, i, &sample); i++) {
		int64_t ns = sample.view.values[type];

		if (ns && loaded_filter_sample(filter, input, &sample))
			err = add_sample(out->memory, input, filter, &sample, i, ns,
			                 waits_type < 0 ? 0 : sample.view.values[waits_type]);
	}
	if (!err)
		err = make_sections(out);
	if (err)
		top_sections_free(out);
	return err;
}

void top_sections_free(struct top_sections *sections)
{
	struct code_memory *memory = sections->memory;
	struct line *line = memory ? memory->by_key : NULL, *next;

	if (memory)
		HASH_CLEAR(hh, memory->by_key);
	for (; line; line = next) {
		next = line->hh.next;
		free(line->wakers);
		free(line->inherited);
		free(line->key);
		free(line);
	}
	if (memory)
		free(memory->codes);
	free(memory);
	free(sections->sections);
	*sections = (struct top_sections){ .count = 0 };
}
