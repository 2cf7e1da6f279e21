/*
 * What the threads of a sink (sink.h) have to tell the one that owns it: lines to say, counts, the last file. Any thread
 * tells, the owner takes.
 */
#ifndef STALLPROF_PROFILER_SINK_NEWS_H
#define STALLPROF_PROFILER_SINK_NEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/output/sink.h"

struct sink_news;

/* NULL with errno set. */
struct sink_news *sink_news_new(void);
void sink_news_free(struct sink_news *news);

/* Readable when something was told since the last sink_news_take(). */
int sink_news_fd(const struct sink_news *news);

/* One line, to be said. Of more than SINK_NEWS_LINES that nobody takes the newest are left out. */
#define SINK_NEWS_LINES 64
void sink_news_say(struct sink_news *news, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "WHAT: the error's words" */
void sink_news_say_error(struct sink_news *news, const char *what, int error);

/* Adds to the counts, and has keeping_fails and pushing_fails as they were. */
void sink_news_count(struct sink_news *news, const struct sink_counts *more);
/* Whether that destination fails now. */
void sink_news_keeping(struct sink_news *news, bool fails);
void sink_news_pushing(struct sink_news *news, bool fails);
/* Something failed that is in no count. */
void sink_news_failed(struct sink_news *news);
/* A file was written. */
void sink_news_file(struct sink_news *news, const char *path);
/* Something has come to its end. */
void sink_news_wake(struct sink_news *news);

struct sink_news_now {
	struct sink_counts counts;
	bool failed;
	char last_file[SINK_PATH_MAX]; /* "": none */
};
/* How it stands; calls `say` for each line since the last time. */
void sink_news_take(struct sink_news *news, sink_say_fn say, struct sink_news_now *now);

#endif
