/*
 * Attaches BPF programs to the static probes of files, in all processes that run them. Part of the tracer: see
 * tracer.h.
 *
 *	multi = uprobe_links_have_multi();
 *	if (multi)
 *		uprobe_links_prepare(program);		each, before it is loaded
 *	links = usdt_links_new(multi);
 *	file = usdt_links_attach(links, path, listeners, n);
 *	usdt_links_detach(links, file);
 *	usdt_links_free(links);
 *
 * Since Linux 6.6 by uprobe_multi links: they are made in half a millisecond and can be closed in parallel, so that
 * the probes of a host of containers, each with its own copy of a file, are detached in a tenth of a second. Before
 * that by perf events, which are closed one after the other, as the kernel holds its lock of all events meanwhile.
 *
 * A program finds the probe's arguments in the registers (stalltag/usdt.h), so that no map of them is needed.
 */
#ifndef STALLPROF_PROFILER_USDT_LINKS_H
#define STALLPROF_PROFILER_USDT_LINKS_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_program;
struct usdt_links;

#define USDT_LINKS_FILES_MAX 256 /* each takes a descriptor a probe, of 1024 by default */

/* `multi`: the programs were prepared so. NULL without memory. */
struct usdt_links *usdt_links_new(bool multi);
/* Waits until all are detached. */
void usdt_links_free(struct usdt_links *links);

struct usdt_listener {
	const char *provider, *probe;
	const struct bpf_program *program;
};

/* Returns a number for usdt_links_detach(), or -errno: -ENOENT: the file lacks one of the probes; -ENOSPC: there
 * are too many files. */
int usdt_links_attach(struct usdt_links *links, const char *path, const struct usdt_listener *listeners,
                      size_t n);
/* Returns at once; the probes are detached soon after. */
void usdt_links_detach(struct usdt_links *links, int file);

#endif
