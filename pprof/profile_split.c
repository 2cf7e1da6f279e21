/* Cuts a profile into parts that keep within a receiver's limits. */

#include <errno.h>
#include <stdlib.h>

#include "pprof/profile.h"
#include "pprof/profile_import.h"
#include "pprof/profile_message.h"

/*
 * Equal slices first, as many as the limits ask for if stacks were spread evenly, so none has too many
 * samples; one of too many bytes is halved until it fits. So a part costs a few copies of itself, whatever
 * the profile looks like.
 */
struct split {
	const struct profile *from;
	uint32_t types;
	size_t max_samples, max_bytes;
	struct profile **parts;
	size_t n, capacity;
};

static int packed_size(const struct profile *p, size_t *bytes)
{
	struct pprof_arena arena = { .max_bytes = SIZE_MAX };
	const pb_profile *m = profile_message(p, &arena);
	int ret = m ? 0 : -errno;

	if (m)
		*bytes = perftools__profiles__profile__get_packed_size(m);
	pprof_arena_clear(&arena);
	return ret;
}

static int add_part(struct split *s, struct profile *part)
{
	if (s->n == s->capacity) {
		size_t capacity = s->capacity ? s->capacity * 2 : 8;
		struct profile **grown = reallocarray(s->parts, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->parts = grown;
		s->capacity = capacity;
	}
	s->parts[s->n++] = part;
	return 0;
}

static int split_range(struct split *s, size_t first, size_t end)
{
	struct profile *part = NULL;
	size_t bytes = 0, middle = first + (end - first) / 2;
	int ret = profile_copy_nonzero(s->from, s->types, first, end, &part);

	if (ret < 0)
		return ret;
	ret = packed_size(part, &bytes);
	if (!ret && bytes <= s->max_bytes) {
		ret = add_part(s, part);
		if (!ret)
			return 0;
	}
	profile_free(part);
	if (ret < 0)
		return ret;
	if (end - first < 2)
		return -EFBIG;
	ret = split_range(s, first, middle);
	return ret < 0 ? ret : split_range(s, middle, end);
}

static int split_whole(struct split *s)
{
	size_t n = s->from->samples.n, bytes = 0, slices;
	int ret = packed_size(s->from, &bytes);

	if (ret < 0)
		return ret;
	slices = bytes / s->max_bytes + 1;
	if (n / s->max_samples >= slices)
		slices = n / s->max_samples + (n % s->max_samples != 0);
	for (size_t i = 0; i < slices && !ret; i++)
		ret = split_range(s, n * i / slices, n * (i + 1) / slices);
	return ret;
}

int profile_split(const struct profile *p, uint32_t types, size_t max_samples, size_t max_bytes,
                  struct profile ***parts, size_t *n_parts)
{
	struct profile *kept = NULL;
	struct split s = { .max_samples = max_samples, .max_bytes = max_bytes };
	int ret;

	if (!max_samples || !max_bytes)
		return -EINVAL;
	/* First what is kept at all, so that the slices are even. */
	ret = profile_copy_nonzero(p, types, 0, p->samples.n, &kept);
	if (ret < 0)
		return ret;
	kept->n_notes = 0;
	s.from = kept;
	ret = split_whole(&s);
	profile_free(kept);
	if (ret < 0) {
		profile_parts_free(s.parts, s.n);
		return ret;
	}
	*parts = s.parts;
	*n_parts = s.n;
	return 0;
}

void profile_parts_free(struct profile **parts, size_t n_parts)
{
	for (size_t i = 0; i < n_parts; i++)
		profile_free(parts[i]);
	free(parts);
}
