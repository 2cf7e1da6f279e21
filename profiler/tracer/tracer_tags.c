/* The tags that the BPF programs know: two maps, and a third from ids to those of user space. */

#include "profiler/tracer/tracer_tags.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

#include "bpf/stallprof.skel.h"
#include "profiler/tracer/map_walk.h"
#include "profiler/tracer/tracer_state.h"

int tracer_tags_add(struct tracer *tracer, const char *name, uint64_t id, uint64_t *key)
{
	struct abi_tag tag = { .id = id, .source = ABI_TAG_PROCESS };
	uint64_t new_key = tracer->next_key++;
	int tags = bpf_map__fd(tracer->bpf->maps.tags), err;

	snprintf(tag.name, sizeof(tag.name), "%s", name);
	if (bpf_map_update_elem(tags, &new_key, &tag, BPF_ANY))
		return -errno;
	if (id && bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.tag_ids), &id, &new_key, BPF_ANY)) {
		err = -errno;
		bpf_map_delete_elem(tags, &new_key);
		return err;
	}
	*key = new_key;
	return 0;
}

int tracer_tags_find(struct tracer *tracer, uint64_t key, struct abi_tag *tag)
{
	if (!bpf_map_lookup_elem(bpf_map__fd(tracer->bpf->maps.tags), &key, tag))
		return 0;
	return bpf_map_lookup_elem(bpf_map__fd(tracer->bpf->maps.tags_at_once), &key, tag) ? -errno : 0;
}

void tracer_tags_drop(struct tracer *tracer, uint64_t key)
{
	if (bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.tags), &key) || tracer->tags_at_once)
		bpf_map_delete_elem(bpf_map__fd(tracer->bpf->maps.tags_at_once), &key);
}

void tracer_tags_each(struct tracer *tracer, tracer_tag_fn on_tag, void *ctx)
{
	const struct bpf_map *maps[] = { tracer->bpf->maps.tags, tracer->bpf->maps.tags_at_once };

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		map_walk(bpf_map__fd(maps[i]), bpf_map__max_entries(maps[i]), on_tag, ctx);
}
