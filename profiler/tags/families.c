/* Follows given processes and all their children until no new one is found. */

#include "profiler/tags/families.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/tags/process_family.h"
#include "profiler/tags/tag_scan.h"
#include "profiler/tags/tag_watch.h"
#include "profiler/tracer/tracer.h"
#include "stalltag/process_tag.h"

struct family {
	uint32_t pid;
	uint64_t tag;
};

struct families {
	struct tag_watch *watch;
	struct tracer *tracer;
	struct family *all;
	size_t n;
	uint64_t tag; /* of the family that is looked at */
	int found;
};

struct families *families_new(struct tag_watch *watch, struct tracer *tracer)
{
	struct families *families = calloc(1, sizeof(*families));

	if (families) {
		families->watch = watch;
		families->tracer = tracer;
	}
	return families;
}

void families_free(struct families *families)
{
	if (!families)
		return;
	free(families->all);
	free(families);
}

int families_add(struct families *families, uint32_t pid, uint64_t tag, bool from_exec)
{
	struct family *grown = realloc(families->all, (families->n + 1) * sizeof(*grown));
	int err;

	if (!grown)
		return -ENOMEM;
	families->all = grown;
	families->all[families->n++] = (struct family){ .pid = pid, .tag = tag };
	err = tag_watch_process(families->watch, pid, tag, from_exec);
	if (!err)
		err = families_look(families);
	return err < 0 ? err : 0;
}

/* The tag of its parent, unless `stallprof tag` has started it under another one. */
static uint64_t tag_of(const struct families *families, uint32_t pid, uint32_t parent)
{
	char name[STALLTAG_NAME_MAX + 1], parents_name[STALLTAG_NAME_MAX + 1] = "";
	uint64_t tag = tag_watch_base_tag(families->watch, parent), id, parents_id = 0;

	if (!tag)
		tag = families->tag;
	if (tag_scan_environment((pid_t)pid, &id, name, sizeof(name)) != 1)
		return tag;
	if (tag_scan_environment((pid_t)parent, &parents_id, parents_name, sizeof(parents_name)) == 1 &&
	    id == parents_id && !strcmp(name, parents_name))
		return tag;
	tracer_add_tag(families->tracer, name, id, &tag); /* without room for it, it has its parent's */
	return tag;
}

static void on_child(void *ctx, uint32_t pid, uint32_t parent)
{
	struct families *families = ctx;

	if (tag_watch_base_tag(families->watch, pid))
		return;
	families->found += !tag_watch_process(families->watch, pid, tag_of(families, pid, parent), false);
}

int families_look(struct families *families)
{
	size_t i;
	int err = 0;

	families->found = 0;
	for (i = 0; i < families->n && !err; i++) {
		families->tag = families->all[i].tag;
		err = process_family(families->all[i].pid, on_child, families);
	}
	return err ? err : families->found;
}
