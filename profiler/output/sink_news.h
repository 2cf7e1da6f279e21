/*
 * News from the threads of a sink (sink.h) for its owner: lines to say, counts, the last file. Any thread may add
 * news; the owner takes them.
 */
#ifndef STALLPROF_PROFILER_SINK_NEWS_H
#define STALLPROF_PROFILER_SINK_NEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/format/say.h"
#include "profiler/output/sink.h"

struct sink_news;

/* NULL with errno set. */
struct sink_news *sink_news_new(void);
/* For another who may outlive the first: each frees it once. Returns `news`. */
struct sink_news *sink_news_share(struct sink_news *news);
/* Takes NULL. */
void sink_news_free(struct sink_news *news);

/* Readable when there is news since the last sink_news_take(). */
int sink_news_fd(const struct sink_news *news);

/* Adds a line to be said. When SINK_NEWS_LINES wait, further ones are left out. */
#define SINK_NEWS_LINES 64
void sink_news_say(struct sink_news *news, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the line "WHAT: the error's text". */
void sink_news_say_error(struct sink_news *news, const char *what, int error);

/* Adds to the counts; leaves keeping_fails and pushing_fails as they are. */
void sink_news_count(struct sink_news *news, const struct sink_counts *more);
/* Set whether that destination fails now. */
void sink_news_keeping(struct sink_news *news, bool fails);
void sink_news_pushing(struct sink_news *news, bool fails);
/* Notes a failure that is in no count. */
void sink_news_failed(struct sink_news *news);
/* Notes that a file was written. */
void sink_news_file(struct sink_news *news, const char *path);
/* Makes sink_news_fd() readable, as a thread has come to its end. */
void sink_news_wake(struct sink_news *news);

struct sink_news_now {
	struct sink_counts counts;
	bool failed;
	char last_file[SINK_PATH_MAX]; /* "": none */
};
/* Fills `now` with the present state, and calls `say` for each line since the last call. */
void sink_news_take(struct sink_news *news, say_fn say, struct sink_news_now *now);

#endif
