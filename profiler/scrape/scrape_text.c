/* Writes Prometheus' text format. */

#include "profiler/scrape/scrape_text.h"

#include <inttypes.h>
#include <string.h>

#include "pprof/utf8.h"

void scrape_text_metric(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s ", name);
	for (; *help; help++) {
		if (*help == '\\' || *help == '\n')
			fputc('\\', out);
		fputc(*help == '\n' ? 'n' : *help, out);
	}
	fprintf(out, "\n# TYPE %s %s\n", name, type);
}

static void write_value(FILE *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			fputc('\\', out);
		fputc(*value == '\n' ? 'n' : *value, out);
	}
}

static void begin_sample(FILE *out, const char *name, const struct scrape_label *labels, size_t n)
{
	fputs(name, out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%c%s=\"", i ? ',' : '{', labels[i].name);
		write_value(out, labels[i].value);
		fputc('"', out);
	}
	fputs(n ? "} " : " ", out);
}

void scrape_text_number(FILE *out, const char *name, const struct scrape_label *labels, size_t n,
                        uint64_t number)
{
	begin_sample(out, name, labels, n);
	fprintf(out, "%" PRIu64 "\n", number);
}

void scrape_text_seconds(FILE *out, const char *name, const struct scrape_label *labels, size_t n, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	begin_sample(out, name, labels, n);
	fprintf(out, "%s%" PRIu64 ".%09" PRIu64 "\n", ns < 0 ? "-" : "", size / 1000000000,
	        size % 1000000000);
}

void scrape_text_clean(const char *text, char value[SCRAPE_VALUE_MAX])
{
	static const char digits[] = "0123456789abcdef";
	size_t length = strlen(text), used = 0, takes;

	for (size_t i = 0; i < length; i += takes) {
		unsigned char byte = (unsigned char)text[i];
		size_t sequence = byte < 0x20 || byte == 0x7f ? 0 : utf8_sequence(text + i, length - i);

		takes = sequence ? sequence : 1;
		if (used + (sequence ? sequence : 4) >= SCRAPE_VALUE_MAX)
			break;
		if (sequence) {
			memcpy(value + used, text + i, sequence);
			used += sequence;
		} else {
			value[used++] = '\\';
			value[used++] = 'x';
			value[used++] = digits[byte >> 4];
			value[used++] = digits[byte & 15];
		}
	}
	value[used] = '\0';
}
