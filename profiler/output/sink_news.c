/* Messages and counts from the sink's threads to its owner, under a lock. */

#include "profiler/output/sink_news.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct sink_news {
	int fd;
	atomic_uint owners;
	pthread_mutex_t lock; /* of all below */
	struct sink_news_now now;
	char *line[SINK_NEWS_LINES];
	size_t n_lines;
};

struct sink_news *sink_news_new(void)
{
	struct sink_news *news = calloc(1, sizeof(*news));

	if (!news)
		return NULL;
	news->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (news->fd < 0) {
		free(news);
		return NULL;
	}
	atomic_init(&news->owners, 1);
	pthread_mutex_init(&news->lock, NULL);
	return news;
}

struct sink_news *sink_news_share(struct sink_news *news)
{
	atomic_fetch_add(&news->owners, 1);
	return news;
}

void sink_news_free(struct sink_news *news)
{
	if (!news || atomic_fetch_sub(&news->owners, 1) > 1)
		return;
	while (news->n_lines)
		free(news->line[--news->n_lines]);
	close(news->fd);
	pthread_mutex_destroy(&news->lock);
	free(news);
}

int sink_news_fd(const struct sink_news *news)
{
	return news->fd;
}

void sink_news_wake(struct sink_news *news)
{
	const uint64_t one = 1;
	/* Fails only when it is readable already. */
	ssize_t n = write(news->fd, &one, sizeof(one));

	(void)n;
}

void sink_news_say(struct sink_news *news, const char *format, ...)
{
	char *line = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n < 0)
		return;
	pthread_mutex_lock(&news->lock);
	if (news->n_lines < SINK_NEWS_LINES)
		news->line[news->n_lines++] = line;
	else
		free(line);
	pthread_mutex_unlock(&news->lock);
	sink_news_wake(news);
}

void sink_news_say_error(struct sink_news *news, const char *what, int error)
{
	sink_news_say(news, "%s: %s", what, strerror(-error));
}

struct sink_counts sink_counts_sum(const struct sink_counts *a, const struct sink_counts *b)
{
	struct sink_counts sum = *a;

	sum.kept += b->kept;
	sum.kept_bytes += b->kept_bytes;
	sum.not_kept += b->not_kept;
	sum.made_room += b->made_room;
	sum.pushed += b->pushed;
	sum.pushed_bytes += b->pushed_bytes;
	sum.not_pushed += b->not_pushed;
	sum.set_aside += b->set_aside;
	sum.spooled += b->spooled;
	sum.not_spooled += b->not_spooled;
	return sum;
}

void sink_news_count(struct sink_news *news, const struct sink_counts *more)
{
	pthread_mutex_lock(&news->lock);
	news->now.counts = sink_counts_sum(&news->now.counts, more);
	pthread_mutex_unlock(&news->lock);
	sink_news_wake(news);
}

static void set(struct sink_news *news, bool *flag, bool value)
{
	pthread_mutex_lock(&news->lock);
	*flag = value;
	pthread_mutex_unlock(&news->lock);
	sink_news_wake(news);
}

void sink_news_keeping(struct sink_news *news, bool fails)
{
	set(news, &news->now.counts.keeping_fails, fails);
}

void sink_news_pushing(struct sink_news *news, bool fails)
{
	set(news, &news->now.counts.pushing_fails, fails);
}

void sink_news_failed(struct sink_news *news)
{
	set(news, &news->now.failed, true);
}

void sink_news_file(struct sink_news *news, const char *path)
{
	pthread_mutex_lock(&news->lock);
	snprintf(news->now.last_file, sizeof(news->now.last_file), "%s", path);
	pthread_mutex_unlock(&news->lock);
}

void sink_news_take(struct sink_news *news, say_fn say, struct sink_news_now *now)
{
	char *line[SINK_NEWS_LINES];
	uint64_t told;
	ssize_t got = read(news->fd, &told, sizeof(told));
	size_t n, i;

	(void)got;
	pthread_mutex_lock(&news->lock);
	n = news->n_lines;
	memcpy(line, news->line, n * sizeof(*line));
	news->n_lines = 0;
	*now = news->now;
	pthread_mutex_unlock(&news->lock);
	for (i = 0; i < n; i++) {
		say(line[i]);
		free(line[i]);
	}
}
