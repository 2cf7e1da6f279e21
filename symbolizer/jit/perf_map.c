/* Parses perf-PID.map and finds functions in it, as the file grows. */

#include "symbolizer/jit/perf_map.h"
#include "symbolizer/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEXT_BYTES ((size_t)64 << 20)
#define MAX_FUNCTIONS  ((size_t)1 << 20)
#define MAX_COMPARED   256 /* bytes that tell whether a file goes on as it was */
#define MAX_OVERLAPS   64  /* how far back a lookup goes for a function that begins earlier */

struct function {
	uint64_t start, size;
	uint32_t name; /* offset into text */
	uint32_t line; /* later lines win */
};

struct perf_map {
	char *text;     /* each newline a NUL once its line is indexed */
	size_t room;    /* for it */
	size_t indexed; /* bytes of it */
	uint32_t n_lines;
	struct function *functions; /* by start, then line */
	size_t n_functions, max_functions;
};

static int compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool parse_hex(char **pos, uint64_t *out)
{
	char *end;

	if (**pos == '-' || **pos == '+' || **pos == ' ' || **pos == '\t')
		return false;
	errno = 0;
	*out = strtoull(*pos, &end, 16);
	if (errno || end == *pos || *end != ' ')
		return false;
	*pos = end + 1;
	return true;
}

static bool parse_line(char *line, struct function *out)
{
	if (!parse_hex(&line, &out->start) || !parse_hex(&line, &out->size))
		return false;
	return *line && out->size && out->start + out->size > out->start;
}

static size_t count_lines(const char *text, size_t len)
{
	const char *p, *end = text + len;
	size_t n = 1;

	for (p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	return n;
}

/* Appends the functions of the lines from m->indexed to `end`, where a NUL or a newline stands. */
static void append_lines(struct perf_map *m, size_t end)
{
	char *line = m->text + m->indexed, *newline, *name;
	struct function *f;

	for (; line < m->text + end; line = newline + 1, m->n_lines++) {
		newline = memchr(line, '\n', (size_t)(m->text + end - line));
		newline = newline ? newline : m->text + end;
		*newline = 0;
		f = &m->functions[m->n_functions];
		if (!parse_line(line, f))
			continue;
		name = strchr(strchr(line, ' ') + 1, ' ') + 1;
		f->name = (uint32_t)(name - m->text);
		f->line = m->n_lines;
		m->n_functions++;
	}
	m->indexed = end;
}

/* Two sorted runs, of which the second begins at `n_old`, become one. */
static int merge(struct perf_map *m, size_t n_old)
{
	struct function *merged = malloc((m->n_functions + 1) * sizeof(*merged)), *to = merged;
	const struct function *a = m->functions, *b = a + n_old, *a_end = b, *b_end = a + m->n_functions;

	if (!merged)
		return -ENOMEM;
	while (a < a_end && b < b_end)
		*to++ = compare(a, b) < 0 ? *a++ : *b++;
	while (a < a_end)
		*to++ = *a++;
	while (b < b_end)
		*to++ = *b++;
	free(m->functions);
	m->functions = merged;
	m->max_functions = m->n_functions + 1;
	return 0;
}

/* -EFBIG, -ENOMEM: those lines are lost. */
static int index_lines(struct perf_map *m, size_t end)
{
	size_t n_old = m->n_functions, n_new = count_lines(m->text + m->indexed, end - m->indexed);
	struct function *bigger;

	if (n_old + n_new > MAX_FUNCTIONS)
		return -EFBIG;
	bigger = realloc(m->functions, (n_old + n_new) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	m->functions = bigger;
	m->max_functions = n_old + n_new;
	append_lines(m, end);
	qsort(m->functions + n_old, m->n_functions - n_old, sizeof(*m->functions), compare);
	if (n_old && m->n_functions > n_old && merge(m, n_old)) {
		m->n_functions = n_old;
		return -ENOMEM;
	}
	return 0;
}

/* What has no functions is of no use. */
static int finish(struct perf_map *m, int err, struct perf_map **out)
{
	if (!err && !m->n_functions)
		err = -ENODATA;
	if (err)
		perf_map_free(m);
	else
		*out = m;
	return err;
}

int perf_map_parse(const char *text, size_t len, struct perf_map **out)
{
	struct perf_map *m;

	if (len > MAX_TEXT_BYTES)
		return -EFBIG;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->text = malloc(len + 1);
	if (!m->text)
		return finish(m, -ENOMEM, out);
	m->room = len + 1;
	if (len)
		memcpy(m->text, text, len);
	m->text[len] = 0;
	return finish(m, index_lines(m, len), out);
}

int perf_map_read(int fd, struct perf_map **out)
{
	struct perf_map *m = calloc(1, sizeof(*m));

	return m ? finish(m, perf_map_grow(m, fd), out) : -ENOMEM;
}

static size_t read_at(int fd, char *buffer, size_t len, size_t offset)
{
	size_t done = 0;
	ssize_t got;

	while (done < len && (got = pread(fd, buffer + done, len - done, (off_t)(offset + done))) > 0)
		done += (size_t)got;
	return done;
}

/* Does the file still have what was read last? Newlines of that are NULs by now. */
static bool is_continued(const struct perf_map *m, int fd)
{
	char last[MAX_COMPARED];
	size_t len = m->indexed < sizeof(last) ? m->indexed : sizeof(last), i;

	if (!len)
		return true;
	if (read_at(fd, last, len, m->indexed - len) != len)
		return false;
	for (i = 0; i < len; i++)
		if (last[i] == '\n')
			last[i] = 0;
	return memcmp(last, m->text + m->indexed - len, len) == 0;
}

int perf_map_grow(struct perf_map *m, int fd)
{
	struct stat st;
	size_t len;
	char *bigger;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size > MAX_TEXT_BYTES)
		return -EFBIG;
	if ((size_t)st.st_size < m->indexed || !is_continued(m, fd))
		return -ESTALE;
	bigger = realloc(m->text, (size_t)st.st_size + 1);
	if (!bigger)
		return -ENOMEM;
	m->text = bigger;
	m->room = (size_t)st.st_size + 1;
	len = m->indexed + read_at(fd, m->text + m->indexed, (size_t)st.st_size - m->indexed, m->indexed);
	while (len > m->indexed && m->text[len - 1] != '\n')
		len--;
	return len > m->indexed ? index_lines(m, len) : 0;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	free(m->functions);
	free(m->text);
	free(m);
}

size_t perf_map_memory(const struct perf_map *m)
{
	return sizeof(*m) + m->room + m->max_functions * sizeof(*m->functions);
}

const char *perf_map_find(const struct perf_map *m, uint64_t address)
{
	size_t low, i;
	const struct function *best = NULL, *f;

	low = search_past(at, 0, m->n_functions, m->functions[at].start <= address);
	for (i = 0; i < MAX_OVERLAPS && i < low; i++) {
		f = &m->functions[low - 1 - i];
		if (address - f->start < f->size && (!best || f->line > best->line))
			best = f;
	}
	return best ? m->text + best->name : NULL;
}
