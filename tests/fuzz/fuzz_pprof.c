/*
 * Fuzzes profile_decode(): what it accepts must encode, read back as the same profile, split and merge. Input: a
 * profile, plain or gzip'd; libFuzzer sees through neither checksum nor compression, so plain ones carry it
 * further.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"
#include "tests/unit/pprof_listing.h"

enum { MAX_BYTES = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static struct profile *decode_valid(const void *buf, size_t len)
{
	struct profile *p;
	char err[256];

	check(profile_decode(buf, len, 16 * MAX_BYTES, &p, err, sizeof(err)) == 0);
	return p;
}

/* Samples that are all 0 don't survive encoding, so it takes two rounds to compare. */
static struct profile *check_round_trip(const struct profile *p)
{
	struct profile *once, *twice;
	char *left, *right;
	void *buf;
	size_t len;

	check(profile_encode(p, 0, false, &buf, &len) == 0);
	once = decode_valid(buf, len);
	free(buf);
	check(profile_encode(once, 0, true, &buf, &len) == 0);
	twice = decode_valid(buf, len);
	free(buf);
	left = pprof_listing(once);
	right = pprof_listing(twice);
	check(strcmp(left, right) == 0);
	free(left);
	free(right);
	profile_free(once);
	return twice;
}

static void check_split(const struct profile *p)
{
	struct profile **parts;
	char err[256];
	size_t n;
	int ret = profile_split(p, 0, 2, 4096, &parts, &n);

	check(ret == 0 || ret == -EFBIG);
	if (ret)
		return;
	check(n > 0);
	for (size_t i = 1; i < n; i++) {
		ret = profile_merge(parts[0], parts[i], err, sizeof(err));
		check(ret == 0 || ret == -EOVERFLOW);
	}
	profile_parts_free(parts, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p, *again;
	char err[256] = "";

	if (profile_decode(data, size, MAX_BYTES, &p, err, sizeof(err)) < 0) {
		check(!p && *err && !strchr(err, '\n'));
		return 0;
	}
	again = check_round_trip(p);
	check_split(again);
	profile_free(again);
	profile_free(p);
	return 0;
}
