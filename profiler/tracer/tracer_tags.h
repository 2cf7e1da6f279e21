/* A tracer's tags, by BPF: each is as tracer.h has it under tracer_add_tag(), and so on. */
#ifndef STALLPROF_PROFILER_TRACER_TAGS_H
#define STALLPROF_PROFILER_TRACER_TAGS_H

#include <stdint.h>

#include "profiler/tracer/tracer.h"

int tracer_tags_add(struct tracer *tracer, const char *name, uint64_t id, uint64_t *key);
int tracer_tags_find(struct tracer *tracer, uint64_t key, struct abi_tag *tag);
void tracer_tags_drop(struct tracer *tracer, uint64_t key);
void tracer_tags_each(struct tracer *tracer, tracer_tag_fn on_tag, void *ctx);

#endif
