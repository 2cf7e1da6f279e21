/* Distributes finished profiles to the disk and the server, and collects what became of them. */

#include "profiler/output/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "symbolizer/base/clock.h"
#include "profiler/config/config.h"
#include "profiler/output/outbox.h"
#include "profiler/output/sink_files.h"
#include "profiler/output/sink_news.h"
#include "profiler/output/sink_push.h"

/* Shorter than any window, so that what is handed over comes before the first window of who takes over. */
#define LAST_TRY_NS (5 * 1000000000ULL)

struct sink {
	say_fn say;
	struct sink_news *news;
	struct sink_files *files; /* NULL: none are written */
	struct sink_push *push;   /* NULL: nothing is pushed */
	struct outbox *pack;      /* NULL: there is no need */
	sink_look_fn look;        /* NULL: nobody is shown anything */
	void *look_ctx;
	struct sink_news_now now;  /* as of the last sink_poll() */
	uint64_t push_until_ns;    /* of CLOCK_MONOTONIC; 0: there is no end yet */
	uint64_t lost_before;      /* windows that had been lost when that was set */
	bool through;              /* sink_finish() */
	struct sink *older;        /* NULL: none has anything to deliver */
	struct sink_counts before; /* of those that are gone */
	bool before_failed,
	        lost_at_end; /* by one that it has taken over: at all, what it could not hand over */
};

struct parcel {
	struct profile *profile; /* NULL: there is none */
	bool last;
	bool idle; /* only shown */
};

/* --- packing: a thread ----------------------------------------------------------------------------------- */

static void keep(struct sink *sink, struct profile *profile, bool last)
{
	if (sink->files)
		sink_files_put(sink->files, profile, last);
	else
		profile_free(profile);
}

static void pass_on(struct sink *sink, struct profile *profile, bool last)
{
	if (sink->push)
		sink_push_put(sink->push, profile, last);
	keep(sink, profile, last);
}

static void packed(void *ctx)
{
	struct sink *sink = ctx;

	sink_news_wake(sink->news);
}

static enum outbox_result pack(void *ctx, void *item, bool last_try)
{
	struct parcel *parcel = item;
	struct sink *sink = ctx;

	(void)last_try;
	if (sink->look && parcel->profile)
		sink->look(sink->look_ctx, parcel->profile);
	if (parcel->idle)
		profile_free(parcel->profile);
	else
		pass_on(sink, parcel->profile, parcel->last);
	free(parcel);
	return OUTBOX_DONE;
}

static void lose(struct sink *sink, bool idle)
{
	if (sink->look)
		sink->look(sink->look_ctx, NULL);
	if (idle)
		return;
	if (sink->push)
		sink_push_lose(sink->push);
	if (sink->files)
		sink_files_lose(sink->files);
}

static void drop(void *ctx, void *item, enum outbox_loss why)
{
	struct parcel *parcel = item;
	struct sink *sink = ctx;

	if (parcel->profile)
		lose(sink, parcel->idle);
	if (parcel->profile && !parcel->idle)
		sink_news_say(sink->news, "a window is dropped before it is cut into series: %s",
		              why == OUTBOX_FULL ? "more wait for that than there is room for"
		                                 : "there is no time or no memory left for it");
	if (parcel->last)
		pass_on(sink, NULL, true);
	profile_free(parcel->profile);
	free(parcel);
}

/* --- making ---------------------------------------------------------------------------------------------- */

static int open_pack(struct sink *sink)
{
	const struct outbox_opts opts = { .name = "stallprof-pack",
		                          .max_items = SINK_PACK_WINDOWS,
		                          .max_bytes = SINK_PACK_BYTES,
		                          .ctx = sink,
		                          .deliver = pack,
		                          .drop = drop,
		                          .ended = packed };

	if (!sink->pack)
		sink->pack = outbox_new(&opts);
	return sink->pack ? 0 : -ENOMEM;
}

static int open_push(struct sink *sink, const struct config *config, char *err, size_t err_len)
{
	if (!config->push.url[0])
		return 0;
	sink->push = sink_push_new(config, sink->news, err, err_len);
	return sink->push ? open_pack(sink) : -errno;
}

static int open_all(struct sink *sink, const struct config *config, const char *output, char *err,
                    size_t err_len)
{
	snprintf(err, err_len, "out of memory");
	sink->news = sink_news_new();
	if (!sink->news)
		return -errno;
	if (output && output[0]) {
		sink->files = sink_files_new(config, output, sink->news, err, err_len);
		if (!sink->files)
			return -errno;
	}
	return open_push(sink, config, err, err_len);
}

struct sink *sink_new(const struct config *config, const char *output, say_fn say, char *err, size_t err_len)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	int result = -ENOMEM;

	if (sink) {
		sink->say = say;
		result = open_all(sink, config, output, err, err_len);
	} else {
		snprintf(err, err_len, "out of memory");
	}
	if (!result)
		return sink;
	sink_free(sink);
	errno = -result;
	return NULL;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	if (!sink->through)
		sink_finish(sink);
	sink_files_free(sink->files);
	sink_news_free(sink->news);
	free(sink);
}

int sink_wants_windows(const struct sink *sink)
{
	return sink->push || (sink->files && sink_files_is_dir(sink->files));
}

int sink_is_one_file(const struct sink *sink)
{
	return sink->files && !sink_files_is_dir(sink->files);
}

/* --- delivering ------------------------------------------------------------------------------------------ */

int sink_show(struct sink *sink, sink_look_fn look, void *ctx)
{
	sink->look = look;
	sink->look_ctx = ctx;
	return open_pack(sink);
}

static void hand_over(struct sink *sink, struct profile *profile, bool last)
{
	struct parcel *parcel = NULL;

	if (!sink->pack) {
		keep(sink, profile, last);
		return;
	}
	if (profile || outbox_has_begun(sink->pack))
		parcel = malloc(sizeof(*parcel));
	if (parcel) {
		*parcel = (struct parcel){ .profile = profile, .last = last };
		outbox_put(sink->pack, parcel, profile ? profile_bytes(profile) : 0, last);
		return;
	}
	if (profile)
		lose(sink, false);
	profile_free(profile);
	if (last) {
		outbox_end(sink->pack);
		pass_on(sink, NULL, true);
	}
}

void sink_deliver(struct sink *sink, struct profile *profile)
{
	hand_over(sink, profile, false);
}

void sink_deliver_idle(struct sink *sink, struct profile *profile)
{
	struct parcel *parcel = sink->look ? malloc(sizeof(*parcel)) : NULL;

	if (!parcel) {
		lose(sink, true);
		profile_free(profile);
		return;
	}
	*parcel = (struct parcel){ .profile = profile, .idle = true };
	outbox_put(sink->pack, parcel, profile_bytes(profile), false);
}

static uint64_t lost_by(const struct sink *sink)
{
	return sink->now.counts.not_pushed + sink->now.counts.not_kept;
}

static void end_one(struct sink *sink, struct profile *profile, uint64_t push_ns)
{
	if (sink->push_until_ns)
		return;
	sink->lost_before = lost_by(sink);
	sink->push_until_ns = monotonic_ns() + push_ns;
	hand_over(sink, profile, true);
}

void sink_end(struct sink *sink, struct profile *profile, uint64_t push_ns)
{
	struct sink *older;

	end_one(sink, profile, push_ns);
	for (older = sink->older; older; older = older->older) {
		if (older->push)
			sink_push_keep(older->push);
		end_one(older, NULL, push_ns);
	}
}

static bool has_packed(const struct sink *sink)
{
	return !sink->pack || outbox_has_ended(sink->pack);
}

static bool has_ended(const struct sink *sink)
{
	return has_packed(sink) && (!sink->push || sink_push_has_ended(sink->push)) &&
	       (!sink->files || sink_files_has_ended(sink->files));
}

bool sink_fails(const struct sink *sink)
{
	return sink->now.counts.keeping_fails || sink->now.counts.pushing_fails || sink->lost_at_end;
}

static void drop_older(struct sink *sink)
{
	struct sink *older = sink->older;
	uint64_t lost;

	if (!older)
		return;
	sink->older = older->older;
	older->older = NULL;
	lost = older->push_until_ns ? older->lost_before : lost_by(older);
	sink->before_failed |= sink_finish(older) != 0;
	sink->lost_at_end |= older->lost_at_end || lost_by(older) > lost;
	sink->before = sink_counts_sum(&older->now.counts, &sink->before);
	sink->before = sink_counts_sum(&sink->before, &older->before);
	sink_free(older);
}

static void poll_older(struct sink *sink)
{
	struct sink *older = sink->older;

	if (!older)
		return;
	sink_poll(older);
	/* One that is older still may hand over what it cannot send. */
	if (older->push_until_ns ? has_ended(older) : !older->older && !sink_waiting(older))
		drop_older(sink);
}

bool sink_poll(struct sink *sink)
{
	bool ended = sink->push_until_ns && has_ended(sink);

	poll_older(sink);
	sink_news_take(sink->news, sink->say, &sink->now);
	/* What is still being packed would come too late to be stored. */
	if (sink->push && sink->push_until_ns && !ended && has_packed(sink) &&
	    monotonic_ns() >= sink->push_until_ns)
		sink_push_stop(sink->push);
	return ended && !sink->older;
}

int sink_fd(const struct sink *sink)
{
	return sink_news_fd(sink->news);
}

size_t sink_waiting(const struct sink *sink)
{
	size_t n = sink->pack ? outbox_count(sink->pack) : 0, pushed, kept;

	/* In this order, as they come from there. */
	pushed = sink->push ? sink_push_count(sink->push) : 0;
	kept = sink->files ? sink_files_count(sink->files) : 0;
	return n + (pushed > kept ? pushed : kept);
}

int sink_finish(struct sink *sink)
{
	if (sink->through)
		return sink->now.failed ? -EIO : 0;
	sink->through = true;
	while (sink->older)
		drop_older(sink);
	outbox_free(sink->pack);
	sink->pack = NULL;
	if (sink->push && !sink_push_give_up(sink->push))
		sink_push_leave(sink->push);
	else
		sink_push_free(sink->push);
	sink->push = NULL;
	if (sink->files && !sink_files_give_up(sink->files)) {
		sink_files_leave(sink->files);
		sink->files = NULL;
	}
	if (sink->news)
		sink_news_take(sink->news, sink->say, &sink->now);
	sink->now.failed |= sink->before_failed || sink->now.counts.not_kept || sink->now.counts.not_pushed;
	return sink->now.failed ? -EIO : 0;
}

void sink_begin(struct sink *sink)
{
	if (sink->push)
		sink_push_begin(sink->push);
}

/* Those that have our spool, or no other and our server, end, and hand over what they cannot send by then. */
static void take_over_push(struct sink *sink)
{
	struct sink *older;
	bool taken = false;

	for (older = sink->older; older; older = older->older) {
		if (!older->push || !sink_push_succeed(sink->push, older->push))
			continue;
		end_one(older, NULL, LAST_TRY_NS);
		taken = true;
	}
	if (!taken)
		sink_begin(sink);
	for (older = sink->older; older; older = older->older)
		if (older->push && sink_push_inherit(sink->push, older->push))
			end_one(older, NULL, LAST_TRY_NS);
}

void sink_take_over(struct sink *sink, struct sink *older)
{
	struct sink *newer = sink;

	sink->older = older;
	if (sink->push)
		take_over_push(sink);
	for (size_t i = 0; i < SINK_OLDER_MAX && newer; i++)
		newer = newer->older;
	if (newer)
		drop_older(newer);
	poll_older(sink);
}

/* --- what became of it ----------------------------------------------------------------------------------- */

const struct profile *sink_whole(const struct sink *sink)
{
	return sink->through && sink->files ? sink_files_whole(sink->files) : NULL;
}

const char *sink_last_file(const struct sink *sink)
{
	return sink->now.last_file;
}

const char *sink_dir(const struct sink *sink)
{
	return sink->files && sink_files_is_dir(sink->files) ? sink_files_output(sink->files) : NULL;
}

struct sink_counts sink_counts(const struct sink *sink)
{
	return sink->now.counts;
}

struct sink_counts sink_counts_all(const struct sink *sink)
{
	struct sink_counts all = { 0 };

	for (; sink; sink = sink->older) {
		all = sink_counts_sum(&all, &sink->now.counts);
		all = sink_counts_sum(&all, &sink->before);
		all.keeping_fails |= sink->now.counts.keeping_fails;
		all.pushing_fails |= sink->now.counts.pushing_fails;
		all.waiting += sink_waiting(sink);
	}
	return all;
}
