/*
 * The input of the fuzz targets that read whole profiles: two bytes that choose what is asked of them, then profiles, each behind its length
 * (4 bytes, little-endian). What is behind the last whole one is left out.
 *
 * A set is written as files of two folders, in turns, since that is what the commands read. Static, since each target is one file.
 */
#ifndef STALLPROF_TESTS_PROFILE_SET_H
#define STALLPROF_TESTS_PROFILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROFILE_SET_MAX 6
#define PROFILE_CHOICE  2 /* bytes of the choice */
#define PROFILE_LENGTH  4 /* bytes of a profile's length */

struct profile_set {
	uint16_t choice;
	size_t count;
	struct profile_bytes {
		const uint8_t *data; /* within the input */
		size_t size;
	} profile[PROFILE_SET_MAX];
};

static inline void profile_set_read(struct profile_set *set, const uint8_t *data, size_t size)
{
	*set = (struct profile_set){ .count = 0 };
	if (size >= PROFILE_CHOICE)
		set->choice = (uint16_t)(data[0] | data[1] << 8);
	for (size_t at = PROFILE_CHOICE; at + PROFILE_LENGTH <= size && set->count < PROFILE_SET_MAX;) {
		size_t length = data[at] | (size_t)data[at + 1] << 8 | (size_t)data[at + 2] << 16 |
		                (size_t)data[at + 3] << 24;

		at += PROFILE_LENGTH;
		if (length > size - at)
			break;
		set->profile[set->count++] = (struct profile_bytes){ data + at, length };
		at += length;
	}
}

/* Writes the set as an input of at most `room` bytes; `out` is none of the set's. Its size; 0: it does not fit. */
static inline size_t profile_set_write(const struct profile_set *set, uint8_t *out, size_t room)
{
	size_t at = PROFILE_CHOICE;

	if (room < at)
		return 0;
	out[0] = (uint8_t)set->choice;
	out[1] = (uint8_t)(set->choice >> 8);
	for (size_t i = 0; i < set->count; i++) {
		size_t length = set->profile[i].size;

		if (at + PROFILE_LENGTH + length > room)
			return 0;
		for (unsigned int byte = 0; byte < PROFILE_LENGTH; byte++)
			out[at++] = (uint8_t)(length >> (8 * byte));
		memcpy(out + at, set->profile[i].data, length);
		at += length;
	}
	return at;
}

/* --- files --- */

struct profile_folders {
	char path[2][64];
	size_t files[2];
};

static inline char *profile_file(const struct profile_folders *folders, int side, size_t file, char name[96])
{
	snprintf(name, 96, "%s/%zu.pb.gz", folders->path[side], file);
	return name;
}

static struct profile_folders *profile_folders_made;

static inline void profile_folders_remove(void)
{
	for (int side = 0; side < 2; side++)
		rmdir(profile_folders_made->path[side]);
}

/* In memory, where the machine has such a folder. They are made once, are empty between the inputs, and go when the target ends. */
static inline void profile_folders_make(struct profile_folders *folders)
{
	const char *above = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	if (profile_folders_made)
		return;
	for (int side = 0; side < 2; side++) {
		snprintf(folders->path[side], sizeof(folders->path[side]), "%s/stallprof-fuzz-XXXXXX", above);
		if (!mkdtemp(folders->path[side]))
			abort();
	}
	profile_folders_made = folders;
	atexit(profile_folders_remove);
}

/* The first profile to the first folder, the second to the second, and so on. */
static inline void profile_folders_fill(struct profile_folders *folders, const struct profile_set *set)
{
	char name[96];

	profile_folders_make(folders);
	for (size_t i = 0; i < set->count; i++) {
		int side = i % 2;
		FILE *file = fopen(profile_file(folders, side, folders->files[side]++, name), "we");

		if (!file ||
		    fwrite(set->profile[i].data, 1, set->profile[i].size, file) != set->profile[i].size ||
		    fclose(file))
			abort();
	}
}

static inline void profile_folders_empty(struct profile_folders *folders)
{
	char name[96];

	for (int side = 0; side < 2; side++)
		while (folders->files[side])
			unlink(profile_file(folders, side, --folders->files[side], name));
}

#endif
