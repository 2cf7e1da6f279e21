/*
 * The memory of a window's profile, which is bounded. Rows and samples come into the profile only at the window's end: so that there is
 * room for them, each reserves it when it comes, and what finds none is refused then, by itself.
 *
 *     window_room_begin(&room, profile, max_bytes)
 *     window_room_add_row(&room, key)      before a new row
 *     window_room_add_sample(&room, …)     before a new sample of a row
 *     window_room_drop_sample(&room, …)    one that has become a part of another
 *     window_room_free_rows(&room)         at the end, before rows and samples are added to the profile
 *     window_room_free_notes(&room)        before other notes are
 *
 * Functions returning int give 0, or -ENOSPC: there is no room. A part of the memory is kept for rows, as stacks
 * are worth little without the time that they share, and one for the notes beside the ledger.
 */
#ifndef STALLPROF_PROFILER_WINDOW_ROOM_H
#define STALLPROF_PROFILER_WINDOW_ROOM_H

#include <stdbool.h>
#include <stddef.h>

struct abi_ledger_key;
struct profile;

struct window_room {
	struct profile *profile;
	size_t taken; /* reserved by rows and samples */
	size_t for_rows, for_notes;
};

/* `max_bytes`: of the profile, which is new. */
int window_room_begin(struct window_room *room, struct profile *profile, size_t max_bytes);
int window_room_add_row(struct window_room *room, const struct abi_ledger_key *key);
/* `first`: of its row. `labels`: how many it has that few have. */
int window_room_add_sample(struct window_room *room, const struct abi_ledger_key *row, bool first,
                           size_t frames, size_t labels);
void window_room_drop_sample(struct window_room *room, size_t frames, size_t labels);
void window_room_free_rows(struct window_room *room);
void window_room_free_notes(struct window_room *room);

#endif
