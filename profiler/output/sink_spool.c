/* Stores windows that wait for a server, and says what goes wrong with that. */

#include "profiler/output/sink_spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/push_window.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/spool.h"

#define IN_MEMORY "windows that wait are in memory alone"

struct sink_spool {
	char *folder;
	struct sink_news *news;
	struct spool *spool; /* NULL: it is not open */
	int error;           /* of storing, which has been said, since a window was stored */
};

struct sink_spool *sink_spool_new(const char *folder, struct sink_news *news)
{
	struct sink_spool *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->folder = strdup(folder);
	if (!s->folder) {
		free(s);
		return NULL;
	}
	s->news = sink_news_share(news);
	return s;
}

void sink_spool_free(struct sink_spool *s)
{
	if (!s)
		return;
	spool_close(s->spool);
	sink_news_free(s->news);
	free(s->folder);
	free(s);
}

const char *sink_spool_folder(const struct sink_spool *s)
{
	return s->folder;
}

/* --- opening --------------------------------------------------------------------------------------------- */

static const char *way_out(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return ": free some space there, or set push.spool to a folder elsewhere";
	case ENOENT:
		return ": make the folder above it first";
	case EACCES:
	case EROFS:
		return ": set push.spool to a folder that stallprof may write to";
	default:
		return "";
	}
}

static void say_not_open(const struct sink_spool *s, int error)
{
	if (error == EWOULDBLOCK)
		sink_news_say(
		        s->news,
		        "push.spool: another stallprof has %s: give each a folder of its own; " IN_MEMORY,
		        s->folder);
	else if (error == EPERM)
		sink_news_say(s->news,
		              "push.spool: %s belongs to somebody else, or others may write to it: have it "
		              "belong to the agent's user, with mode 0700; " IN_MEMORY,
		              s->folder);
	else
		sink_news_say(s->news, "push.spool: %s: %s%s; " IN_MEMORY, s->folder, strerror(error),
		              way_out(error));
}

static int list(struct sink_spool *s, void (*found)(void *ctx, struct push_window *window), void *ctx)
{
	struct spool_entry *entries;
	size_t n, i;
	int err = spool_list(s->spool, &entries, &n);

	for (i = 0; i < n && !err; i++) {
		struct push_window *window = calloc(1, sizeof(*window));

		if (!window) {
			err = -ENOMEM;
			break;
		}
		window->number = entries[i].number;
		window->file_bytes = entries[i].bytes;
		found(ctx, window);
	}
	free(entries);
	return err;
}

void sink_spool_open(struct sink_spool *s, void (*found)(void *ctx, struct push_window *window), void *ctx)
{
	int err;

	if (s->spool || !s->folder[0])
		return;
	err = spool_open(s->folder, &s->spool);
	if (err) {
		say_not_open(s, -err);
		return;
	}
	err = list(s, found, ctx);
	if (err)
		sink_news_say(s->news, "%s: %s: what is there is sent after the next start", s->folder,
		              strerror(-err));
}

bool sink_spool_share(struct sink_spool *s, const struct sink_spool *other)
{
	if (s->spool || !other->spool || strcmp(s->folder, other->folder) != 0)
		return false;
	s->spool = spool_share(other->spool);
	return true;
}

/* --- a window -------------------------------------------------------------------------------------------- */

uint64_t sink_spool_store(struct sink_spool *s, struct push_window *window)
{
	const struct sink_counts not_spooled = { .not_spooled = 1 };
	int err;

	if (!s->spool || !window->n)
		return 0;
	err = spool_store(s->spool, window);
	if (!err) {
		s->error = 0;
		push_window_unload(window);
		return window->file_bytes;
	}
	if (err != s->error)
		sink_news_say(s->news, "%s: a window cannot be stored: %s%s; it waits in memory", s->folder,
		              strerror(-err), way_out(-err));
	s->error = err;
	if (!window->not_spooled)
		sink_news_count(s->news, &not_spooled);
	window->not_spooled = true;
	return 0;
}

int sink_spool_load(struct sink_spool *s, struct push_window *window)
{
	const char *fault;
	int err = spool_load(s->spool, window, &fault);

	if (err == -EBADMSG)
		sink_news_say(s->news,
		              "%s: window %" PRIu64 " is lost: %s; its file is kept as %s/damaged until the "
		              "next such file",
		              s->folder, window->number, fault, s->folder);
	else if (err && err != -ENOMEM)
		sink_news_say(s->news, "%s: window %" PRIu64 " cannot be read, and is not sent: %s",
		              s->folder, window->number, strerror(-err));
	return err;
}

/* If that fails, at worst something is sent twice after the next start. */
void sink_spool_note(struct sink_spool *s, const struct push_window *window)
{
	if (window->number)
		spool_note(s->spool, window);
}

void sink_spool_remove(struct sink_spool *s, struct push_window *window)
{
	if (window->number)
		spool_remove(s->spool, window);
}
