/* The functions and source lines of a jit-PID.dump, sorted by address. */

#include "symbolizer/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/address_map.h"
#include "symbolizer/jit/jitdump_file.h"
#include "symbolizer/base/search.h"
#include "symbolizer/base/growing_array.h"

#define MAX_RECORDS    (1u << 18) /* in one go */
#define MAX_FUNCTIONS  (1u << 20)
#define MAX_NAME_BYTES ((size_t)64 << 20)
#define MAX_LINE_BYTES ((size_t)1 << 20) /* of source lines of one function */
#define MAX_OVERLAPS   64                /* how far back a lookup goes for a function that begins earlier */
#define SAME_NAME      "\xff"            /* in place of a file name: that of the entry before */

/* V8 counts its addresses of lines from an ELF header that perf inject once put before the code. */
#define V8_PREFIX "JS:"
#define V8_OFFSET 0x40

struct function {
	uint64_t start, size;
	uint64_t lines_at; /* in the file */
	uint32_t lines_len, n_lines;
	uint32_t name; /* offset into names */
};

struct jitdump {
	struct jitdump_file file;
	struct function *functions; /* as they came */
	size_t n_functions, max_functions;
	char *names;
	size_t names_len, max_names;
	struct address_map latest;           /* start -> function */
	uint32_t *by_start;                  /* of each start the latest */
	size_t n_by_start, n_sorted;         /* n_sorted: how many of `functions` it has been made of */
	struct jitdump_record record, lines; /* lines: that stand before the function that they are of */
	bool has_lines, is_over;
	char path[JITDUMP_NAME_MAX]; /* of the last answer */
};

int jitdump_new(int fd, struct jitdump **out)
{
	struct jitdump *j = calloc(1, sizeof(*j));
	int err;

	if (!j) {
		close(fd);
		return -ENOMEM;
	}
	j->file.fd = fd;
	err = jitdump_file_begin(&j->file);
	if (err) {
		jitdump_free(j);
		return err;
	}
	*out = j;
	return 0;
}

static void forget_all(struct jitdump *j)
{
	address_map_clear(&j->latest);
	free(j->functions);
	free(j->names);
	free(j->by_start);
	j->functions = NULL;
	j->names = NULL;
	j->by_start = NULL;
	j->n_functions = j->max_functions = j->names_len = j->max_names = 0;
	j->n_by_start = j->n_sorted = 0;
}

void jitdump_free(struct jitdump *j)
{
	if (!j)
		return;
	forget_all(j);
	close(j->file.fd);
	free(j);
}

size_t jitdump_memory(const struct jitdump *j)
{
	return sizeof(*j) + j->max_functions * sizeof(*j->functions) + j->max_names +
	       address_map_memory(&j->latest) + j->n_sorted * sizeof(*j->by_start);
}

static int add_function(struct jitdump *j, const struct function *f)
{
	int err = growing_array_reserve((void **)&j->functions, j->n_functions + 1, &j->max_functions,
	                                sizeof(*f), SIZE_MAX);

	if (!err)
		err = address_map_put(&j->latest, f->start, (uint32_t)j->n_functions, MAX_FUNCTIONS);
	if (!err)
		j->functions[j->n_functions++] = *f;
	return err;
}

static int add_loaded(struct jitdump *j)
{
	const struct jitdump_record *r = &j->record;
	size_t len = strlen(r->name) + 1;
	struct function f = { .start = r->start, .size = r->size };

	if (j->names_len + len > MAX_NAME_BYTES)
		forget_all(j);
	if (growing_array_reserve((void **)&j->names, j->names_len + len, &j->max_names, 1, SIZE_MAX))
		return -ENOMEM;
	f.name = (uint32_t)j->names_len;
	memcpy(j->names + j->names_len, r->name, len);
	j->names_len += len;
	if (j->has_lines && j->lines.start == r->start &&
	    j->lines.entries_end - j->lines.entries_at <= MAX_LINE_BYTES) {
		f.lines_at = j->lines.entries_at;
		f.lines_len = (uint32_t)(j->lines.entries_end - j->lines.entries_at);
		f.n_lines = j->lines.n_entries < UINT32_MAX ? (uint32_t)j->lines.n_entries : UINT32_MAX;
	}
	j->has_lines = false;
	return add_function(j, &f);
}

/* Its lines stay behind: their addresses are those of the old place. */
static int add_moved(struct jitdump *j)
{
	struct function f;
	uint32_t i;

	if (!address_map_get(&j->latest, j->record.old_start, &i))
		return 0;
	f = (struct function){ .start = j->record.start,
		               .size = j->record.size,
		               .name = j->functions[i].name };
	return add_function(j, &f);
}

static int take_record(struct jitdump *j)
{
	if (j->n_functions == MAX_FUNCTIONS)
		forget_all(j);
	if (j->record.kind == JITDUMP_LOAD)
		return add_loaded(j);
	if (j->record.kind == JITDUMP_MOVE)
		return add_moved(j);
	if (j->record.kind == JITDUMP_DEBUG_INFO) {
		j->lines = j->record;
		j->has_lines = true;
	}
	j->is_over |= j->record.kind == JITDUMP_CLOSE;
	return 0;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct jitdump *j = context;
	uint64_t x = j->functions[*(const uint32_t *)a].start, y = j->functions[*(const uint32_t *)b].start;

	return x < y ? -1 : x > y;
}

/* Is it what its address was told of last? */
static bool is_latest(const struct jitdump *j, uint32_t i)
{
	uint32_t latest;

	return address_map_get(&j->latest, j->functions[i].start, &latest) && latest == i;
}

/* Puts the new functions among those that are sorted already, and leaves out what they replace. */
static int sort(struct jitdump *j)
{
	size_t n_fresh = 0, n = 0, at = 0, old;
	uint32_t *fresh = malloc((j->n_functions - j->n_sorted + 1) * sizeof(*fresh));
	uint32_t *merged = malloc((j->n_functions + 1) * sizeof(*merged));
	uint32_t i;

	if (!fresh || !merged) {
		free(fresh);
		free(merged);
		return -ENOMEM;
	}
	for (i = (uint32_t)j->n_sorted; i < j->n_functions; i++)
		if (is_latest(j, i))
			fresh[n_fresh++] = i;
	qsort_r(fresh, n_fresh, sizeof(*fresh), compare, j);
	for (old = 0; old < j->n_by_start; old++) {
		if (!is_latest(j, j->by_start[old]))
			continue;
		while (at < n_fresh && compare(&fresh[at], &j->by_start[old], j) < 0)
			merged[n++] = fresh[at++];
		merged[n++] = j->by_start[old];
	}
	while (at < n_fresh)
		merged[n++] = fresh[at++];
	free(fresh);
	free(j->by_start);
	j->by_start = merged;
	j->n_by_start = n;
	j->n_sorted = j->n_functions;
	return 0;
}

int jitdump_refresh(struct jitdump *j)
{
	uint32_t n;
	int err, more = 0;

	if (j->is_over)
		return 0;
	err = jitdump_file_grow(&j->file);
	for (n = 0; !err && !j->is_over && n < MAX_RECORDS; n++) {
		more = jitdump_file_next(&j->file, &j->record);
		if (more <= 0)
			break;
		err = take_record(j);
	}
	if (more < 0)
		j->is_over = true;
	if (j->n_sorted < j->n_functions && sort(j))
		return -ENOMEM;
	return err ? err : more < 0 ? more : 0;
}

/* --- lines ------------------------------------------------------------------------------------------ */

struct line_entry {
	uint64_t address;
	uint32_t line, column;
};

/* Reads the entry at *at, whose name must end before `end`, and goes behind it. */
static bool read_entry(struct jitdump *j, uint64_t *at, uint64_t end, struct line_entry *out,
                       const char **name)
{
	size_t wanted = end - *at < sizeof(*out) + JITDUMP_NAME_MAX ? (size_t)(end - *at)
	                                                            : sizeof(*out) + JITDUMP_NAME_MAX;
	const uint8_t *bytes;
	size_t got, len;

	bytes = jitdump_file_bytes(&j->file, *at, wanted, &got);
	if (got <= sizeof(*out))
		return false;
	memcpy(out, bytes, sizeof(*out));
	*name = (const char *)bytes + sizeof(*out);
	len = strnlen(*name, got - sizeof(*out));
	if (len == got - sizeof(*out))
		return false;
	*at += sizeof(*out) + len + 1;
	return true;
}

/*
 * The line that the address has: that of the last entry at or below it. One nonsensical entry spoils all: node 20 writes
 * freed memory for names.
 */
static void find_line(struct jitdump *j, const struct function *f, uint64_t address, struct jitdump_hit *out)
{
	uint64_t at = f->lines_at, end = at + f->lines_len, best = 0;
	uint64_t shift = strncmp(j->names + f->name, V8_PREFIX, strlen(V8_PREFIX)) == 0 ? V8_OFFSET : 0;
	char path[JITDUMP_NAME_MAX] = "";
	struct line_entry entry;
	const char *name;
	uint32_t i;

	for (i = 0; i < f->n_lines; i++) {
		if (!read_entry(j, &at, end, &entry, &name) || entry.address - shift - f->start > f->size) {
			out->file = NULL;
			out->line = 0;
			return;
		}
		entry.address -= shift;
		if (strcmp(name, SAME_NAME) != 0)
			memcpy(path, name, strlen(name) + 1);
		if (entry.address > address || entry.address < best || !*path)
			continue;
		best = entry.address;
		memcpy(j->path, path, strlen(path) + 1);
		out->file = j->path;
		out->line = entry.line;
	}
}

bool jitdump_find(struct jitdump *j, uint64_t address, struct jitdump_hit *out)
{
	size_t low, i;
	const struct function *best = NULL, *f;

	low = search_past(at, 0, j->n_by_start, j->functions[j->by_start[at]].start <= address);
	for (i = 0; i < MAX_OVERLAPS && i < low; i++) {
		f = &j->functions[j->by_start[low - 1 - i]];
		if (address - f->start < f->size && (!best || f > best))
			best = f;
	}
	if (!best || !j->names[best->name])
		return false;
	*out = (struct jitdump_hit){ .function = j->names + best->name };
	find_line(j, best, address, out);
	return true;
}
