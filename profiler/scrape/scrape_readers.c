/* Remembers what each reader has had. */

#include "profiler/scrape/scrape_readers.h"

#include <stdio.h>
#include <string.h>

uint64_t scrape_readers_upto(const struct scrape_readers *readers, const char *name, size_t series)
{
	for (size_t i = 0; i < SCRAPE_READERS; i++)
		if (readers->reader[i].used && !strcmp(readers->reader[i].name, name))
			return readers->reader[i].upto[series];
	return 0;
}

/* The reader of that name, else the place of the one that has read nothing for longest. */
static struct scrape_reader *place_of(struct scrape_readers *readers, const char *name)
{
	struct scrape_reader *place = &readers->reader[0];

	for (size_t i = 0; i < SCRAPE_READERS; i++) {
		struct scrape_reader *reader = &readers->reader[i];

		if (reader->used && !strcmp(reader->name, name))
			return reader;
		if (reader->used < place->used)
			place = reader;
	}
	*place = (struct scrape_reader){ .used = 0 };
	snprintf(place->name, sizeof(place->name), "%s", name);
	return place;
}

void scrape_readers_set(struct scrape_readers *readers, const char *name, size_t series, uint64_t upto)
{
	struct scrape_reader *reader = place_of(readers, name);

	reader->used = ++readers->turns;
	if (reader->upto[series] < upto)
		reader->upto[series] = upto;
}
