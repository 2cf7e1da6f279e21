/*
 * Up to which window each reader has had each series. Readers go by a name of their own choice; of more than SCRAPE_READERS the
 * one that has read nothing for longest is forgotten. Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_READERS_H
#define STALLPROF_PROFILER_SCRAPE_READERS_H

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
};

struct scrape_readers {
	struct scrape_reader reader[SCRAPE_READERS];
	uint64_t turns;
};

/* The last window of that series that it has had; 0: none. */
uint64_t scrape_readers_upto(const struct scrape_readers *readers, const char *name, size_t series);

/* It has had all up to that one. */
void scrape_readers_set(struct scrape_readers *readers, const char *name, size_t series, uint64_t upto);

#endif
