/*
 * A file that signals are read from, again and again.
 *
 * Not thread-safe.
 */
#ifndef STALLPROF_PROFILER_SIGNAL_SOURCE_H
#define STALLPROF_PROFILER_SIGNAL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timeline;

#define SIGNAL_TICK_NS     10000000ULL
#define SIGNAL_VALUES      2 /* of one file */
#define SIGNAL_TEXT_BYTES  65536
#define SIGNAL_DEVICE_MAX  64
#define SIGNAL_TIMED_READS 8
#define SIGNAL_TURN_NS     10000 /* to wake up, and to sleep again */
/* Two reads that are further apart tell nothing: reading was paused, or the host was suspended. */
#define SIGNAL_PAUSE_NS 30000000000ULL

/* Value `i` of a file's text. */
typedef bool (*signal_parse_fn)(const char *text, uint64_t *value);

struct signal_kind {
	const char *name; /* of the lane */
	signal_parse_fn parse;
	bool is_state;  /* times how long it held; else a counter, whose growth counts */
	uint64_t times; /* what one of it counts: 1000 for a counter of milliseconds in microseconds */
	uint64_t per;   /* ... divided by this; 0: 1 */
	uint64_t less;  /* what is taken off a state */
};

struct signal_file {
	const char *path; /* %s: the device */
	struct signal_kind value[SIGNAL_VALUES];
	unsigned int every; /* of how many ticks it is read at most; 1: each */
};

struct signal_source {
	const struct signal_file *file;
	char device[SIGNAL_DEVICE_MAX];
	int fd;
	unsigned int every; /* as chosen by its cost */
	bool has_last;
	uint64_t last_ns; /* Unix time */
	uint64_t last[SIGNAL_VALUES];
	uint64_t cost_ns; /* the least of SIGNAL_TIMED_READS reads, by the thread's CPU clock */
	unsigned int reads;
	bool weighed; /* its cost was in a choice of rates */
};

/* Opens the file below `root`, and reads it once to see that it has what is wanted. 0 or -errno; -ENODATA: it has not. */
int signal_source_open(struct signal_source *source, const char *root, const struct signal_file *file,
                       const char *device);
void signal_source_close(struct signal_source *source);

/* Reads it, and adds what it says to the timeline; NULL: only its cost is wanted. `text`: room for SIGNAL_TEXT_BYTES. */
void signal_source_read(struct signal_source *source, char *text, uint64_t now_ns, struct timeline *timeline);

/* Reads rarely what takes most, until all take at most `budget` of a CPU, of which a turn of the reader itself takes
 * SIGNAL_TURN_NS. None gets faster. */
void signal_sources_choose_rates(struct signal_source *const *sources, size_t count, double budget);

/* Reads the cheapest of those that are read more rarely than they may be more often. False: there is none, or it would take more than
 * `budget` then. */
bool signal_sources_speed_up(struct signal_source *const *sources, size_t count, double budget);

/* Reads the dearest one more rarely. False: all are as rare as may be. */
bool signal_sources_slow_down(struct signal_source *const *sources, size_t count);

/* Whether one was read so often that its cost is known, but was in no choice of rates yet. */
bool signal_sources_are_new(struct signal_source *const *sources, size_t count);

/* How many ticks lie between turns: as many as the source has that is read most often. */
unsigned int signal_sources_every(struct signal_source *const *sources, size_t count);

#endif
