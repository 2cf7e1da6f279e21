/* Remembers what each reader has had. */

#include "profiler/scrape/scrape_readers.h"

#include <stdio.h>
#include <string.h>

static struct scrape_reader *find(const struct scrape_readers *readers, const char *name)
{
	for (size_t i = 0; i < SCRAPE_READERS; i++)
		if (readers->reader[i].used && !strcmp(readers->reader[i].name, name))
			return (struct scrape_reader *)&readers->reader[i];
	return NULL;
}

uint64_t scrape_readers_upto(const struct scrape_readers *readers, const char *name, size_t series)
{
	const struct scrape_reader *reader = find(readers, name);

	return reader ? reader->upto[series] : 0;
}

/* Whether it would be given all windows that are left, known or not. */
static bool is_late(const struct scrape_reader *reader, uint64_t oldest)
{
	for (size_t i = 0; i < SCRAPE_SERIES_MAX; i++)
		if (reader->upto[i] >= oldest)
			return false;
	return true;
}

/* How little is lost with it: 0 is nobody's place; 3: nobody else gets it. */
static int worth(const struct scrape_reader *reader, uint64_t oldest)
{
	if (!reader->used)
		return 0;
	if (is_late(reader, oldest))
		return 1;
	return reader->returns ? 3 : 2;
}

/* A place that somebody who is not known may have. NULL: there is none. */
static struct scrape_reader *find_place(struct scrape_readers *readers)
{
	struct scrape_reader *place = NULL;
	int least = 3;

	for (size_t i = 0; i < SCRAPE_READERS; i++) {
		struct scrape_reader *reader = &readers->reader[i];
		int now = worth(reader, readers->oldest);

		if (now < least || (place && now == least && reader->used < place->used)) {
			place = reader;
			least = now;
		}
	}
	return place;
}

bool scrape_readers_have_room(struct scrape_readers *readers, const char *name)
{
	return find(readers, name) || find_place(readers);
}

void scrape_readers_take(struct scrape_readers *readers, const char *name, const struct scrape_taken *taken)
{
	struct scrape_reader *reader = find(readers, name);

	if (!reader) {
		reader = find_place(readers);
		if (!reader)
			return;
		*reader = (struct scrape_reader){ .used = 0 };
		snprintf(reader->name, sizeof(reader->name), "%s", name);
	}
	reader->used = ++readers->turns;
	reader->returns += reader->upto[taken->series] != 0;
	if (reader->upto[taken->series] >= taken->upto)
		return;
	reader->upto[taken->series] = taken->upto;
	readers->missed += taken->missed;
}
