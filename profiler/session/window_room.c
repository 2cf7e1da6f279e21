/* What rows and samples will take of a profile. */

#include "profiler/session/window_room.h"

#include <errno.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "pprof/profile.h"

#define PART_FOR_ROWS  8  /* of the memory */
#define PART_FOR_NOTES 32 /* the timeline's take most: some 3 MiB */

/* What pprof/ takes: for a note; for a sample, as a record with its place in a hash, its values and labels. Notes are mostly shorter, which
 * leaves room for the stacks of like waits. */
#define NOTE_BYTES       512
#define LABEL_BYTES      sizeof(struct profile_label)
#define FRAME_BYTES      sizeof(int64_t)
#define SAMPLE_BYTES     (160 + 9 * LABEL_BYTES) /* without stack and detail */
#define TAG_BYTES        256                     /* the texts of a tag's ids, in the labels of its samples */
#define ROW_SAMPLE_BYTES (SAMPLE_BYTES + TAG_BYTES) /* the first one of a row */

int window_room_begin(struct window_room *room, struct profile *profile, size_t max_bytes)
{
	*room = (struct window_room){ .profile = profile,
		                      .for_rows = max_bytes / PART_FOR_ROWS,
		                      .for_notes = max_bytes / PART_FOR_NOTES };
	return profile_reserve(profile, room->for_rows + room->for_notes);
}

/* Whether the profile has a sample of the row even if none of its waits is kept. */
static bool has_always_one(const struct abi_ledger_key *key)
{
	return key->state == ABI_STALL || key->state == ABI_CPU_STALL;
}

static int take(struct window_room *room, size_t bytes)
{
	int err = profile_reserve(room->profile, bytes);

	if (!err)
		room->taken += bytes;
	return err;
}

int window_room_add_row(struct window_room *room, const struct abi_ledger_key *key)
{
	size_t bytes = NOTE_BYTES + (has_always_one(key) ? ROW_SAMPLE_BYTES : 0);

	if (!take(room, bytes))
		return 0;
	if (bytes > room->for_rows)
		return -ENOSPC;
	room->for_rows -= bytes;
	room->taken += bytes;
	return 0;
}

int window_room_add_sample(struct window_room *room, const struct abi_ledger_key *row, bool first,
                           size_t frames, size_t labels)
{
	size_t bytes = frames * FRAME_BYTES + labels * LABEL_BYTES;

	if (!first)
		bytes += SAMPLE_BYTES;
	else if (!has_always_one(row))
		bytes += ROW_SAMPLE_BYTES;
	return take(room, bytes);
}

void window_room_drop_sample(struct window_room *room, size_t frames, size_t labels)
{
	size_t bytes = SAMPLE_BYTES + frames * FRAME_BYTES + labels * LABEL_BYTES;

	profile_unreserve(room->profile, bytes);
	room->taken -= bytes;
}

void window_room_free_rows(struct window_room *room)
{
	profile_unreserve(room->profile, room->taken + room->for_rows);
	room->taken = room->for_rows = 0;
}

void window_room_free_notes(struct window_room *room)
{
	profile_unreserve(room->profile, room->for_notes);
	room->for_notes = 0;
}
