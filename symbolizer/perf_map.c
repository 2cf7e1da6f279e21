#include "symbolizer/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEXT_BYTES ((size_t)256 << 20)
#define MAX_OVERLAPS   64 /* how far back a lookup goes for a function that begins earlier */

struct function {
	uint64_t start, size;
	uint32_t name; /* offset into text */
	uint32_t line; /* later lines win */
};

struct perf_map {
	char *text;
	size_t text_len;
	struct function *functions; /* by start, then line */
	size_t n_functions;
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

/* m->text has a NUL behind it. */
static int index_text(struct perf_map *m)
{
	char *line = m->text, *end = m->text + m->text_len, *newline, *name;
	struct function *f;
	uint32_t n = 0;

	m->functions = calloc(count_lines(m->text, m->text_len), sizeof(*m->functions));
	if (!m->functions)
		return -ENOMEM;
	for (; line < end; line = newline + 1, n++) {
		newline = memchr(line, '\n', (size_t)(end - line));
		newline = newline ? newline : end;
		*newline = 0;
		f = &m->functions[m->n_functions];
		if (!parse_line(line, f))
			continue;
		name = strchr(strchr(line, ' ') + 1, ' ') + 1;
		f->name = (uint32_t)(name - m->text);
		f->line = n;
		m->n_functions++;
	}
	if (!m->n_functions)
		return -ENODATA;
	qsort(m->functions, m->n_functions, sizeof(*m->functions), compare);
	return 0;
}

static struct perf_map *new_map(size_t len)
{
	struct perf_map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->text = malloc(len + 1);
	m->text_len = len;
	if (!m->text) {
		free(m);
		return NULL;
	}
	return m;
}

static int finish(struct perf_map *m, struct perf_map **out)
{
	int err;

	m->text[m->text_len] = 0;
	err = index_text(m);
	if (err) {
		perf_map_free(m);
		return err;
	}
	*out = m;
	return 0;
}

int perf_map_parse(const char *text, size_t len, struct perf_map **out)
{
	struct perf_map *m;

	if (len > MAX_TEXT_BYTES)
		return -EFBIG;
	m = new_map(len);
	if (!m)
		return -ENOMEM;
	if (len)
		memcpy(m->text, text, len);
	return finish(m, out);
}

int perf_map_read(int fd, struct perf_map **out)
{
	struct perf_map *m;
	struct stat st;
	size_t len = 0;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > MAX_TEXT_BYTES)
		return -EFBIG;
	m = new_map((size_t)st.st_size);
	if (!m)
		return -ENOMEM;
	while (len < m->text_len && (got = pread(fd, m->text + len, m->text_len - len, (off_t)len)) > 0)
		len += (size_t)got;
	m->text_len = len;
	return finish(m, out);
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	free(m->functions);
	free(m->text);
	free(m);
}

const char *perf_map_find(const struct perf_map *m, uint64_t address)
{
	size_t low = 0, high = m->n_functions, mid, i;
	const struct function *best = NULL, *f;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->functions[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	for (i = 0; i < MAX_OVERLAPS && i < low; i++) {
		f = &m->functions[low - 1 - i];
		if (address - f->start < f->size && (!best || f->line > best->line))
			best = f;
	}
	return best ? m->text + best->name : NULL;
}
