/* Finds names by how many bytes must be changed, put in or taken out. */

#include "profiler/format/near_names.h"

#include <stdio.h>
#include <string.h>

#define LOOKED_AT  64
#define NAME_SHOWN 150

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Wagner and Fischer's, of which one row is kept: row[j] is the distance of what was seen of `a` from j bytes of `b`. */
static size_t distance_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[LOOKED_AT + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 0; i < a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b_len; j++) {
			size_t above = row[j + 1];

			row[j + 1] = least(least(above, row[j]) + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[b_len];
}

void near_names_look(struct near_names *near, const char *compared, const char *name)
{
	size_t wanted_len = strnlen(near->wanted, LOOKED_AT), len = strnlen(compared, LOOKED_AT);
	size_t distance = distance_of(near->wanted, wanted_len, compared, len), at = near->count;

	if (2 * distance > wanted_len)
		return;
	while (at && near->distance[at - 1] > distance)
		at--;
	if (at == NEAR_NAMES_MAX)
		return;
	near->count += near->count < NEAR_NAMES_MAX;
	for (size_t i = near->count - 1; i > at; i--) {
		near->name[i] = near->name[i - 1];
		near->distance[i] = near->distance[i - 1];
	}
	near->name[at] = name;
	near->distance[at] = distance;
}

const char *near_names_text(char text[NEAR_NAMES_BYTES], const struct near_names *near)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < near->count; i++)
		used += (size_t)snprintf(text + used, NEAR_NAMES_BYTES - used, "%s%.*s", i ? ", " : "",
		                         NAME_SHOWN, near->name[i]);
	return text;
}
