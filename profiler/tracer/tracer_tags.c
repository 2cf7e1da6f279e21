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

	snprintf(tag.name, sizeof(tag.name), "%s", name);
	*key = tracer->next_key++;
	if (bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.tags), key, &tag, BPF_ANY))
		return -errno;
	if (id && bpf_map_update_elem(bpf_map__fd(tracer->bpf->maps.tag_ids), &id, key, BPF_ANY))
		return -errno;
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

struct tag_walk {
	const struct tracer *tracer;
	tracer_tag_fn on_tag;
	void *ctx;
};

static void on_tag_key(void *ctx, uint64_t key)
{
	const struct tag_walk *walk = ctx;
	uint64_t next = walk->tracer->next_key;

	/* Keys of tracer_tags_add() count up; all others are hashes. */
	if (key >> 32 != next >> 32 || key >= next)
		walk->on_tag(walk->ctx, key);
}

void tracer_tags_each(struct tracer *tracer, tracer_tag_fn on_tag, void *ctx)
{
	const struct bpf_map *maps[] = { tracer->bpf->maps.tags, tracer->bpf->maps.tags_at_once };
	struct tag_walk walk = { .tracer = tracer, .on_tag = on_tag, .ctx = ctx };

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		map_walk(bpf_map__fd(maps[i]), bpf_map__max_entries(maps[i]), on_tag_key, &walk);
}
