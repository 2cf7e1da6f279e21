/*
 * Attaches a BPF program to places of a file, in all processes that run them: by a uprobe_multi link (usdt_links.h says
 * why), or by a perf event a place. Part of the tracer.
 */
#ifndef STALLPROF_PROFILER_UPROBE_LINKS_H
#define STALLPROF_PROFILER_UPROBE_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/tracer/usdt_notes.h"

struct bpf_program;
struct open_link;

/* Whether this kernel has uprobe_multi links. */
bool uprobe_links_have_multi(void);
/* Prepares a program for them; it cannot be attached by perf events then. */
void uprobe_links_prepare(struct bpf_program *program);

/* Attaches to all of the places and adds the links to the list. -errno: the links made until then are on the list. */
int uprobe_links_add(const struct bpf_program *program, const char *path, const struct usdt_site *sites,
                     size_t n, struct open_link **list);

#endif
