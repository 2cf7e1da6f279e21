/* Fuzzes a server's answers: any body must become one printable line of bounded length. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/push_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char words[96];
	size_t i, room;

	if (size < 1)
		return 0;
	room = 1 + data[0] % sizeof(words);
	if (room > sizeof(words))
		room = sizeof(words);
	push_answer_words((const char *)data + 1, size - 1, words, room);
	if (strnlen(words, room) == room)
		abort();
	for (i = 0; words[i]; i++)
		if ((unsigned char)words[i] < 0x20 || words[i] == 0x7f)
			abort();
	return 0;
}
