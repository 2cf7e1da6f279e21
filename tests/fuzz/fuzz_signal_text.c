/*
 * Fuzzes the kernel's text files that signals are read from: any text gives a number or none, the same each time.
 *
 * Input: which of the readers, the field's number, the word to look for (up to a newline), the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/signals/signal_text.h"

#define READERS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_it(unsigned int reader, unsigned int field, const char *word, const char *text,
                    uint64_t *value)
{
	switch (reader) {
	case 0:
		return signal_snmp(text, "Tcp:", word, value);
	case 1:
		return signal_pressure(text, word, value);
	case 2:
		return signal_running(text, value);
	case 3:
		return signal_cpu_ticks(text, field, value);
	case 4:
		return signal_field(text, field, value);
	default:
		return signal_key(text, word, value);
	}
}

/* In memory of its own size, so that a sanitizer sees a byte too far. */
static char *copy(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 2 ? memchr(data + 2, '\n', size - 2) : NULL;
	uint64_t value[2] = { 0, 1 };
	char *word, *text;
	bool found[2];

	if (!end)
		return 0;
	word = copy(data + 2, (size_t)(end - data) - 2);
	text = copy(end + 1, size - (size_t)(end + 1 - data));
	for (unsigned int i = 0; i < 2; i++)
		found[i] = read_it(data[0] % READERS, 1 + data[1] % 32, word, text, &value[i]);
	if (found[0] != found[1] || (found[0] && value[0] != value[1]))
		abort();
	free(word);
	free(text);
	return 0;
}
