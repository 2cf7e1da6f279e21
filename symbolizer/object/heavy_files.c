/* Remembers files that had to be dropped soon after they were loaded. */

#include "symbolizer/object/heavy_files.h"

static const struct heavy_file *find(const struct heavy_files *h, const struct file_key *key)
{
	size_t i;

	for (i = 0; i < HEAVY_FILES; i++)
		if (h->files[i].times && file_key_is(&h->files[i].key, key))
			return &h->files[i];
	return NULL;
}

void heavy_files_add(struct heavy_files *h, const struct file_key *key, uint64_t now_ns, unsigned int times)
{
	const struct heavy_file *known = find(h, key);
	size_t at = known ? (size_t)(known - h->files) : h->next;

	h->files[at] =
	        (struct heavy_file){ .key = *key, .until_ns = now_ns + HEAVY_FILES_NS, .times = times };
	if (!known)
		h->next = (h->next + 1) % HEAVY_FILES;
}

unsigned int heavy_files_times(const struct heavy_files *h, const struct file_key *key, uint64_t now_ns)
{
	const struct heavy_file *known = find(h, key);

	return known && now_ns < known->until_ns ? known->times : 0;
}
