/* Keeps the last windows as encoded profiles, and joins those that are asked for. */

#include "profiler/scrape/scrape_windows.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pprof/profile.h"
#include "profiler/output/push_debts.h"
#include "profiler/output/series.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_readers.h"
#include "symbolizer/base/clock.h"

#define SECOND_NS 1000000000ULL
/* Windows of 10 s last some milliseconds more or less: that is no reason to give another one. */
#define SLACK_NS (SECOND_NS / 2)
/* Of a CPU's time that may go into joining. */
#define JOIN_PART 10

struct window {
	uint64_t number, duration_ns;
	struct scrape_bytes *series[SCRAPE_SERIES_MAX]; /* NULL: it could not be made */
	size_t samples[SCRAPE_SERIES_MAX];
	size_t bytes;
};

/* What was joined last of a series. */
struct joined {
	uint64_t first, last; /* numbers of windows; 0: nothing was */
	struct scrape_bytes *bytes;
};

struct scrape_windows {
	struct push_debts *debts; /* only in scrape_windows_add() */
	pthread_mutex_t adding;
	pthread_mutex_t lock; /* of all that follows; held for a moment alone */
	struct window window[SCRAPE_WINDOWS];
	size_t n, bytes;
	uint64_t last_number;
	struct scrape_readers readers;
	struct joined joined[SCRAPE_SERIES_MAX];
	int64_t credit_ns; /* of joining, at credit_at_ns; below 0 as long as a join takes */
	uint64_t credit_at_ns;
};

struct scrape_windows *scrape_windows_new(void)
{
	struct scrape_windows *windows = calloc(1, sizeof(*windows));

	if (!windows)
		return NULL;
	pthread_mutex_init(&windows->adding, NULL);
	pthread_mutex_init(&windows->lock, NULL);
	windows->credit_ns = SCRAPE_JOIN_NS;
	windows->credit_at_ns = monotonic_ns();
	windows->debts = push_debts_new();
	if (windows->debts)
		return windows;
	scrape_windows_free(windows);
	return NULL;
}

static void window_clear(struct window *window)
{
	for (size_t i = 0; i < SCRAPE_SERIES_MAX; i++)
		scrape_bytes_drop(window->series[i]);
	*window = (struct window){ .number = 0 };
}

static void drop_oldest(struct scrape_windows *windows)
{
	windows->bytes -= windows->window[0].bytes;
	window_clear(&windows->window[0]);
	windows->n--;
	memmove(windows->window, windows->window + 1, windows->n * sizeof(windows->window[0]));
	windows->window[windows->n] = (struct window){ .number = 0 };
}

static void drop_joined(struct scrape_windows *windows)
{
	for (size_t i = 0; i < SCRAPE_SERIES_MAX; i++)
		scrape_bytes_drop(windows->joined[i].bytes);
	memset(windows->joined, 0, sizeof(windows->joined));
}

void scrape_windows_clear(struct scrape_windows *windows)
{
	pthread_mutex_lock(&windows->lock);
	while (windows->n)
		drop_oldest(windows);
	drop_joined(windows);
	memset(windows->readers.reader, 0, sizeof(windows->readers.reader));
	pthread_mutex_unlock(&windows->lock);
}

void scrape_windows_free(struct scrape_windows *windows)
{
	if (!windows)
		return;
	scrape_windows_clear(windows);
	push_debts_free(windows->debts);
	pthread_mutex_destroy(&windows->adding);
	pthread_mutex_destroy(&windows->lock);
	free(windows);
}

/* --- making ----------------------------------------------------------------------------------------------- */

/* With the series' types and no sample. NULL with errno set. */
static struct profile *empty_profile(const struct series *series)
{
	struct profile_value_type types[2];
	size_t n = 0;

	for (; n < 2 && series->types[n]; n++) {
		types[n].type = series->types[n];
		types[n].unit = strcmp(series->types[n], "contentions") ? "nanoseconds" : "count";
	}
	return profile_new(types, n, series->period_type, 1, SCRAPE_JOINED_BYTES);
}

/* Frees the profile. NULL with errno set. */
static struct scrape_bytes *encode(struct profile *profile)
{
	void *data = NULL;
	size_t length = 0;
	struct scrape_bytes *bytes;
	int err = profile_encode(profile, 0, true, &data, &length);

	profile_free(profile);
	bytes = err ? NULL : scrape_bytes_new(data, length);
	errno = err ? -err : ENOMEM;
	return bytes;
}

static int make_series(struct scrape_windows *windows, struct window *window, size_t at,
                       const struct profile *profile, uint64_t clock_hz)
{
	const struct series *series = &series_table[at];
	int64_t period = clock_hz && !strcmp(series->types[0], "cpu") ? (int64_t)(SECOND_NS / clock_hz) : 1;
	struct profile *cut = NULL;
	int err = 0;

	if (!series->optional || profile_find_type(profile, series->types[0]) >= 0)
		err = series_extract(profile, series, period, windows->debts, SCRAPE_JOINED_BYTES, &cut);
	if (err)
		return err;
	if (!cut) {
		cut = empty_profile(series);
		if (!cut)
			return -errno;
		profile_set_time(cut, profile_time_ns(profile), profile_duration_ns(profile));
	}
	window->samples[at] = profile_n_samples(cut);
	window->series[at] = encode(cut);
	if (!window->series[at])
		return -errno;
	window->bytes += scrape_bytes_length(window->series[at]);
	return 0;
}

static void append(struct scrape_windows *windows, struct window *window)
{
	pthread_mutex_lock(&windows->lock);
	while (windows->n == SCRAPE_WINDOWS ||
	       (windows->n && windows->bytes + window->bytes > SCRAPE_WINDOWS_BYTES))
		drop_oldest(windows);
	drop_joined(windows);
	window->number = ++windows->last_number;
	windows->window[windows->n++] = *window;
	windows->bytes += window->bytes;
	windows->readers.oldest = windows->window[0].number;
	pthread_mutex_unlock(&windows->lock);
}

int scrape_windows_add(struct scrape_windows *windows, const struct profile *profile, uint64_t clock_hz)
{
	struct window window = { .duration_ns = (uint64_t)profile_duration_ns(profile) };
	int result = 0;

	pthread_mutex_lock(&windows->adding);
	for (size_t i = 0; i < series_table_len && i < SCRAPE_SERIES_MAX; i++) {
		int err = make_series(windows, &window, i, profile, clock_hz);

		result = result ? result : err;
	}
	append(windows, &window);
	pthread_mutex_unlock(&windows->adding);
	return result;
}

/* --- joining ---------------------------------------------------------------------------------------------- */

static size_t length_of(const struct scrape_bytes *bytes)
{
	return bytes ? scrape_bytes_length(bytes) : 0;
}

/* Windows of one series that follow each other, held. */
struct selection {
	struct scrape_bytes *part[SCRAPE_WINDOWS];
	size_t n;
	uint64_t first, last;
};

/* With the lock held. */
static void select_from(const struct scrape_windows *windows, size_t series, size_t begin, size_t end,
                        struct selection *selection)
{
	for (size_t i = begin; i < end; i++)
		if (windows->window[i].series[series])
			selection->part[selection->n++] =
			        scrape_bytes_hold(windows->window[i].series[series]);
	selection->first = begin < end ? windows->window[begin].number : 0;
	selection->last = begin < end ? windows->window[end - 1].number : 0;
}

static void selection_drop(struct selection *selection)
{
	while (selection->n)
		scrape_bytes_drop(selection->part[--selection->n]);
}

/* 0 or -errno. */
static int join_part(struct profile **whole, const struct scrape_bytes *part)
{
	struct profile *next = NULL;
	char text[256];
	int err = profile_decode(scrape_bytes_data(part), scrape_bytes_length(part), SCRAPE_JOINED_BYTES,
	                         &next, text, sizeof(text));

	if (!err && *whole) {
		err = profile_merge(*whole, next, text, sizeof(text));
		profile_free(next);
	} else if (!err) {
		*whole = next;
	}
	return err == -ENOSPC ? -EFBIG : err;
}

static struct scrape_bytes *join(const struct selection *selection, const atomic_bool *stop)
{
	struct profile *whole = NULL;
	int err = 0;

	if (selection->n == 1)
		return scrape_bytes_hold(selection->part[0]);
	for (size_t i = 0; i < selection->n && !err; i++)
		err = atomic_load(stop) ? -ECANCELED : join_part(&whole, selection->part[i]);
	if (!err && atomic_load(stop))
		err = -ECANCELED;
	if (!err)
		return encode(whole);
	profile_free(whole);
	errno = -err;
	return NULL;
}

/* Whether there is CPU time left to join anything. */
static bool may_join(struct scrape_windows *windows)
{
	uint64_t now_ns = monotonic_ns();
	bool may;

	pthread_mutex_lock(&windows->lock);
	windows->credit_ns += (int64_t)((now_ns - windows->credit_at_ns) / JOIN_PART);
	windows->credit_at_ns = now_ns;
	if (windows->credit_ns > SCRAPE_JOIN_NS)
		windows->credit_ns = SCRAPE_JOIN_NS;
	may = windows->credit_ns > 0;
	pthread_mutex_unlock(&windows->lock);
	return may;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static struct scrape_bytes *join_if_allowed(struct scrape_windows *windows, const struct selection *selection,
                                            const atomic_bool *stop)
{
	uint64_t began_ns = cpu_ns();
	struct scrape_bytes *bytes;
	int error;

	if (selection->n > 1 && !may_join(windows)) {
		errno = EAGAIN;
		return NULL;
	}
	bytes = join(selection, stop);
	error = errno;
	pthread_mutex_lock(&windows->lock);
	windows->credit_ns -= (int64_t)(cpu_ns() - began_ns);
	pthread_mutex_unlock(&windows->lock);
	errno = error;
	return bytes;
}

/* With the lock held: what was joined before of the same windows. */
static struct scrape_bytes *joined_before(const struct scrape_windows *windows, size_t series,
                                          const struct selection *selection)
{
	const struct joined *joined = &windows->joined[series];

	return joined->first == selection->first && joined->last == selection->last
	               ? scrape_bytes_hold(joined->bytes)
	               : NULL;
}

static void remember(struct scrape_windows *windows, size_t series, const struct selection *selection,
                     struct scrape_bytes *bytes)
{
	struct joined *joined = &windows->joined[series];

	pthread_mutex_lock(&windows->lock);
	scrape_bytes_drop(joined->bytes);
	*joined = (struct joined){ selection->first, selection->last, scrape_bytes_hold(bytes) };
	pthread_mutex_unlock(&windows->lock);
}

/* Drops the selection. `before`: what was joined before, or NULL. */
static struct scrape_bytes *give(struct scrape_windows *windows, size_t series, struct selection *selection,
                                 struct scrape_bytes *before, const atomic_bool *stop)
{
	struct scrape_bytes *bytes = before ? before : join_if_allowed(windows, selection, stop);
	int error = errno;

	if (bytes && !before && selection->n > 1)
		remember(windows, series, selection, bytes);
	selection_drop(selection);
	errno = error;
	return bytes;
}

struct scrape_bytes *scrape_windows_last(struct scrape_windows *windows, size_t series, uint64_t seconds,
                                         const atomic_bool *stop)
{
	uint64_t wanted_ns = seconds < UINT64_MAX / SECOND_NS ? seconds * SECOND_NS : UINT64_MAX;
	uint64_t covered_ns = 0;
	struct selection selection = { .n = 0 };
	struct scrape_bytes *before;
	size_t begin, bytes = 0;

	pthread_mutex_lock(&windows->lock);
	for (begin = windows->n; begin > 0; begin--) {
		const struct window *window = &windows->window[begin - 1];

		bytes += length_of(window->series[series]);
		if (begin < windows->n && (covered_ns + SLACK_NS >= wanted_ns || bytes > SCRAPE_JOIN_BYTES))
			break;
		covered_ns += window->duration_ns;
	}
	select_from(windows, series, begin, windows->n, &selection);
	before = joined_before(windows, series, &selection);
	pthread_mutex_unlock(&windows->lock);
	if (selection.n)
		return give(windows, series, &selection, before, stop);
	scrape_bytes_drop(before);
	errno = ENODATA;
	return NULL;
}

/* --- readers ---------------------------------------------------------------------------------------------- */

/* With the lock held: the windows behind `upto`, as many as go into one profile. */
static void select_new(const struct scrape_windows *windows, size_t series, uint64_t upto,
                       struct selection *selection)
{
	size_t begin = 0, end, samples = 0, bytes = 0;

	while (begin < windows->n && windows->window[begin].number <= upto)
		begin++;
	for (end = begin; end < windows->n; end++) {
		samples += windows->window[end].samples[series];
		bytes += length_of(windows->window[end].series[series]);
		if (end > begin && (samples > SCRAPE_SAMPLES_MAX || bytes > SCRAPE_JOIN_BYTES))
			break;
	}
	select_from(windows, series, begin, end, selection);
}

/* What a reader has with that, who has had all up to `upto`; one that has had none has missed none. */
static struct scrape_taken taken_with(const struct selection *selection, size_t series, uint64_t upto)
{
	struct scrape_taken taken = { .series = series, .upto = upto };

	if (selection->last)
		taken.upto = selection->last;
	if (upto && selection->first > upto + 1)
		taken.missed = selection->first - upto - 1;
	return taken;
}

struct scrape_bytes *scrape_windows_new_for(struct scrape_windows *windows, const char *reader, size_t series,
                                            struct scrape_taken *taken, const atomic_bool *stop)
{
	struct selection selection = { .n = 0 };
	struct scrape_bytes *before;
	struct profile *none;
	uint64_t upto;
	bool room;

	pthread_mutex_lock(&windows->lock);
	room = scrape_readers_have_room(&windows->readers, reader);
	upto = scrape_readers_upto(&windows->readers, reader, series);
	if (room)
		select_new(windows, series, upto, &selection);
	*taken = taken_with(&selection, series, upto);
	before = joined_before(windows, series, &selection);
	pthread_mutex_unlock(&windows->lock);
	if (selection.n)
		return give(windows, series, &selection, before, stop);
	scrape_bytes_drop(before);
	if (!room) {
		errno = EUSERS;
		return NULL;
	}
	none = empty_profile(&series_table[series]);
	return none ? encode(none) : NULL;
}

void scrape_windows_read(struct scrape_windows *windows, const char *reader, const struct scrape_taken *taken)
{
	pthread_mutex_lock(&windows->lock);
	scrape_readers_take(&windows->readers, reader, taken);
	pthread_mutex_unlock(&windows->lock);
}

uint64_t scrape_windows_missed(struct scrape_windows *windows)
{
	uint64_t missed;

	pthread_mutex_lock(&windows->lock);
	missed = windows->readers.missed;
	pthread_mutex_unlock(&windows->lock);
	return missed;
}
