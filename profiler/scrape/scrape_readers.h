/*
 * Up to which window each reader has had each series. Readers go by a name of their own choice, which anybody may invent: whoever
 * asks under another one each time must not push out those that come again and again. So of more than SCRAPE_READERS one is forgotten
 * that loses nothing by that, as it has had none of the windows that are left, else one that has not come again for any series, and that came longest ago. While
 * there is none of either, others have to wait. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_READERS_H
#define STALLPROF_PROFILER_SCRAPE_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRAPE_READERS         16
#define SCRAPE_READER_NAME_MAX 64 /* with the NUL */
/* Those of series_table (series.h), by its order. */
#define SCRAPE_SERIES_MAX 4

struct scrape_reader {
	char name[SCRAPE_READER_NAME_MAX];
	uint64_t upto[SCRAPE_SERIES_MAX]; /* windows are numbered from 1 */
	uint64_t used;                    /* when, by `turns`; 0: no reader */
	uint64_t returns;                 /* how often it came for a series that it had come for before */
};

struct scrape_readers {
	struct scrape_reader reader[SCRAPE_READERS];
	uint64_t turns;
	uint64_t oldest; /* the first window that is left; set by whoever holds them */
	uint64_t missed; /* windows of a series that were gone when a reader came for them */
};

/* What one answer has of a series. */
struct scrape_taken {
	size_t series;
	uint64_t upto;   /* its last window */
	uint64_t missed; /* windows before it that were gone */
};

/* The last window of that series that it has had; 0: none. */
uint64_t scrape_readers_upto(const struct scrape_readers *readers, const char *name, size_t series);

/* Whether it is known, or there is a place for it. */
bool scrape_readers_have_room(struct scrape_readers *readers, const char *name);

/* It has had that; without a place it is not remembered. */
void scrape_readers_take(struct scrape_readers *readers, const char *name, const struct scrape_taken *taken);

#endif
