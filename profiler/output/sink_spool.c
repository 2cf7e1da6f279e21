/* Stores windows that wait for a server, and says what goes wrong with that. */

#include "profiler/output/sink_spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/push_window.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/spool.h"

#define IN_MEMORY      "windows that wait are in memory alone until it can be used"
#define NEVER          UINT64_MAX
#define LINE_MAX_BYTES 4608 /* a path, and words around it */
#define LOADS_MAX      10   /* with the delays of sink_push.c, some minutes */

struct sink_spool {
	char *folder;
	struct sink_news *news;
	_Atomic(struct spool *) spool;  /* NULL: it is not open */
	atomic_uint_least64_t retry_ns; /* when it may be tried again; NEVER */
	int open_error;                 /* of the last try, which has been said */
	unsigned int unread;            /* windows that could not be read, or tries, since one was read */
	/* Which have been said: */
	atomic_int store_error; /* since a window was stored */
	atomic_int note_error;
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
	atomic_init(&s->retry_ns, NEVER);
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
	case EOVERFLOW:
		return ": its files' numbers are used up; take away the one with the highest number, which "
		       "is none of ours";
	case ENOENT:
		return ": make the folder above it first";
	case EACCES:
	case EROFS:
		return ": set push.spool to a folder that stallprof may write to";
	default:
		return "";
	}
}

static void describe_not_open(const char *folder, int error, char *line, size_t size)
{
	if (error == EWOULDBLOCK)
		snprintf(line, size,
		         "push.spool: another stallprof has %s: give each a folder of its own; " IN_MEMORY,
		         folder);
	else if (error == EPERM)
		snprintf(line, size,
		         "push.spool: %s belongs to somebody else, or others may write to it: have it "
		         "belong to the agent's user, with mode 0700; " IN_MEMORY,
		         folder);
	else
		snprintf(line, size, "push.spool: %s: %s%s; " IN_MEMORY, folder, strerror(error),
		         way_out(error));
}

static void say_not_open(const struct sink_spool *s, int error)
{
	char line[LINE_MAX_BYTES];

	describe_not_open(s->folder, error, line, sizeof(line));
	sink_news_say(s->news, "%s", line);
}

int sink_spool_check(const char *folder, char *line, size_t size)
{
	int err = spool_check(folder);

	if (err)
		describe_not_open(folder, -err, line, size);
	return err;
}

/* *passed: how many were passed to `found`. */
static int list(struct spool *spool, sink_spool_found_fn found, void *ctx, size_t *passed)
{
	struct spool_entry *entries;
	size_t n, i;
	int err = spool_list(spool, &entries, &n);

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
	*passed = i;
	return err;
}

static void try_open(struct sink_spool *s, sink_spool_found_fn found, void *ctx)
{
	struct spool *spool;
	size_t n;
	int err = spool_open(s->folder, &spool);

	if (err) {
		if (err != s->open_error)
			say_not_open(s, -err);
		s->open_error = err;
		return;
	}
	/* Before anything is found there, which may be loaded at once. */
	atomic_store(&s->spool, spool);
	err = list(spool, found, ctx, &n);
	if (s->open_error)
		sink_news_say(s->news,
		              "push.spool: %s can be used now; windows found there, which are sent: %zu",
		              s->folder, n);
	if (err)
		sink_news_say(s->news, "%s: %s: what is there is sent after the next start", s->folder,
		              strerror(-err));
}

void sink_spool_open(struct sink_spool *s, uint64_t now_ns, sink_spool_found_fn found, void *ctx)
{
	if (sink_spool_is_open(s) || !s->folder[0])
		return;
	atomic_store(&s->retry_ns, now_ns + SINK_SPOOL_RETRY_NS);
	try_open(s, found, ctx);
}

void sink_spool_retry(struct sink_spool *s, uint64_t now_ns, sink_spool_found_fn found, void *ctx)
{
	uint64_t retry_ns = atomic_load(&s->retry_ns);

	if (sink_spool_is_open(s) || retry_ns == NEVER || now_ns < retry_ns)
		return;
	/* Unless somebody has it retire just now. */
	if (atomic_compare_exchange_strong(&s->retry_ns, &retry_ns, now_ns + SINK_SPOOL_RETRY_NS))
		try_open(s, found, ctx);
}

void sink_spool_retire(struct sink_spool *s)
{
	atomic_store(&s->retry_ns, NEVER);
}

bool sink_spool_share(struct sink_spool *s, const struct sink_spool *other)
{
	struct spool *ours = atomic_load(&s->spool), *theirs = atomic_load(&other->spool);

	if (ours || !theirs)
		return ours && ours == theirs;
	if (!s->folder[0] || !spool_is(theirs, s->folder))
		return false;
	atomic_store(&s->spool, spool_share(theirs));
	return true;
}

bool sink_spool_is_open(const struct sink_spool *s)
{
	return atomic_load(&s->spool);
}

/* --- a window -------------------------------------------------------------------------------------------- */

static void say_not_stored(struct sink_spool *s, struct push_window *window, int err)
{
	const struct sink_counts not_spooled = { .not_spooled = 1 };

	if (atomic_exchange(&s->store_error, err) != err)
		sink_news_say(s->news, "%s: a window cannot be stored: %s%s; it waits in memory", s->folder,
		              strerror(-err), way_out(-err));
	if (!window->not_spooled)
		sink_news_count(s->news, &not_spooled);
	window->not_spooled = true;
}

int sink_spool_store(struct sink_spool *s, struct push_window *window)
{
	int err;

	if (!sink_spool_is_open(s))
		return -ENOENT;
	err = spool_store(s->spool, window);
	if (err) {
		say_not_stored(s, window, err);
		return err;
	}
	atomic_store(&s->store_error, 0);
	push_window_unload(window);
	return 0;
}

/* What keeps one window from being read often keeps all. So each has many tries only until one had them all. */
static int not_read(struct sink_spool *s, const struct push_window *window, int err)
{
	if (s->unread < LOADS_MAX)
		s->unread++;
	else
		return -EIO;
	if (s->unread == 1)
		sink_news_say(s->news, "%s: window %" PRIu64 " cannot be read now, and is tried again: %s",
		              s->folder, window->number, strerror(-err));
	if (s->unread < LOADS_MAX)
		return -EAGAIN;
	sink_news_say(s->news,
	              "%s: window %" PRIu64 " cannot be read, and stays there for the next start, as others "
	              "will that cannot be read: %s",
	              s->folder, window->number, strerror(-err));
	return -EIO;
}

int sink_spool_load(struct sink_spool *s, struct push_window *window)
{
	const char *fault;
	int err = spool_load(s->spool, window, &fault);

	switch (err) {
	case -ENOMEM:
		return -EAGAIN;
	case -EBADMSG:
		sink_news_say(s->news,
		              "%s: window %" PRIu64 " is lost: %s; its file is kept as %s/damaged until the "
		              "next such file",
		              s->folder, window->number, fault, s->folder);
		break;
	case -ENOENT:
		sink_news_say(s->news, "%s: window %" PRIu64 " is lost: somebody has removed its file",
		              s->folder, window->number);
		break;
	case -EISDIR:
		sink_news_say(s->news,
		              "%s: %0*" PRIu64
		              ".window is a folder, which stallprof has not made: it is left "
		              "alone; move it elsewhere",
		              s->folder, SPOOL_DIGITS, window->number);
		break;
	case 0:
		break;
	default:
		return not_read(s, window, err);
	}
	s->unread = 0;
	return err;
}

/* Where somebody has removed the file there is nothing to be sent twice. */
void sink_spool_note(struct sink_spool *s, const struct push_window *window)
{
	int err = window->number ? spool_note(s->spool, window) : 0;

	if (err && err != -ENOENT && atomic_exchange(&s->note_error, err) != err)
		sink_news_say(s->news,
		              "%s: how much of a window was sent cannot be written: %s; if stallprof ends "
		              "before all is sent, the next one sends that again",
		              s->folder, strerror(-err));
}

void sink_spool_remove(struct sink_spool *s, struct push_window *window)
{
	if (window->number)
		spool_remove(s->spool, window);
}

void sink_spool_set_aside(struct sink_spool *s, struct push_window *window, char *what, size_t size)
{
	char name[SPOOL_NAME_BYTES];

	if (!window->number || spool_set_aside(s->spool, window, name))
		snprintf(what, size, "it is dropped");
	else
		snprintf(what, size,
		         "it is kept as %s/" SPOOL_REFUSED " until the next such window: rename that to %s "
		         "to have it sent after the next start",
		         s->folder, name);
}
