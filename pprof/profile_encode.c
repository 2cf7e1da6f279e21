/* Encodes a profile as protobuf, plain or gzip, all value types or some. */

#include <errno.h>
#include <stdlib.h>

#include "pprof/pprof_gzip.h"
#include "pprof/profile.h"
#include "pprof/profile_import.h"
#include "pprof/profile_message.h"

static int pack(const struct profile *p, void **buf, size_t *len)
{
	struct pprof_arena arena = { .max_bytes = SIZE_MAX };
	const pb_profile *m = profile_message(p, &arena);
	int ret = -ENOMEM;

	if (m) {
		*len = perftools__profiles__profile__get_packed_size(m);
		*buf = malloc(*len);
		if (*buf) {
			perftools__profiles__profile__pack(m, *buf);
			ret = 0;
		}
	}
	pprof_arena_clear(&arena);
	return ret;
}

static int pack_gzip(const struct profile *p, void **buf, size_t *len)
{
	void *plain;
	size_t plain_len;
	int ret = pack(p, &plain, &plain_len);

	if (ret < 0)
		return ret;
	ret = pprof_gzip_pack(plain, plain_len, buf, len);
	free(plain);
	return ret;
}

static bool is_whole(const struct profile *p, uint32_t types)
{
	for (size_t i = 0; types && i < p->n_types; i++)
		if (i >= 32 || !(types >> i & 1))
			return false;
	for (size_t i = 0; i < p->samples.n; i++)
		if (profile_sample_is_zero(p, i, 0))
			return false;
	return true;
}

int profile_encode(const struct profile *p, uint32_t types, bool gzip, void **buf, size_t *len)
{
	struct profile *kept = NULL;
	int ret;

	if (p->n_types < 32 && types >> p->n_types)
		return -EINVAL;
	if (!is_whole(p, types)) {
		ret = profile_copy_nonzero(p, types, 0, p->samples.n, &kept);
		if (ret < 0)
			return ret;
		p = kept;
	}
	ret = gzip ? pack_gzip(p, buf, len) : pack(p, buf, len);
	profile_free(kept);
	return ret;
}
