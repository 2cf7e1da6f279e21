/*
 * The last windows as profiles, ready to be sent: of each window the series that are pushed, too (series.h), encoded
 * and compressed.
 *
 *     scrape_windows_add(windows, profile, clock_hz)                  at the end of each window
 *     bytes = scrape_windows_last(windows, series, seconds, …)        those that cover so many seconds, as one
 *     bytes = scrape_windows_new_for(windows, reader, series, &taken) those that this reader has not had
 *     scrape_windows_read(windows, reader, &taken)                    it has them now
 *
 * What a window takes back from earlier ones is paid by later ones (push_debts.h), so that no value is negative, and what
 * a reader passes on to Pyroscope adds up there.
 *
 * Bounded by SCRAPE_WINDOWS and SCRAPE_WINDOWS_BYTES; the oldest go. Any thread may call these. To join windows takes as
 * long as decoding and encoding them does (20 ms for one with 500 stacks), outside of the lock, and up to three times
 * SCRAPE_JOINED_BYTES of memory. So that nobody can have the agent spend its CPU on that, no more than SCRAPE_JOIN_BYTES are
 * joined, what was joined last is kept until the next window, and joining takes at most a tenth of a CPU's time: beyond that,
 * SCRAPE_JOIN_NS are had in advance.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_WINDOWS_H
#define STALLPROF_PROFILER_SCRAPE_WINDOWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct scrape_bytes;
struct scrape_taken;
struct scrape_windows;

#define SCRAPE_WINDOWS       64
#define SCRAPE_WINDOWS_BYTES ((size_t)32 << 20)
#define SCRAPE_JOINED_BYTES  ((size_t)128 << 20)
#define SCRAPE_JOIN_BYTES    ((size_t)4 << 20) /* compressed */
#define SCRAPE_JOIN_NS       (2 * 1000000000LL)
/* Pyroscope refuses more samples in one profile; what is new to a reader is given in parts of less, if it is several windows. */
#define SCRAPE_SAMPLES_MAX 16000

/* NULL: no memory. */
struct scrape_windows *scrape_windows_new(void);
void scrape_windows_free(struct scrape_windows *windows);

/* Forgets all windows and readers, when nobody is answered any more. */
void scrape_windows_clear(struct scrape_windows *windows);

/* 0 or -errno; a series that could not be made is empty in this window. */
int scrape_windows_add(struct scrape_windows *windows, const struct profile *profile, uint64_t clock_hz);

/*
 * `series`: an index of series_table. The newest windows that cover `seconds` (0: the last one), or as many as are held and may be joined if those cover less. `stop`: gives up
 * soon when it becomes true. NULL with errno: ENODATA: no window has ended yet; EFBIG: they are too large together;
 * EAGAIN: too much was joined lately; ECANCELED; ENOMEM.
 */
struct scrape_bytes *scrape_windows_last(struct scrape_windows *windows, size_t series, uint64_t seconds,
                                         const atomic_bool *stop);

/*
 * The oldest windows that this reader has not had, as many as go into one profile for Pyroscope, at least one; a profile without
 * samples when there is none. *taken: for scrape_windows_read(). NULL with errno as above, or EUSERS: there are too many readers.
 */
struct scrape_bytes *scrape_windows_new_for(struct scrape_windows *windows, const char *reader, size_t series,
                                            struct scrape_taken *taken, const atomic_bool *stop);
/* Called when the whole answer was sent; without it the reader gets the same once more. */
void scrape_windows_read(struct scrape_windows *windows, const char *reader,
                         const struct scrape_taken *taken);
/* How many windows of a series were gone when a reader came that had had those before. */
uint64_t scrape_windows_missed(struct scrape_windows *windows);

#endif
