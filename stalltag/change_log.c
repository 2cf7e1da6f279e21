/* Writes a thread's tag changes to its log, and fires the probe when readers must catch up. */

#include "stalltag/change_log.h"

#include <stdbool.h>
#include <string.h>

#include "stalltag/log_clock.h"

#define FIRE_ENTRIES (STALLTAG_LOG_ENTRIES / 2)
#define ROWS_LOOKED  8 /* at most, for one that may be filled anew */
#define FULL         64

_Static_assert(STALLTAG_LOG_ROWS <= STALLTAG_LOG_NONE && STALLTAG_LOG_NONE < FULL,
               "a row is told in six bits");

static size_t name_bytes_of(const struct stalltag_record *record)
{
	return record->head >> 16 ? record->attribute >> 8 : 0;
}

/* Hash of the id and the name's last bytes, where names that have much in common differ. */
static uint8_t hash_of(const struct stalltag_record *record, size_t name_bytes)
{
	uint64_t hash = record->span_id + name_bytes, last;

	if (name_bytes >= sizeof(last)) {
		memcpy(&last, record->name + name_bytes - sizeof(last), sizeof(last));
		hash = (hash * 0x9e3779b97f4a7c15) ^ last;
	}
	return (uint8_t)(hash * 0x9e3779b97f4a7c15 >> 56);
}

static bool holds(const struct stalltag_log_row *row, const struct stalltag_record *record, size_t name_bytes)
{
	return row->id == __builtin_bswap64(record->span_id) && !row->name[name_bytes] &&
	       !memcmp(row->name, record->name, name_bytes);
}

/* A row that no entry has referred to since the probe fired; FULL: there is none. */
static uint32_t free_row(struct stalltag_log *log)
{
	uint32_t row = log->next_row, looked;

	for (looked = 0; looked < ROWS_LOOKED; looked++) {
		if (++row >= STALLTAG_LOG_ROWS)
			row = 0;
		if (log->used[row] != log->fires + 1) {
			log->next_row = row;
			return row;
		}
	}
	return FULL;
}

static void fill(struct stalltag_log_row *row, const struct stalltag_record *record, size_t name_bytes)
{
	memcpy(row->name, record->name, name_bytes);
	memset(row->name + name_bytes, 0, sizeof(row->name) - name_bytes);
	row->id = __builtin_bswap64(record->span_id);
	memcpy(row->trace_id, record->trace_id, sizeof(row->trace_id));
}

/* Looks where the tag was found last, and in the place beside that, as two tags in use may have the same hash. */
static uint32_t known_row(const struct stalltag_log *log, const struct stalltag_record *record,
                          size_t name_bytes, uint8_t hash)
{
	uint32_t row = log->memo[hash];

	if (log->made[row] && holds(&log->rows[row], record, name_bytes))
		return row;
	row = log->memo[hash ^ 1];
	return log->made[row] && holds(&log->rows[row], record, name_bytes) ? row : FULL;
}

static uint32_t new_row(struct stalltag_log *log, const struct stalltag_record *record, size_t name_bytes,
                        uint8_t hash)
{
	uint32_t row = free_row(log);

	if (row == FULL)
		return FULL;
	fill(&log->rows[row], record, name_bytes);
	log->made[row]++;
	if (log->used[log->memo[hash]] == log->fires + 1)
		hash ^= 1;
	log->memo[hash] = (uint8_t)row;
	return row;
}

static uint32_t row_of(struct stalltag_log *log, const struct stalltag_record *record)
{
	size_t name_bytes = name_bytes_of(record);
	uint8_t hash = hash_of(record, name_bytes);
	uint32_t row = known_row(log, record, name_bytes, hash);

	if (row == FULL)
		row = new_row(log, record, name_bytes, hash);
	if (row != FULL)
		log->used[row] = log->fires + 1;
	return row;
}

/* Fires the probe; afterwards each reader has read all entries. */
static void fire(struct stalltag_log *log, const struct stalltag_record *current)
{
	log->fired_head = log->head;
	change_log_fire(current, log);
	log_clock_set(log, true);
	log->fires++;
}

void change_log_note(struct stalltag_log *log, const struct stalltag_record *current)
{
	uint32_t row = STALLTAG_LOG_NONE;
	uint64_t moment;
	bool stale;

	if (log->busy) {
		change_log_fire(current, log);
		return;
	}
	log->busy = 1;
	STALLTAG_FENCE();
	if (current)
		row = row_of(log, current);
	moment = log_moment(log);
	stale = log_is_stale(log, moment);
	if (STALLTAG_RARELY(stale)) {
		log_clock_set(log, false);
		moment = log->set_at;
	}
	if (row != FULL) {
		log->entries[log->head % STALLTAG_LOG_ENTRIES] = moment << 6 | row;
		__atomic_store_n(&log->head, log->head + 1, __ATOMIC_RELEASE);
	}
	if (STALLTAG_RARELY(stale || row == FULL || log->head - log->fired_head >= FIRE_ENTRIES))
		fire(log, current);
	STALLTAG_FENCE();
	log->busy = 0;
}

void change_log_close(struct stalltag_log *log)
{
	log->closed = 1;
	STALLTAG_FENCE();
	change_log_fire(NULL, log);
}
