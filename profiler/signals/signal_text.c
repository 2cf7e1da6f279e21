/* Parses text files of the kernel. */

#include "profiler/signals/signal_text.h"

#include <stddef.h>
#include <string.h>

/* A decimal number at *at, which is moved behind it; blanks before it are skipped. Too large a number is none. */
static bool next_number(const char **at, uint64_t *value)
{
	const char *text = *at + strspn(*at, " \t");
	uint64_t sum = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(sum, 10u, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum))
			return false;
	*value = sum;
	*at = text;
	return true;
}

/* What follows `word` at the beginning of a line, blanks before it left out; NULL: no line begins so. */
static const char *behind(const char *text, const char *word)
{
	size_t length = strlen(word);

	while (text && *text) {
		const char *at = text + strspn(text, " \t");

		if (!strncmp(at, word, length))
			return at + length;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

/* The place of `word` among the words of a line; -1: it is none of them. */
static int place_of(const char *line, const char *word)
{
	size_t length = strlen(word);

	for (int place = 0;; place++) {
		size_t n;

		line += strspn(line, " ");
		n = strcspn(line, " \n");
		if (!n)
			return -1;
		if (n == length && !memcmp(line, word, n))
			return place;
		line += n;
	}
}

bool signal_snmp(const char *text, const char *protocol, const char *field, uint64_t *value)
{
	const char *names = behind(text, protocol), *end = names ? strchr(names, '\n') : NULL;
	const char *values = end ? behind(end, protocol) : NULL;
	int place = names ? place_of(names, field) : -1;

	if (!values || place < 0)
		return false;
	for (; place > 0; place--) { /* one may be negative: MaxConn */
		values += strspn(values, " ");
		values += strcspn(values, " \n");
	}
	return next_number(&values, value);
}

bool signal_pressure(const char *text, const char *line, uint64_t *us)
{
	const char *at = behind(text, line), *total = at ? strstr(at, "total=") : NULL;

	if (!total || memchr(at, '\n', (size_t)(total - at)))
		return false;
	total += strlen("total=");
	return next_number(&total, us);
}

bool signal_running(const char *text, uint64_t *running)
{
	const char *slash = strchr(text, '/'), *at = slash;

	while (at && at > text && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at && next_number(&at, running) && at == slash;
}

bool signal_field(const char *text, unsigned int field, uint64_t *value)
{
	do {
		if (!next_number(&text, value))
			return false;
	} while (--field);
	return true;
}

bool signal_cpu_ticks(const char *text, unsigned int field, uint64_t *ticks)
{
	return !strncmp(text, "cpu ", 4) && signal_field(text + 4, field, ticks);
}

bool signal_key(const char *text, const char *key, uint64_t *value)
{
	const char *at = behind(text, key);

	return at && (*at == ' ' || *at == '\t') && next_number(&at, value);
}
