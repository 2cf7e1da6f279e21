/* FNV-1a hash of a tag's name, which a sample carries as a number. */

#include "profiler/format/tag_hash.h"

int64_t tag_hash(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
	return (int64_t)(hash & INT64_MAX);
}
