/* Parses /proc/kallsyms and finds kernel symbols by address. */

#include "symbolizer/kernel/kallsyms.h"
#include "symbolizer/base/search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_TEXT_BYTES     ((size_t)256 << 20)
#define MAX_FUNCTION_BYTES (1 << 20)

/*
 * One per line while parsing; of those at one address only the best stays. `name` and `module` are offsets
 * into `text`, whose separators have become NULs; text[0] is a NUL, so offset 0 is the empty string.
 */
struct symbol {
	uint64_t address;
	uint32_t name, module;
	char type;
};

struct kallsyms {
	char *text;
	size_t text_len;
	struct symbol *symbols; /* by address */
	size_t n_symbols;
};

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), suffix_len = strlen(suffix);

	return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

static bool is_marker(const char *name)
{
	static const char *const prefixes[] = { "__pi_", "__cfi_", "__pfx_" };
	static const char *const suffixes[] = { "_start", "_begin", "_end" };
	size_t i;

	if (strcmp(name, "_text") == 0 || strcmp(name, "_stext") == 0)
		return true;
	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (ends_in(name, suffixes[i]))
			return true;
	return false;
}

static int binding_rank(char type)
{
	if (type == 'w' || type == 'W')
		return 1;
	return type >= 'a' && type <= 'z' ? 2 : 0;
}

/* Negative: a is the better name of the two. */
static int compare_names(const struct kallsyms *k, const struct symbol *a, const struct symbol *b)
{
	const char *an = k->text + a->name, *bn = k->text + b->name;

	if (is_text(a->type) != is_text(b->type))
		return is_text(b->type) - is_text(a->type);
	if (is_marker(an) != is_marker(bn))
		return is_marker(an) - is_marker(bn);
	if (binding_rank(a->type) != binding_rank(b->type))
		return binding_rank(a->type) - binding_rank(b->type);
	if (strspn(an, "_") != strspn(bn, "_"))
		return strspn(an, "_") < strspn(bn, "_") ? -1 : 1;
	if (strlen(an) != strlen(bn))
		return strlen(an) < strlen(bn) ? -1 : 1;
	return strcmp(an, bn);
}

static int compare_addresses(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* "ffffffff81000000 T name\t[module]": splits it in place. */
static bool parse_line(struct kallsyms *k, size_t start, size_t end, struct symbol *out)
{
	char *line = k->text + start, *rest, *name, *tab;
	unsigned long long address;

	if (end - start < 4 || *line == ' ' || *line == '-' || *line == '+')
		return false;
	errno = 0;
	address = strtoull(line, &rest, 16);
	if (errno || rest == line || rest[0] != ' ' || !rest[1] || rest[2] != ' ' || !rest[3] || !address)
		return false;
	if (rest[1] == 'A' || rest[1] == 'a')
		return false;
	name = rest + 3;
	*out = (struct symbol){ .address = address, .type = rest[1], .name = (uint32_t)(name - k->text) };
	tab = strchr(name, '\t');
	if (tab) {
		*tab = 0;
		if (tab[1] == '[' && ends_in(tab + 1, "]")) {
			k->text[end - 1] = 0;
			out->module = (uint32_t)(tab + 2 - k->text);
		}
	}
	return *name != 0;
}

static void keep_best_names(struct kallsyms *k)
{
	size_t from, to = 0;

	for (from = 0; from < k->n_symbols; from++) {
		struct symbol *last = to ? &k->symbols[to - 1] : NULL;

		if (last && last->address == k->symbols[from].address) {
			if (compare_names(k, &k->symbols[from], last) < 0)
				*last = k->symbols[from];
		} else {
			k->symbols[to++] = k->symbols[from];
		}
	}
	k->n_symbols = to;
}

static size_t count_lines(const char *text, size_t len)
{
	const char *p, *end = text + len;
	size_t n = 1;

	for (p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	return n;
}

static bool already_sorted(const struct kallsyms *k)
{
	size_t i;

	for (i = 1; i < k->n_symbols; i++)
		if (k->symbols[i - 1].address > k->symbols[i].address)
			return false;
	return true;
}

/* k->text is set, with a NUL before and behind it. */
static int index_text(struct kallsyms *k)
{
	size_t pos, end;
	char *newline;

	k->symbols = calloc(count_lines(k->text + 1, k->text_len - 1), sizeof(*k->symbols));
	if (!k->symbols)
		return -ENOMEM;
	for (pos = 1; pos < k->text_len; pos = end + 1) {
		newline = memchr(k->text + pos, '\n', k->text_len - pos);
		end = newline ? (size_t)(newline - k->text) : k->text_len;
		k->text[end] = 0;
		if (parse_line(k, pos, end, &k->symbols[k->n_symbols]))
			k->n_symbols++;
	}
	if (!k->n_symbols)
		return -ENODATA;
	if (!already_sorted(k))
		qsort(k->symbols, k->n_symbols, sizeof(*k->symbols), compare_addresses);
	keep_best_names(k);
	return 0;
}

static int finish(struct kallsyms *k, struct kallsyms **out)
{
	int err = index_text(k);

	if (err) {
		kallsyms_free(k);
		return err;
	}
	*out = k;
	return 0;
}

int kallsyms_parse(const char *text, size_t len, struct kallsyms **out)
{
	struct kallsyms *k;

	if (len > MAX_TEXT_BYTES)
		return -EFBIG;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->text = malloc(len + 2);
	if (!k->text) {
		free(k);
		return -ENOMEM;
	}
	k->text[0] = 0;
	if (len)
		memcpy(k->text + 1, text, len);
	k->text_len = len + 1;
	k->text[k->text_len] = 0;
	return finish(k, out);
}

/* Reads to the end, growing k->text. */
static int read_all(int fd, struct kallsyms *k)
{
	size_t size = (size_t)8 << 20;
	ssize_t got;
	char *bigger;

	k->text = malloc(size);
	if (!k->text)
		return -ENOMEM;
	k->text[0] = 0;
	k->text_len = 1;
	for (;;) {
		got = read(fd, k->text + k->text_len, size - k->text_len - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		k->text_len += (size_t)got;
		k->text[k->text_len] = 0;
		if (!got)
			return 0;
		if (size - k->text_len > 65536)
			continue;
		if (size >= MAX_TEXT_BYTES)
			return -EFBIG;
		size *= 2;
		bigger = realloc(k->text, size);
		if (!bigger)
			return -ENOMEM;
		k->text = bigger;
	}
}

int kallsyms_read(const char *path, struct kallsyms **out)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	int fd, err;
	char *fitting;

	if (!k)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(k);
		return err;
	}
	err = read_all(fd, k);
	close(fd);
	if (err) {
		kallsyms_free(k);
		return err;
	}
	fitting = realloc(k->text, k->text_len + 1);
	if (fitting)
		k->text = fitting;
	return finish(k, out);
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbols);
	free(k->text);
	free(k);
}

/* Index of the last symbol at or below `address`, plus one; 0: none. */
static size_t upper_bound(const struct kallsyms *k, uint64_t address)
{
	return search_past(i, 0, k->n_symbols, k->symbols[i].address <= address);
}

bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_hit *hit)
{
	size_t i = upper_bound(k, address);
	const struct symbol *symbol;

	if (!i)
		return false;
	symbol = &k->symbols[i - 1];
	if (!is_text(symbol->type) || address - symbol->address >= MAX_FUNCTION_BYTES)
		return false;
	hit->name = k->text + symbol->name;
	hit->module = k->text + symbol->module;
	hit->start = symbol->address;
	hit->next = i < k->n_symbols ? k->symbols[i].address : UINT64_MAX;
	return true;
}

/*
 * Every name still stands in the text as "hex, NUL-free type, name, NUL", whichever one was chosen for its
 * address, so this looks through the text.
 */
uint64_t kallsyms_address(const struct kallsyms *k, const char *name)
{
	const char *line, *end = k->text + k->text_len;
	size_t skip;

	for (line = k->text + 1; line < end; line += strlen(line) + 1) {
		skip = strcspn(line, " ");
		if (!line[skip] || !line[skip + 1] || !line[skip + 2])
			continue;
		if (strcmp(line + skip + 3, name) == 0)
			return strtoull(line, NULL, 16);
	}
	return 0;
}

bool kallsyms_module_range(const struct kallsyms *k, const char *module, uint64_t *start, uint64_t *end)
{
	bool found = false;
	size_t i;

	for (i = 0; i < k->n_symbols; i++) {
		if (strcmp(k->text + k->symbols[i].module, module) != 0 || !is_text(k->symbols[i].type))
			continue;
		if (!found)
			*start = k->symbols[i].address;
		/* As kallsyms_find() finds it. */
		*end = k->symbols[i].address + MAX_FUNCTION_BYTES;
		if (i + 1 < k->n_symbols && k->symbols[i + 1].address < *end)
			*end = k->symbols[i + 1].address;
		found = true;
	}
	return found;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->n_symbols;
}

size_t kallsyms_memory(const struct kallsyms *k)
{
	return k->text_len + k->n_symbols * sizeof(*k->symbols);
}
