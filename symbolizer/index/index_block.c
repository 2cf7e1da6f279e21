/* Index blocks: checks them, finds the frames of an address in them, and builds them. */

#include "symbolizer/index/index_block.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t index_checksum(const void *bytes, size_t len)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t hash = len * odd, word;
	const uint8_t *at = bytes;

	/* Each step can be undone, so two inputs that differ in one word only never meet. */
	for (; len >= 8; at += 8, len -= 8) {
		memcpy(&word, at, 8);
		hash = (hash ^ word) * odd;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, at, len);
	hash = (hash ^ word) * odd;
	return hash ^ hash >> 32;
}

/* --- reading ---------------------------------------------------------------------------------------- */

static const struct index_segment *segments_of(const struct index_block *b)
{
	return (const struct index_segment *)(b + 1);
}

static const struct index_scope *scopes_of(const struct index_block *b)
{
	return (const struct index_scope *)(segments_of(b) + b->n_segments);
}

static const char *texts_of(const struct index_block *b)
{
	return (const char *)(scopes_of(b) + b->n_scopes);
}

static const char *text_at(const struct index_block *b, uint32_t offset)
{
	return offset ? texts_of(b) + offset : NULL;
}

size_t index_block_size(const struct index_block *b)
{
	return sizeof(*b) + b->n_segments * sizeof(struct index_segment) +
	       b->n_scopes * sizeof(struct index_scope) + b->text_len;
}

static bool segments_are_valid(const struct index_block *b)
{
	const struct index_segment *s = segments_of(b);
	uint32_t i;

	for (i = 0; i < b->n_segments; i++)
		if ((i ? s[i].start <= s[i - 1].start : s[i].start != 0) || s[i].scope >= b->n_scopes ||
		    s[i].file >= b->text_len || s[i].start >= b->high - b->low)
			return false;
	return b->n_segments || b->source == INDEX_NONE;
}

static bool scopes_are_valid(const struct index_block *b)
{
	const struct index_scope *s = scopes_of(b);
	uint32_t i;

	for (i = 0; i < b->n_scopes; i++)
		if ((s[i].outer >= i && s[i].outer != INDEX_NO_SCOPE) || s[i].name >= b->text_len ||
		    s[i].call_file >= b->text_len)
			return false;
	return true;
}

bool index_block_is_valid(const void *bytes, size_t len)
{
	const struct index_block *b = bytes;

	if (len < sizeof(*b) || len > INDEX_MAX_BLOCK || b->low >= b->high || b->source > INDEX_DWARF)
		return false;
	if (b->n_segments > len || b->n_scopes > len || b->text_len > len || index_block_size(b) != len)
		return false;
	if (!b->text_len || texts_of(b)[0] || texts_of(b)[b->text_len - 1])
		return false;
	return segments_are_valid(b) && scopes_are_valid(b);
}

size_t index_block_find(const struct index_block *b, uint64_t address, struct index_frame *frames, size_t max)
{
	uint32_t low, scope, file, line;
	const struct index_segment *s = segments_of(b);
	const struct index_scope *scopes = scopes_of(b);
	size_t n = 0;

	low = search_past(i, 0, b->n_segments, s[i].start <= address - b->low);
	if (!low)
		return 0;
	file = s[low - 1].file;
	line = s[low - 1].line;
	for (scope = s[low - 1].scope; scope != INDEX_NO_SCOPE && n < max; scope = scopes[scope].outer) {
		frames[n++] = (struct index_frame){ .name = text_at(b, scopes[scope].name),
			                            .file = text_at(b, file),
			                            .line = line,
			                            .inlined = scopes[scope].outer != INDEX_NO_SCOPE };
		file = scopes[scope].call_file;
		line = scopes[scope].call_line;
	}
	return n;
}

/* --- making ----------------------------------------------------------------------------------------- */

void index_builder_start(struct index_builder *w, uint64_t low, enum index_source source)
{
	*w = (struct index_builder){ .block = { .low = low, .source = source, .text_len = 1 } };
}

static void release_builder(struct index_builder *w)
{
	free(w->segments);
	free(w->scopes);
	free(w->texts);
	free(w->text_buckets);
	*w = (struct index_builder){ 0 };
}

/* Room for `n` things of `size` bytes. False: there is none, and w->err says why. */
static bool make_room(struct index_builder *w, void **array, size_t n, size_t *max, size_t size)
{
	int err = growing_array_reserve(array, n, max, size, INDEX_MAX_BLOCK / size);

	if (err)
		w->err = err;
	return !err;
}

/* Where the text is, or is to be noted. */
static uint32_t *bucket_of(struct index_builder *w, const char *text, size_t len)
{
	size_t i = index_checksum(text, len) & (w->n_buckets - 1);

	while (w->text_buckets[i] && strcmp(w->texts + w->text_buckets[i], text) != 0)
		i = (i + 1) & (w->n_buckets - 1);
	return &w->text_buckets[i];
}

static bool make_buckets(struct index_builder *w)
{
	uint32_t *old = w->text_buckets;
	size_t n_old = w->n_buckets, i;

	if (w->n_texts * 2 < w->n_buckets)
		return true;
	w->n_buckets = n_old ? n_old * 2 : 64;
	w->text_buckets = calloc(w->n_buckets, sizeof(*w->text_buckets));
	if (!w->text_buckets) {
		w->text_buckets = old;
		w->n_buckets = n_old;
		w->err = -ENOMEM;
		return false;
	}
	for (i = 0; i < n_old; i++)
		if (old[i])
			*bucket_of(w, w->texts + old[i], strlen(w->texts + old[i])) = old[i];
	free(old);
	return true;
}

/* The offset of a text, each of which is kept once. */
static uint32_t keep_text(struct index_builder *w, const char *text)
{
	size_t len = text ? strlen(text) : 0, at = w->block.text_len;
	uint32_t *bucket;

	if (!len || w->err || !make_buckets(w))
		return 0;
	if (w->n_texts) {
		bucket = bucket_of(w, text, len);
		if (*bucket)
			return *bucket;
	}
	if (len > INDEX_MAX_BLOCK || !make_room(w, (void **)&w->texts, at + len + 1, &w->max_text, 1)) {
		w->err = w->err ? w->err : -EFBIG;
		return 0;
	}
	w->texts[0] = 0;
	memcpy(w->texts + at, text, len + 1);
	w->block.text_len += (uint32_t)len + 1;
	w->n_texts++;
	*bucket_of(w, text, len) = (uint32_t)at;
	return (uint32_t)at;
}

uint32_t index_builder_scope(struct index_builder *w, uint32_t outer, const char *name, const char *call_file,
                             uint32_t call_line)
{
	uint32_t n = w->block.n_scopes;
	struct index_scope scope = { .name = keep_text(w, name),
		                     .outer = outer,
		                     .call_file = keep_text(w, call_file),
		                     .call_line = call_line };

	if (w->err || !make_room(w, (void **)&w->scopes, n + 1, &w->max_scopes, sizeof(scope)))
		return INDEX_NO_SCOPE;
	w->scopes[n] = scope;
	return w->block.n_scopes++;
}

void index_builder_segment(struct index_builder *w, uint64_t start, uint32_t scope, const char *file,
                           uint32_t line)
{
	uint32_t n = w->block.n_segments;
	struct index_segment s = { .scope = scope, .file = keep_text(w, file), .line = line }, *last;

	if (start - w->block.low > UINT32_MAX)
		w->err = w->err ? w->err : -EFBIG;
	if (w->err || !make_room(w, (void **)&w->segments, n + 1, &w->max_segments, sizeof(s)))
		return;
	s.start = (uint32_t)(start - w->block.low);
	last = n ? &w->segments[n - 1] : NULL;
	if (last && last->scope == s.scope && last->file == s.file && last->line == s.line)
		return;
	w->segments[n] = s;
	w->block.n_segments++;
}

static void *append(void *at, const void *bytes, size_t len)
{
	if (len)
		memcpy(at, bytes, len);
	return (char *)at + len;
}

int index_builder_finish(struct index_builder *w, uint64_t high, struct index_block **out)
{
	size_t text_len = w->block.text_len, size;
	void *at;
	int err = w->err;

	w->block.high = high;
	/* Blocks lie one after the other in the file, and are read as they lie. */
	w->block.text_len += -text_len & 7;
	size = index_block_size(&w->block);
	if (!err && size > INDEX_MAX_BLOCK)
		err = -EFBIG;
	*out = err ? NULL : calloc(1, size);
	if (!err && !*out)
		err = -ENOMEM;
	if (!err) {
		at = append(*out, &w->block, sizeof(w->block));
		at = append(at, w->segments, w->block.n_segments * sizeof(*w->segments));
		at = append(at, w->scopes, w->block.n_scopes * sizeof(*w->scopes));
		if (w->texts)
			append(at, w->texts, text_len);
	}
	release_builder(w);
	return err;
}
